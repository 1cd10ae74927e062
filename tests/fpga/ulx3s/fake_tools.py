"""Stand-ins for yosys, nextpnr-ecp5, ecppack and ecppll on PATH: they check arguments and leave what real ones do."""

import json
import sys
from pathlib import Path

PROGRAMS = "yosys", "nextpnr-ecp5", "ecppack", "ecppll"
CELLS = {"LUT4": 9000, "CCU2C": 2000, "TRELLIS_FF": 13000, "MULT18X18D": 26, "DP16KD": 52}
DEFAULT = {"cells": CELLS, "mhz": {"1": 91.5, "2": 99.25, "3": 88.0}, "pll_mhz": None, "fail": None}


def install(folder: Path, **changes) -> None:
    """Write the programs into a folder; changes: of DEFAULT (cells, mhz of the engine's clock by seed, the frequency
    that ecppll finds, the program that fails)."""
    (folder / "settings.json").write_text(json.dumps(DEFAULT | changes))
    for program in PROGRAMS:
        path = folder / program
        start = f"runpy.run_path({__file__!r}, {{'FOLDER': {str(folder)!r}}}, {program!r})"
        path.write_text(f"#!{sys.executable}\nimport runpy\n{start}\n")
        path.chmod(0o755)


def _option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def yosys(settings):
    script = Path(_option("-p").removeprefix("tcl "))
    lines = script.read_text().splitlines()
    for line in lines:
        if line.startswith("read_verilog"):
            assert Path(line.split()[1]).is_file(), line
    netlist = next(line.split()[-1] for line in lines if "-json" in line and "synth_ecp5" in line)
    ports = {f"{operand}{place}": ["0"] for operand in "AB" for place in range(18)}
    cell = {"parameters": {"CEMUX": "CE"}, "connections": ports, "port_directions": {}}
    cells = {f"{kind}_{number}": {"type": kind} | cell for kind, n in settings["cells"].items() for number in range(n)}
    Path(netlist).write_text(json.dumps({"modules": {"ulx3s": {"cells": cells}}}))
    Path("memories.txt").write_text(
        '  cell $mem_v2 \\a\n    parameter \\MEMID "\\\\u.ram"\n    parameter \\SIZE 512\n    parameter \\WIDTH 36\n'
    )
    Path(_option("-l")).write_text("mapping memory ulx3s.u.ram via $__PDPW16KD_\n")


def nextpnr(settings):
    assert Path(_option("--lpf")).is_file() and Path(_option("--json")).is_file()
    seed = _option("--seed")
    Path(_option("--textcfg")).write_text(f"seed {seed}\n")
    Path(_option("-l")).write_text("placed and routed\n")
    fmax = {"$glbnet$clk": {"achieved": settings["mhz"][seed], "constraint": 100.0}}
    fmax["$glbnet$clk_25mhz$TRELLIS_IO_IN"] = {"achieved": 400.0, "constraint": 25.0}
    Path(_option("--report")).write_text(json.dumps({"fmax": fmax}))


def ecppack(settings):
    Path(sys.argv[-1]).write_bytes(b"bits of " + Path(sys.argv[-2]).read_bytes())


def ecppll(settings):
    found = settings["pll_mhz"] or _option("--clkout0")
    Path(_option("--file")).write_text("module ecp5_pll (input clkin, output clkout0, output locked);\nendmodule\n")
    print(f"Pll parameters:\nclkout0 frequency: {found} MHz\nVCO frequency: 600")


if __name__ in PROGRAMS:
    chosen = json.loads(Path(globals()["FOLDER"], "settings.json").read_text())
    if chosen["fail"] == __name__:
        print(f"ERROR: {__name__} cannot go on", file=sys.stderr)
        sys.exit(1)
    {"yosys": yosys, "nextpnr-ecp5": nextpnr, "ecppack": ecppack, "ecppll": ecppll}[__name__](chosen)
