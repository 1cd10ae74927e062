"""Files that a command writes: checked before the run, and there whole or not at all after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class OutputError(ValueError):
    """A result that cannot be written; one sentence."""


def check_output(option: str, path: str, a_file: str, others: dict[str, str | None]) -> None:
    """Raise OutputError if `path` cannot be written or must not be replaced. Leaves no trace.

    Args:
        option: the option that names the file. a_file: what to name, for the remedy.
        others: files that it must not be, by a description; None for one that is not given.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(path) or not os.path.basename(path):
        raise OutputError(f"cannot write {path!r}: it is a directory; give the name of {a_file}")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OutputError(f"cannot write {path!r}: it is not a regular file; give the name of {a_file}")
    for what, other in others.items():
        if other is not None and _same(target, other):
            raise OutputError(f"{option} {path!r} is {what}; give another name")
    if not os.path.isdir(folder):
        raise OutputError(f"cannot write {path!r}: there is no directory {folder!r}; create it first")
    try:
        if os.path.isfile(target) and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is write-protected")
        with suppress(FileNotFoundError):
            os.lstat(target)  # fails for a name that is too long
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _cannot_write(path, error) from None


def _same(target: str, other: str) -> bool:
    if os.path.exists(target) and os.path.exists(other):
        return os.path.samefile(target, other)
    return target == os.path.realpath(other)


@contextmanager
def replacing(path: str, keep: tuple[type[BaseException], ...] = ()) -> Iterator[Path]:
    """Yields the name of a file to write, which takes the place of `path` at the end: all of it or nothing.

    Args:
        keep: exceptions after which the file is whole, too.

    Raises:
        OutputError: for an OSError inside.
    """
    target = os.path.realpath(path)
    partial = Path(os.path.dirname(target), f".flashtile-{os.getpid()}{os.path.splitext(path)[1]}")
    try:
        try:
            yield partial
        except keep:
            if partial.exists():
                os.replace(partial, target)
            raise
        os.replace(partial, target)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        partial.unlink(missing_ok=True)  # after Ctrl-C, too


def _cannot_write(path: str, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path!r}: {error.strerror or error}; choose a writable place")
