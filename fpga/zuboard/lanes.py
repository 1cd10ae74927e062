"""Area and depth of 1xC engines in Q8.8, the sweep of lanes of system A, on the device of the ZUBoard.

    python -m fpga.zuboard.lanes [--output docs/reports]

The engine alone, as in `flashtile bench`: no AXI, no memory. System A is a Q8.8 attention accelerator with dot-product
lanes for a ZU1CG; figures as its authors publish them, of the whole design as routed by Vivado.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from fpga.xilinx_area import SYNTH, WIRE_PS, area
from fpga.zuboard.board import DEVICE
from gen.benchmark import Case, lanes_sweep
from gen.verilog import core, write_sources
from golden.config import EngineConfig

COMMAND = "python -m fpga.zuboard.lanes"
NAME = "zuboard_lanes"
COUNTS = "lut", "lut_logic", "lut_memory", "ff", "latch", "dsp", "bram36", "uram", "carry"
SYSTEM_A = {"dsp": 67, "lut_share": 1 / 3}  # "about a third of the LUTs" of a ZU1CG, with 16 lanes


def engine_area(config: EngineConfig) -> dict:
    """Area of the engine alone, see fpga.xilinx_area.area."""
    made = core(config)
    with tempfile.TemporaryDirectory(prefix="flashtile-") as folder:
        sources = write_sources({name: made.files[name] for name in made.engine}, Path(folder))
        return area(Path(folder), sources, "engine")


def measure(cases: Sequence[Case], notice: Callable[[str], None] = print) -> dict:
    """The report of a sweep, an object for JSON.

    command, yosys, synthesis, wire_ps: how it was made, see fpga.xilinx_area; device: its resources; system_a: DSP48E2,
    and the share of the LUTs; engines: of each case configuration, lanes, counts with the keys of
    fpga.xilinx_area.area, and path: the longest one.
    """
    engines = []
    for case in cases:
        found = engine_area(case.config)
        path = {key: found["paths"][0][key] for key in ("levels", "carries", "start", "end")}
        engines.append(
            {"config": case.config.name, "lanes": case.config.array_keys}
            | {key: found[key] for key in COUNTS}
            | {"path": path}
        )
        notice(f"{case.config.name}: {found['lut']:,} LUT, {found['dsp']} DSP48E2, {path['levels']} levels")
    return {
        "command": COMMAND,
        "yosys": metadata.version("pyosys"),
        "synthesis": SYNTH,
        "wire_ps": WIRE_PS,
        "device": vars(DEVICE),
        "system_a": SYSTEM_A,
        "engines": engines,
    }


def table(report: dict) -> str:
    """The report as a Markdown page."""
    device, other = report["device"], report["system_a"]
    lines = [
        "# Lanes of system A on a ZU1CG",
        "",
        f"1xC engines in Q8.8 (`gen/benchmark.py`), engine alone, yosys {report['yosys']} `{report['synthesis']}`, "
        f"wires of {report['wire_ps']} ps for its mapper; not placed, not through Vivado.",
        f"Command: `{report['command']}`.",
        "",
        "| lanes | LUT | of the device | FF | DSP48E2 | BRAM36 | CARRY4 | LUT levels of longest path | CARRY4 on it |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for engine in report["engines"]:
        path = engine["path"]
        lines.append(
            f"| 1x{engine['lanes']} | {engine['lut']:,} | {engine['lut'] / device['lut']:.0%} | {engine['ff']:,} | "
            f"{engine['dsp']} | {engine['bram36']:g} | {engine['carry']:,} | {path['levels']} | {path['carries']} |"
        )
    lut = round(other["lut_share"] * device["lut"])
    lines += [
        f"| system A, 16 | about {lut:,} | a third | | {other['dsp']} | | | | |",
        "",
        f"A ZU1CG has {device['lut']:,} LUTs, {device['ff']:,} flip-flops, {device['dsp']} DSP48E2 and "
        f"{device['bram36']:g} block RAMs of 36 Kbit (DS891). System A's figures are of its whole design, routed.",
        "LUTs count distributed RAM and shift registers. yosys packs no registers into a DSP48E2, as Vivado does: "
        "flip-flops are an upper bound.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("docs/reports"), help="folder (default: %(default)s)")
    folder = parser.parse_args(arguments).output
    folder.mkdir(parents=True, exist_ok=True)
    report = measure(lanes_sweep())
    (folder / f"{NAME}.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    (folder / f"{NAME}.md").write_text(table(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
