"""Build cache in the user's cache folder, safe when several processes build the same entry."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CHECKSUM = "sha256"
ABANDONED = 3600.0  # seconds after which an unfinished build belongs to a process that was killed


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/flashtile, or ~/.cache/flashtile."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "flashtile"


def cached(key: str, build: Callable[[Path], None], product: str) -> Path:
    """The file `product` in the folder of `key` in the user's cache, made by `build(folder)` if it is not there.

    The folder appears whole or not at all: it is built under a temporary name beside its place, and renamed. Of two
    processes that build at once, the first to finish wins. A product that is not what was built is built again.

    Raises:
        OSError: the cache folder cannot be written.
    """
    place = cache_folder() / key
    if _whole(place, product):
        return place / product
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    partial = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        build(partial)
        (partial / CHECKSUM).write_text(_checksum(partial / product), encoding="ascii")
        if not _whole(place, product):
            shutil.rmtree(place, ignore_errors=True)  # a damaged entry
            try:
                partial.rename(place)
            except OSError:
                if not _whole(place, product):
                    raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place / product


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _whole(place: Path, product: str) -> bool:
    try:
        return (place / CHECKSUM).read_text(encoding="ascii") == _checksum(place / product)
    except (OSError, UnicodeDecodeError):
        return False


def _sweep(place: Path) -> None:
    """Remove what killed processes left of the same entry."""
    for partial in place.parent.glob(f".{place.name}-*"):
        try:
            if time.time() - partial.stat().st_mtime > ABANDONED:
                shutil.rmtree(partial, ignore_errors=True)
        except FileNotFoundError:
            pass  # another process was faster
