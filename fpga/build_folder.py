"""Folders that builds write: the whole result or nothing, and the logs of what failed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fpga.build_error import BuildError
from gen.core_folder import PARTIAL, move_into

REPORT = "report.json"  # in every folder that a build has written
FAILED = "failed"


@contextmanager
def build_folder(folder: Path) -> Iterator[Path]:
    """Yields an empty folder whose contents take the place of those of `folder` at the end.

    After a BuildError the contents stay as folder/failed, for their logs; after Ctrl-C nothing stays.

    Raises:
        BuildError: `folder` cannot be written, or holds what no build has written.
    """
    place, new = folder.resolve(), []
    try:
        if place.exists() and not place.is_dir():
            raise BuildError(f"cannot build into {str(folder)!r}: it is not a directory; give another name")
        if place.is_dir():
            names = {path.name for path in place.iterdir() if not path.name.startswith(PARTIAL)}
            if names and REPORT not in names and names != {FAILED}:
                raise BuildError(f"{str(folder)!r} holds files that no build has written; give a new or empty folder")
        new = [path for path in (place, *place.parents) if not path.exists()]
        place.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=place))
    except OSError as error:
        _remove(new)
        raise _failed(folder, error) from None
    try:
        yield partial
        move_into(partial, place)
        new.clear()
    except BuildError:
        shutil.rmtree(place / FAILED, ignore_errors=True)
        partial.rename(place / FAILED)
        raise
    except OSError as error:
        raise _failed(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _remove(new)


def _remove(folders: list[Path]) -> None:
    for path in folders:
        with suppress(OSError):
            path.rmdir()


def _failed(folder: Path, error: OSError) -> BuildError:
    return BuildError(f"cannot build into {str(folder)!r}: {error.strerror or error}; choose a writable place")
