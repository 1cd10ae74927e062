"""What the simulators share."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gen.cache import cache_folder


class SimulatorError(RuntimeError):
    """A simulator that cannot be used or failed; one sentence."""


def run_command(
    what: str, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Run a build step in a folder; Ctrl-C ends it too.

    Raises:
        SimulatorError: it failed; the sentence has its first line of complaint.
    """
    run_commands(what, [command], folder, 1, environment)


def run_commands(
    what: str,
    commands: Sequence[Sequence[str | Path]],
    folder: Path,
    at_once: int,
    environment: Mapping[str, str] | None = None,
) -> None:
    """As run_command, several steps in any order, so many at once."""
    waiting, running = list(commands), []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_started(what, waiting.pop(0), folder, environment))
            process = running.pop(0)
            said, complained = process.communicate()
            if process.returncode:
                raise SimulatorError(f"{what} failed: {_first_line(complained or said, process.returncode)}")
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _started(what, command, folder, environment):
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise SimulatorError(f"{what} failed: cannot start {command[0]}: {error.strerror}") from None


def _first_line(output: str, code: int) -> str:
    lines = [line for line in output.strip().splitlines() if "error" in line.lower()] or output.strip().splitlines()
    return lines[0] if lines else f"exit code {code}"


def cache_error(error: OSError) -> SimulatorError:
    """What to say when the build cache cannot be written."""
    return SimulatorError(
        f"the build cache {str(cache_folder())!r} cannot be written ({error.strerror}); "
        "set XDG_CACHE_HOME to a writable folder with some space or use --simulator myhdl"
    )
