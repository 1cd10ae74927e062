"""Icarus Verilog as a simulator, through MyHDL's Cosimulation."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from myhdl import Cosimulation, CosimulationError

from gen.cache import cache_folder, cached
from gen.programs import SimulatorError, run_program
from gen.verilog import TOP, cosimulation_harness, fingerprint, flat_ports, system_sources, write_sources
from golden.config import EngineConfig

PROGRAMS = ("iverilog", "iverilog-vpi", "vvp", "g++")  # the last builds MyHDL's VPI module

# Beside the harness: dumps every signal into the file that +waveform names.
WAVEFORM = f"""
module waveform;
    reg [8*4096:1] file;
    initial if ($value$plusargs("waveform=%s", file)) begin
        $dumpfile(file);
        $dumpvars(0, tb_{TOP});
    end
endmodule
"""


def missing() -> str | None:
    """Why Icarus cannot be used here, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        remedy = "install iverilog and build-essential, or use --simulator myhdl"
        return f"simulator icarus cannot be used ({absent[0]} is not on PATH); {remedy}"
    if not (vpi_source() / "myhdl.c").is_file():
        return f"MyHDL's co-simulation sources are not in {vpi_source()}; reinstall myhdl or use --simulator myhdl"
    return None


def vpi_source() -> Path:
    """Where MyHDL installs the C source of its VPI module."""
    return Path(sys.prefix) / "share" / "myhdl" / "cosimulation" / "icarus"


def vpi_module() -> Path:
    """Folder that holds myhdl.vpi, built on first use."""
    sources = [vpi_source() / name for name in ("myhdl.c", "myhdl_table.c")]
    version = subprocess.run(["vvp", "-V"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + b"".join(source.read_bytes() for source in sources)).hexdigest()[:24]

    def build(folder: Path) -> None:
        run_program("building MyHDL's VPI module", "iverilog-vpi", "--name=myhdl", *sources, folder=folder)

    return cached(f"vpi-{digest}", build, "myhdl.vpi").parent


def _compiled(config: EngineConfig, notice: Callable[[str], None]) -> Path:
    """The design and its harness, converted and compiled for vvp."""

    def build(folder: Path) -> None:
        notice(f"building the simulator of {config.name}, once for this version ...")
        sources = system_sources(config, folder)
        sources += write_sources({"harness.v": cosimulation_harness(config), "waveform.v": WAVEFORM}, folder)
        run_program(
            "compiling the Verilog", "iverilog", "-g2005", "-s", f"tb_{TOP}", "-s", "waveform", "-o", "system.vvp",
            *sources, folder=folder,
        )  # fmt: skip

    return cached(f"icarus-{config.name}-{fingerprint(config)}", build, "system.vvp")


def cosimulation(
    config: EngineConfig, clk, reset, ports, notice: Callable[[str], None], trace: Path | None = None
) -> Cosimulation:
    """The converted design as a MyHDL Cosimulation on the given ports; Simulation.quit ends its process.

    Args:
        notice: called with a sentence if something must be built first.
        trace: file for a waveform (VCD), or None.

    Raises:
        SimulatorError: Icarus is missing, or a build step failed.
    """
    reason = missing()
    if reason:
        raise SimulatorError(reason)
    try:
        program, module = _compiled(config, notice), vpi_module()
    except OSError as error:
        raise SimulatorError(
            f"the build cache {str(cache_folder())!r} cannot be written ({error.strerror}); "
            "set XDG_CACHE_HOME to a writable folder with space, or use --simulator myhdl"
        ) from None
    # A list, since MyHDL splits strings at blanks; a shell, since vvp's own words do not belong on standard output.
    command = ["sh", "-c", 'exec "$@" >/dev/null', "sh", "vvp", "-n", "-M", str(module), "-m", "myhdl", str(program)]
    command += [f"+waveform={os.path.abspath(trace)}"] if trace else []
    try:
        return Cosimulation(command, clk=clk, reset=reset, **flat_ports(ports))
    except CosimulationError:
        raise SimulatorError(f"vvp cannot run {str(program)!r}; delete its folder and try again") from None
