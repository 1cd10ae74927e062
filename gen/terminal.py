"""What the command shows: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gen.outputs import OutputError

PROGRESS_AFTER = 2.0  # seconds; what is done sooner shows no progress bar


def check_standard_output() -> None:
    """Raise OutputError if there is nowhere to print a result to."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; open it, for instance with >/dev/null")


def emit(text: str) -> None:
    """Print a result."""
    try:
        print(text, flush=True)
    except OSError as error:
        # Full, or a reader such as `head` that went away. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"cannot write the report to standard output: {error.strerror}") from None


def complain(sentence: str) -> None:
    """Print an error."""
    print(f"flashtile: error: {' '.join(sentence.split())}", file=sys.stderr)


def notice(sentence: str) -> None:
    """Tell a person at the terminal what is about to take long."""
    if sys.stderr.isatty():
        print(sentence, file=sys.stderr)


@contextmanager
def progress(what: str, unit: str) -> Iterator:
    """Yields a callback (done, total) that draws a bar on standard error; None if that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {unit}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("")
    start = time.monotonic()

    def advance(done: int, expected: int) -> None:
        if time.monotonic() - start >= PROGRESS_AFTER:
            bar.update(task, completed=done, total=max(done, expected))
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
