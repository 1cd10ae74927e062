"""Programs that build simulators: run with one-sentence failures, and stopped with the command that wants them."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO


class SimulatorError(RuntimeError):
    """A simulator that cannot be used or failed; one sentence."""


def run_program(what: str, *command, folder: Path) -> None:
    """Run one command in `folder`; see :func:`run_programs`."""
    run_programs(what, [command], folder)


def run_programs(
    what: str, commands: Sequence[Sequence], folder: Path, done: Callable[[int], None] = lambda count: None
) -> None:
    """Run commands in `folder`, as many at once as there are processors.

    All of them have ended when this returns or raises, Ctrl-C included. `done` is called with how many have ended.

    Raises:
        SimulatorError: one failed; `what` and the first line of its output that names an error.
    """
    waiting = [[str(part) for part in command] for command in reversed(commands)]
    running: list[tuple[subprocess.Popen, IO[bytes]]] = []
    with ExitStack() as files:
        try:
            while waiting or running:
                while waiting and len(running) < processors():
                    output = files.enter_context(tempfile.TemporaryFile())  # not on the disk that may be full
                    running.append((_start(waiting.pop(), folder, output), output))
                time.sleep(0.01)
                for process, output in running.copy():
                    if process.poll() is not None:
                        running.remove((process, output))
                        if process.returncode:
                            raise SimulatorError(f"{what} failed: {_reason(process, output)}")
                        done(len(commands) - len(waiting) - len(running))
        finally:
            for process, _ in running:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # the compiler's own children, too
                process.wait()


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(command: list[str], folder: Path, output: IO[bytes]) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=os.environ | {"LC_ALL": "C", "TMPDIR": str(folder)},
        )
    except OSError as error:
        raise SimulatorError(f"cannot run {command[0]!r} ({error.strerror}); install it again") from None


def _reason(process: subprocess.Popen, output: IO[bytes]) -> str:
    output.seek(0)
    lines = [line.strip() for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or [f"{process.args[0]} gave exit code {process.returncode}"])[0]
