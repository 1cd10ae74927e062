"""A simulated device as a process: built once for each version, ended with its owner."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fpga.host.errors import DeviceError
from gen import register_map
from gen.cache import cache_folder, cached
from gen.hierarchy import Module
from gen.module_text import module_text
from gen.programs import SimulatorError
from gen.verilator_build import build, tools
from gen.verilog import fingerprint, write_sources
from golden.config import EngineConfig

PROGRAM = "device"
GRACE = 2.0  # seconds to end on its own


def program(
    config: EngineConfig, top: str, modules: Callable[[], Sequence[Module]], main: Path, own: Sequence[Path],
    notice: Callable[[str], None],
) -> Path:  # fmt: skip
    """The program that simulates a board's top, built on first use.

    Args:
        top: name of the Verilog module. modules: makes them, leaves first. main: C++ with the function main.
        own: sources that the top follows from, besides those of every engine and register map.

    Raises:
        SimulatorError: it cannot be built.
    """
    digest = hashlib.sha256(fingerprint(config).encode() + tools())
    for source in (main, *own, Path(register_map.__file__), register_map.SOURCE, Path(__file__)):
        digest.update(source.read_bytes())

    def make(folder: Path) -> None:
        notice(f"building the simulator of {top} with {config.name}, once for this version ...")
        work = folder / "build"
        work.mkdir()
        sources = write_sources({f"{module.name}.v": module_text(module) for module in modules()}, work)
        build([source.absolute() for source in sources], top, main, PROGRAM, work, shared=False)
        (work / PROGRAM).rename(folder / PROGRAM)
        shutil.rmtree(work)

    try:
        return cached(f"{top}-{config.name}-{digest.hexdigest()[:24]}", make, PROGRAM)
    except OSError as error:
        raise SimulatorError(
            f"the build cache {str(cache_folder())!r} cannot be used ({error.strerror or error}); "
            "set XDG_CACHE_HOME to a writable folder with space"
        ) from None


class Process:
    """A running program with lines in and out. It ends when closed, when this object goes, and when this process does:
    the program reads the end of its input then.

    Raises:
        DeviceError: the program cannot be started.
    """

    def __init__(self, name: str, command: Sequence, pass_fds: Sequence[int] = ()):
        self._name, self._errors = name, tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                pass_fds=pass_fds, start_new_session=True, text=True, bufsize=1,
            )  # fmt: skip
        except OSError as error:
            self._errors.close()
            raise DeviceError(f"cannot start {name} ({error.strerror}); remove {cache_folder()}") from None
        self.close = weakref.finalize(self, _end, self._process, self._errors)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: str) -> str:
        """Send a line, and return the one that answers it; only the answer if the line is empty."""
        answer = ""
        if self.close.alive:
            with suppress(OSError):
                if line:
                    self._process.stdin.write(f"{line}\n")
                answer = self._process.stdout.readline()
        if not answer:
            raise DeviceError(f"{self._name} has ended{self._reason()}; connect anew")
        return answer.strip()

    def _reason(self) -> str:
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        said = " ".join(self._errors.read().decode(errors="replace").split())
        return f" ({said})" if said else ""


def _end(process: subprocess.Popen, errors: BinaryIO) -> None:
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            stream.close()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()
