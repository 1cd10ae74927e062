"""Build of the ZUBoard: the project, and where Vivado is on PATH, bitstream, hardware description and report."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fpga.build_error import BuildError
from fpga.build_folder import FAILED, REPORT, build_folder
from fpga.zuboard import board
from fpga.zuboard.project import NAME, write_project
from fpga.zuboard.top import TOP, board_config
from fpga.zuboard.vivado_reports import timing, utilisation
from gen.verilog import fingerprint
from golden.config import EngineConfig

LOG = "build.log"
PATIENCE = 20.0  # seconds that Vivado gets to end after Ctrl-C


def build(
    config: EngineConfig,
    folder: Path,
    project_only: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict:
    """Write the Vivado project of a configuration into a folder, in place of an earlier one, and build it.

    Args:
        config: its memory word as wide as an AXI port, 64 or 128 bit; its memory size does not matter. folder: new,
            empty, or with an earlier build. project_only: do not look for Vivado. progress: called with the steps of
            the project that are done, and how many there are; Vivado shows none.

    Returns:
        An object for JSON. board, part, config, top, build: of the identity registers; folder, project: its Makefile;
        registers: their address; clock_mhz: asked for; vivado: version, or null where only the project was made, and
        then null for bitstream, hwh: file names in the folder; timing: see vivado_reports.timing; utilisation: see
        vivado_reports.utilisation; available: resources of the device.

    Raises:
        ConfigError: no configuration for this board. BuildError: no Vivado on PATH (the project is complete),
        Vivado failed, or the timing is not met. Without a bitstream an earlier build stays as it was.
    """
    config = board_config(config)
    identity = int(fingerprint(config)[:8], 16)
    vivado = None if project_only else shutil.which("vivado")
    folder = Path(folder)
    report = {
        "board": "zuboard",
        "part": board.PART,
        "config": config.name,
        "top": TOP,
        "build": identity,
        "folder": str(folder),
        "project": "Makefile",
        "registers": board.REGISTERS,
        "clock_mhz": board.CLOCK_HZ / 1e6,
        "vivado": None,
        "bitstream": None,
        "hwh": None,
        "timing": None,
        "utilisation": None,
        "available": vars(board.DEVICE),
    }
    with build_folder(folder) as partial:
        flow = write_project(config, partial, identity, progress or (lambda done, total: None))
        if vivado is not None:
            try:
                report |= _run(flow, partial)
            except BuildError as error:
                # The folder's name after build_folder has moved it.
                raise BuildError(str(error).replace(str(partial), str(folder / FAILED))) from None
        (partial / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if vivado is None and not project_only:
        raise BuildError(
            f"the project in {str(folder)!r} is complete, but there is no program 'vivado' on PATH: "
            f"run make in {str(folder)!r} where Vivado is installed, or give --project-only"
        )
    return report


def _run(flow, folder: Path) -> dict:
    """Run Edalize's Makefile and collect what Vivado made."""
    command, arguments = flow.build_runner.get_build_command()
    if shutil.which(command) is None:
        raise BuildError(f"there is no program {command!r} on PATH; install it")
    status = _call([command, *arguments], folder)
    # First, since it says more than that Vivado failed: reports.tcl ends the run if the timing is not met.
    slacks = timing(folder / "timing.rpt") if (folder / "timing.rpt").exists() or status == 0 else None
    if status != 0:
        raise BuildError(f"Vivado failed: {_complaint(folder / LOG)}; see {folder / LOG}")
    bitstream, hwh = f"{NAME}.bit", f"{NAME}.hwh"
    for name in (bitstream, hwh):
        if not (folder / name).is_file() or (folder / name).stat().st_size == 0:
            raise BuildError(f"Vivado ended without an error, but left no {folder / name}; see {folder / LOG}")
    version = re.search(r"Vivado\s+(v[\d.]+)", (folder / LOG).read_text(encoding="utf-8", errors="replace"))
    return {
        "vivado": version[1] if version else "unknown",
        "bitstream": bitstream,
        "hwh": hwh,
        "timing": slacks,
        "utilisation": utilisation(folder / "utilization.rpt"),
    }


def _call(command: list[str], folder: Path) -> int:
    """Run a program in a folder, its output in LOG; if interrupted, end it and all that it started. Its exit code."""
    with (folder / LOG).open("wb") as log:
        # Not in the terminal's process group: Ctrl-C reaches only this process, which then ends the others in order.
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    process.wait()


def _complaint(log: Path) -> str:
    """The first error in a log of Vivado, else its last line."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines[-1:] or ["it printed nothing"])[0].rstrip(".")
