"""Vivado's stand-in: runs its scripts in a Tcl interpreter with stub commands, which keep what they were told.

As a program it is called as `vivado` is: the fake one that `install` puts on PATH.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).with_suffix(".tcl")
SUMMARY = """\
------------------------------------------------------------------------------------------------
| Design Timing Summary
| ---------------------
------------------------------------------------------------------------------------------------

    WNS(ns)      TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints      WHS(ns)      THS(ns)  THS Failing Endpoints  \
THS Total Endpoints     WPWS(ns)     TPWS(ns)  TPWS Failing Endpoints  TPWS Total Endpoints  
    -------      -------  ---------------------  -------------------      -------      -------  ---------------------  \
-------------------     --------     --------  ----------------------  --------------------  
      @WNS@        0.000                      0                83250        @WHS@        0.000                      0  \
              83250        2.083        0.000                       0                 30312  


------------------------------------------------------------------------------------------------
| Clock Summary
| -------------
------------------------------------------------------------------------------------------------

Clock     Waveform(ns)         Period(ns)      Frequency(MHz)
-----     ------------         ----------      --------------
clk_pl_0  {0.000 3.333}        @PERIOD@           149.993         

"""  # noqa: W291
UTILIZATION = """\
1. CLB Logic
------------

+----------------------------+-------+-------+------------+-----------+-------+
|          Site Type         |  Used | Fixed | Prohibited | Available | Util% |
+----------------------------+-------+-------+------------+-----------+-------+
| CLB LUTs                   | 15321 |     0 |          0 |     37440 | 40.92 |
|   LUT as Logic             | 14011 |     0 |          0 |     37440 | 37.42 |
|   LUT as Memory            |  1310 |     0 |          0 |     14400 |  9.10 |
| CLB Registers              | 21000 |     0 |          0 |     74880 | 28.04 |
| CARRY8                     |  1100 |     0 |          0 |      4680 | 23.50 |
+----------------------------+-------+-------+------------+-----------+-------+
| Block RAM Tile |   32.5 |     0 |          0 |       108 | 30.09 |
| URAM           |      0 |     0 |          0 |         0 |  0.00 |
| DSPs           |    154 |     0 |          0 |       216 | 71.30 |
"""
PART = "xczu1cg-sbva484-1-e"
# What the stub does: boards, the device that they have; hz: of pl_clk0; missing: an interface that is not inferred;
# segments: of HP0; handoff, bitstream, report: whether they are written; clocks, period: seen by the constraints;
# -setup, -hold: slacks, "none" for no path; summary, utilization: texts of the reports.
SETTINGS = {
    "boards": "",
    "board_device": PART,
    "hz": "149985016",
    "missing": "",
    "segments": "/ps/SAXIGP2/HP0_DDR_LOW /ps/SAXIGP2/HP0_QSPI /ps/SAXIGP2/HP0_LPS_OCM",
    "handoff": "1",
    "bitstream": "1",
    "report": "1",
    "clocks": "clk_pl_0",
    "period": "6.667",
    "-setup": "0.212",
    "-hold": "0.010",
    "summary": SUMMARY,
    "utilization": UTILIZATION,
}


def interpreter() -> list[str]:
    """Command of a Tcl interpreter, to which a script's name is added."""
    if importlib.util.find_spec("_tkinter"):
        return [sys.executable, "-c", "import sys, tkinter; tkinter.Tcl().evalfile(sys.argv[1])"]
    if shutil.which("tclsh"):
        return ["tclsh"]
    raise AssertionError("these tests need a Tcl interpreter: Python with tkinter, or tclsh on PATH")


def run(folder: Path, scripts: list[str], **settings: str) -> subprocess.CompletedProcess:
    """Source scripts in a folder as Vivado would.

    settings: what the stub does otherwise than in SETTINGS, by its keys without a leading '-'.
    """
    values = {key: settings.get(key.lstrip("-"), value) for key, value in SETTINGS.items()}
    values["calls"] = str(folder / "calls.log")
    text = "array set stub {\n" + "".join(f"{{{key}}} {{{value}}}\n" for key, value in values.items()) + "}\n"
    text += f"source {{{STUB}}}\n"
    saved = [name for name in scripts if name.endswith(".xpr")]
    text += "".join(f"open_saved {{{name}}}\n" for name in saved)
    text += "".join(f"source {{{name}}}\n" for name in scripts if name not in saved)
    (folder / "vivado_stub.tcl").write_text(text)
    return subprocess.run(
        [*interpreter(), "vivado_stub.tcl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def calls(folder: Path) -> list[list[str]]:
    """The commands that were run, in order, each a list of words."""
    return [json.loads(line) for line in (folder / "calls.log").read_text().splitlines()]


def install(folder: Path, monkeypatch, **settings: str) -> None:
    """Put a program `vivado` on PATH that behaves by `settings`; crash="1": it ends at once with an error."""
    folder.mkdir(exist_ok=True)
    program = folder / "vivado"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{__file__}' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VIVADO_STUB", json.dumps(settings))


def main(arguments: list[str]) -> int:
    settings = json.loads(os.environ["VIVADO_STUB"])
    print("****** Vivado v2023.2 (64-bit)", flush=True)
    if settings.get("crash"):
        print("ERROR: [Common 17-70] Application Exception: out of memory")
        return 1
    scripts = [argument for argument in arguments if argument.endswith((".tcl", ".xpr"))]
    if settings.get("sleep") and scripts[-1].endswith(".xpr"):
        Path("asleep").write_text(str(os.getpid()))
        os.execvp("sleep", ["sleep", settings["sleep"]])
    done = run(Path.cwd(), scripts, **settings)
    print(done.stdout, done.stderr, sep="", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
