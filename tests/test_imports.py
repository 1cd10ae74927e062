"""The layout is the import graph: golden <- hw <- gen <- fpga, and tests are not part of what is installed."""

import ast
import configparser
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "golden": {"golden"},
    "hw": {"golden", "hw"},
    "gen": {"golden", "hw", "gen"},
    "fpga": {"golden", "hw", "gen", "fpga"},
}
OURS = {*ALLOWED, "tests", "scripts"}
SOURCES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


def imported(source):
    """Names of the top-level packages that Python source text imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import would need resolving; absolute ones show the direction where they stand.
            yield "." if node.level else node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0]).partition(".")[0]


def violations(package, source):
    return {name for name in imported(source) if name == "." or name in OURS - ALLOWED[package]}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_direction(path):
    assert violations(path.relative_to(ROOT).parts[0], path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "package, source, bad",
    [
        ("golden", "import hw.top", "hw"),
        ("golden", "def f():\n    from gen.cli import main", "gen"),
        ("hw", "import numpy, golden.formats, fpga", "fpga"),
        ("gen", "if True:\n    import tests.bench as bench", "tests"),
        ("fpga", "from . import uart", "."),
        ("hw", "import importlib\nimportlib.import_module('gen.convert')", "gen"),
    ],
)
def test_violation_is_found(package, source, bad):
    assert violations(package, source) == {bad}


def test_every_package_is_installed_and_tests_are_not():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = setup["options.packages.find"]["include"].split()

    def installed(package):
        return any(fnmatch(package, pattern) for pattern in patterns)

    packages = {".".join(path.relative_to(ROOT).parent.parts) for path in SOURCES}
    assert {package for package in packages if not installed(package)} == set()
    assert all((ROOT / package.replace(".", "/") / "__init__.py").exists() for package in packages)
    assert not any(installed(package) for package in ("tests", "tests.golden", "scripts", "docs"))
