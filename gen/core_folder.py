"""What `flashtile generate` writes: the Verilog of a configuration with all that goes with it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from gen.core_readme import readme
from gen.vectors import vectors
from gen.verilog import Core, core
from golden.config import EngineConfig

LISTS = "filelist.f", "filelist_system.f"
VECTORS = "vectors"
PARTIAL = ".flashtile-"


class FolderError(ValueError):
    """A folder that cannot be written; one sentence."""


def check_folder(folder: Path) -> None:
    """Raise FolderError unless `folder` is new, empty, or holds nothing but an earlier core. Leaves no trace."""
    place = folder.resolve()
    try:
        if place.exists() and not place.is_dir():
            raise FolderError(f"cannot write into {str(folder)!r}: it is not a directory; give another name")
        if place.is_dir():
            strange = next(_foreign(place), None)
            if strange is not None:
                raise FolderError(
                    f"{str(folder)!r} holds {strange!r}, which flashtile did not write; give a new or empty folder"
                )
        above = next(parent for parent in place.parents if parent.exists())
        if not above.is_dir():
            raise FolderError(f"cannot make {str(folder)!r}: {str(above)!r} is not a directory; give another name")
        tempfile.TemporaryFile(dir=place if place.is_dir() else above).close()
    except OSError as error:
        raise _failed(folder, error) from None


def write_core(
    config: EngineConfig,
    folder: Path,
    flat: bool = False,
    vector_count: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write a core into a folder, all of it or nothing, in place of an earlier one; returns the names of its files.

    The same arguments give the same bytes, whatever was generated before.

    Args:
        flat: one module for each top. vector_count: test vectors to add, from `seed`.
        progress: called with how many modules and vectors are done, and how many there will be.

    Raises:
        FolderError: see check_folder. GenerationError: the installed MyHDL is another version.
    """
    check_folder(folder)
    place = folder.resolve()
    new = [path for path in (place, *place.parents) if not path.exists()]
    partial = None
    try:
        place.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=place))
        names = []
        for name, text in _files(config, flat, vector_count, seed, progress or (lambda done, total: None)):
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
        move_into(partial, place)
        new.clear()
    except OSError as error:
        raise _failed(folder, error) from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        for path in new:
            with suppress(OSError):
                path.rmdir()
    return names


def move_into(partial: Path, place: Path) -> None:
    """Put the files of a folder inside `place` in the place of all else. `place` stays: somebody may stand in it."""
    for path in place.iterdir():
        if path.is_dir() and path != partial:
            shutil.rmtree(path)
        elif path != partial:
            path.unlink()
    for path in partial.iterdir():
        path.rename(place / path.name)


def _files(config, flat, vector_count, seed, report) -> Iterator[tuple[str, str]]:
    made = core(config, flat, lambda done, total: report(done, total + vector_count))
    yield from made.files.items()
    for name, files in zip(LISTS, (made.engine, made.system), strict=True):
        yield name, "".join(f"{file}\n" for file in files)
    yield "config.json", config.to_json()
    yield f"flashtile_{config.name}.core", fusesoc_core(config, made)
    yield "README.md", readme(config, made, flat, vector_count, seed)
    for number, files in enumerate(vectors(config, vector_count, seed)):
        report(len(made.files) + number, len(made.files) + vector_count)
        for name, text in files.items():
            yield f"{VECTORS}/{name}", text


def fusesoc_core(config: EngineConfig, made: Core) -> str:
    """FuseSoC's description (CAPI2): top `engine`, a target to lint it, and one with on-chip memory.

    JSON, which is YAML too.
    """
    system_only = [name for name in made.system if name not in made.engine]
    lint = {"tool": "verilator", "verilator_options": ["-Wall"]}
    description = {
        "name": f"flashtile:engine:{config.name}:{metadata.version('flashtile')}",
        "description": f"FlashAttention tile engine, configuration {config.name}",
        "filesets": {
            "engine": {"files": made.engine, "file_type": "verilogSource"},
            "system": {"files": system_only, "file_type": "verilogSource"},
        },
        "targets": {
            "default": {"filesets": ["engine"], "toplevel": "engine"},
            "system": {"filesets": ["engine", "system"], "toplevel": "engine_system"},
            "lint": {"filesets": ["engine"], "toplevel": "engine", "flow": "lint", "flow_options": lint},
        },
    }
    return "CAPI=2:\n" + json.dumps(description, indent=2) + "\n"


def _foreign(place: Path) -> Iterator[str]:
    """Files in a folder that an earlier core does not account for."""
    ours = {"config.json", "README.md", *LISTS, VECTORS}
    for name in LISTS:
        if (place / name).is_file():
            ours |= set((place / name).read_text(encoding="utf-8", errors="replace").split())
    for path in sorted(place.iterdir()):
        if path.name.startswith(PARTIAL):
            continue  # of a process that was killed
        if path.name not in ours and not (path.name.startswith("flashtile_") and path.suffix == ".core"):
            yield path.name
    if (place / VECTORS).is_dir():
        for path in sorted((place / VECTORS).iterdir()):
            if not (path.suffix in (".json", ".hex") and path.name[:3].isdigit()):
                yield f"{VECTORS}/{path.name}"


def _failed(folder: Path, error: OSError) -> FolderError:
    return FolderError(f"cannot write into {str(folder)!r}: {error.strerror or error}; choose a writable place")
