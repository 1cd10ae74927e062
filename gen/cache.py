"""Build cache in the user's cache folder, safe when several processes build the same entry."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

DEBRIS_AGE = 24 * 3600.0  # seconds after which a folder under construction is that of a process that was killed


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/flashtile, or ~/.cache/flashtile."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "flashtile"


def cached(key: str, build: Callable[[Path], None], product: str) -> Path:
    """The file `product` in the folder of `key` in the user's cache, made by `build(folder)` if it is not there.

    The folder appears whole or not at all: it is built under a temporary name beside its place, and renamed. Of two
    processes that build at once, the first to finish wins. The product's hash lies beside it: what was truncated or
    altered since is built again.

    Raises:
        OSError: the cache folder cannot be written.
    """
    place = cache_folder() / key
    if _intact(place / product):
        return place / product
    shutil.rmtree(place, ignore_errors=True)  # a damaged entry
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    partial = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        build(partial)
        _hash_file(partial / product).write_text(_hash(partial / product))
        try:
            partial.rename(place)
        except OSError:
            if not _intact(place / product):
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place / product


def _hash_file(product: Path) -> Path:
    return product.with_name(f"{product.name}.sha256")


def _hash(product: Path) -> str:
    return hashlib.sha256(product.read_bytes()).hexdigest()


def _intact(product: Path) -> bool:
    try:
        return _hash_file(product).read_text() == _hash(product)
    except (OSError, UnicodeDecodeError):
        return False


def _sweep(folder: Path) -> None:
    """Remove what killed processes left under construction."""
    for entry in folder.glob(".*-*"):
        try:
            old = time.time() - entry.stat().st_mtime > DEBRIS_AGE
        except OSError:
            continue
        if old:
            shutil.rmtree(entry, ignore_errors=True)
