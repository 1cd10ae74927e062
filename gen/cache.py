"""Build cache in the user's cache folder, safe when several processes build the same entry."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/flashtile, or ~/.cache/flashtile."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "flashtile"


def cached(key: str, build: Callable[[Path], None], product: str) -> Path:
    """The file `product` in the folder of `key` in the user's cache, made by `build(folder)` if it is not there.

    The folder appears whole or not at all: it is built under a temporary name beside its place, and renamed. Of two
    processes that build at once, the first to finish wins.

    Raises:
        OSError: the cache folder cannot be written.
    """
    place = cache_folder() / key
    if (place / product).is_file():
        return place / product
    shutil.rmtree(place, ignore_errors=True)  # a damaged entry
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        build(partial)
        try:
            partial.rename(place)
        except OSError:
            if not (place / product).is_file():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place / product
