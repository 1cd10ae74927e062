"""Projects of small engines, one for each width of the memory bus, written once a test process."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

from edalize.build_runners.make import Make

from fpga.zuboard.project import write_project
from fpga.zuboard.top import board_config
from golden.config import EngineConfig


def config(bits: int = 64) -> EngineConfig:
    """A 1x2 engine whose memory bus has so many bits."""
    return EngineConfig(f"small{bits}", "int8", 1, 2, bits // 8, 16, 16, 256, 1 << 16)


@functools.cache
def _written(bits: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="flashtile-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_project(board_config(config(bits)), folder)
    return folder


def project(folder: Path, bits: int = 64) -> Path:
    """A copy of the project in a new folder."""
    return Path(shutil.copytree(_written(bits), folder / "project"))


def copy_project(config, folder, build, progress, written=None):
    """In the place of fpga.zuboard.project.write_project, for `config`: quicker, with another build number."""
    shutil.copytree(written or _written(config.word_bits), folder, dirs_exist_ok=True)
    return SimpleNamespace(build_runner=Make({}))
