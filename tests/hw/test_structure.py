"""How the blocks are written, and that golden.latency says what they take."""

import ast
from pathlib import Path

import pytest

import hw

HW = Path(hw.__file__).parent
FILES = sorted(HW.rglob("*.py"))
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HW)))


def blocks(path):
    """The @block functions at the top of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", None) == "block" for d in node.decorator_list):
            yield node


@EACH
def test_a_module_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@EACH
def test_every_block_states_its_contract(path):
    """The block that a file is named after lists its ports; helper blocks have a docstring."""
    for node in blocks(path):
        text = ast.get_docstring(node)
        assert text, f"{node.name} has no docstring"
        assert node.name != path.stem or "Ports:" in text, f"{node.name} does not list its ports"


@EACH
def test_no_file_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300
