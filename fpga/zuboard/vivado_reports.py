"""What Vivado reports: timing summary and utilisation, as numbers; and whether the timing is met."""

from __future__ import annotations

import re
from pathlib import Path

from fpga.build_error import BuildError
from fpga.zuboard import board

SLACKS = {"wns": "WNS(ns)", "whs": "WHS(ns)", "wpws": "WPWS(ns)"}
SLACK_NAMES = {"wns": "setup", "whs": "hold", "wpws": "pulse width"}
ROWS = {
    "lut": r"CLB LUTs\*?",
    "lut_memory": r"LUT as Memory",
    "ff": r"CLB Registers",
    "carry": r"CARRY8",
    "bram36": r"Block RAM Tile",
    "uram": r"URAM",
    "dsp": r"DSPs",
}


def timing(report: Path) -> dict[str, float]:
    """Slacks and clock of a timing summary.

    Returns:
        wns, whs, wpws: worst slack of setup, hold and pulse width, in ns; clock_mhz: of board.CLOCK.

    Raises:
        BuildError: the report is missing or cut short, a slack is negative or absent, or the clock is slower than the
            board's.
    """
    text = _read(report, "timing summary")
    columns = re.search(r"^ *(WNS\(ns\).*)\n[ -]+\n *(\S.*)$", text, re.M)
    if columns is None:
        raise BuildError(f"{report} has no table of slacks; the build is not complete")
    names, values = re.split(r" {2,}", columns[1].strip()), columns[2].split()
    found = dict(zip(names, values, strict=False))
    slacks = {}
    for key, column in SLACKS.items():
        try:
            slacks[key] = float(found[column])
        except (KeyError, ValueError):
            raise BuildError(
                f"{report} has {found.get(column, 'nothing')} for {column}: {SLACK_NAMES[key]} was not timed"
            ) from None
    clock = re.search(rf"^\s*{board.CLOCK} +\{{[^}}]*\}} +([\d.]+) +([\d.]+)\s*$", text, re.M)
    if clock is None:
        raise BuildError(f"{report} has no clock {board.CLOCK}: the design was not timed against it")
    if float(clock[1]) > board.period_ns() * (1 + board.CLOCK_TOLERANCE):
        raise BuildError(f"{board.CLOCK} has a period of {clock[1]} ns instead of {board.period_ns():.3f} ns")
    for key, slack in slacks.items():
        if slack < 0:
            raise BuildError(
                f"timing is not met: worst {SLACK_NAMES[key]} slack {slack:.3f} ns at "
                f"{board.CLOCK_HZ / 1e6:g} MHz; see {report}"
            )
    return slacks | {"clock_mhz": float(clock[2])}


def utilisation(report: Path) -> dict[str, float]:
    """Used resources by the keys of fpga.xilinx_area.area, as far as the report has them.

    Raises:
        BuildError: the report is missing, or has no LUTs.
    """
    text = _read(report, "utilisation report")
    found = {}
    for key, row in ROWS.items():
        match = re.search(rf"^\|\s*{row}\s*\|\s*([\d.]+)\s*\|", text, re.M)
        if match:
            found[key] = float(match[1]) if "." in match[1] else int(match[1])
    if "lut" not in found:
        raise BuildError(f"{report} names no LUTs; the build is not complete")
    return found


def _read(report: Path, what: str) -> str:
    try:
        return report.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BuildError(f"Vivado left no {what} {report}: {error.strerror}") from None
