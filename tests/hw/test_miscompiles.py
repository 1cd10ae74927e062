"""No block holds a construct that MyHDL converts wrong, and those refused really are converted wrong."""

import gc
import inspect
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from myhdl import ToVerilogWarning

import gen
import hw
from gen.verilog import core
from golden.config import load_config
from hw.signals import bit, signed, unsigned
from tests.hw import miscompile_examples as examples
from tests.hw import miscompiled_structure as structure
from tests.hw.harness import require_icarus, run
from tests.hw.miscompiles import REMEDIES, findings
from tests.hw.verilog_keywords import SYSTEM_VERILOG, VERILOG

CYCLES = 300
HW = Path(hw.__file__).parent
EACH = pytest.mark.parametrize("path", sorted(HW.rglob("*.py")), ids=lambda path: str(path.relative_to(HW)))
PAIRS = pytest.mark.parametrize("example", examples.EXAMPLES, ids=lambda example: example.name)


def rules(block):
    """The rules that a block breaks, checked by itself."""
    head = "TABLE = (3, 1, 2, 0)\nBIG = 1 << 30\n"
    return {finding.rule for finding in findings(head + inspect.getsource(block.func), block.func.__name__)}


def named(block, shapes):
    """The shapes by the block's own names."""
    names = [name for name in inspect.signature(block.func).parameters if name != "clk"]
    return dict(zip(names, shapes.values(), strict=True))


def ports(block, shapes):
    signals = {}
    for name, bits in named(block, shapes).items():
        signals[name] = signed(-bits) if bits < 0 else bit() if bits == 1 else unsigned(bits)
    return signals


def stimulus(inputs):
    """Each input at random, and every second value one of the least, the greatest, 0 and 1."""
    rng, columns = np.random.default_rng(1), {}
    for name, bits in inputs.items():
        low, high = (-(1 << (-bits - 1)), (1 << (-bits - 1)) - 1) if bits < 0 else (0, (1 << bits) - 1)
        values = rng.integers(low, high, CYCLES, endpoint=True)
        edges = rng.choice([low, high, 0, 1], CYCLES)
        columns[name] = np.where(rng.integers(0, 2, CYCLES) == 1, values, edges).tolist()
    return columns


def outputs(block, shapes, backend):
    """y in every cycle but the first: a combinational process of Verilog waits for its inputs to change."""
    inputs = {name: bits for name, bits in named(block, shapes).items() if name != "y"}
    return run(block, ports(block, shapes), stimulus(inputs), ["y"], backend)["y"][1:]


def refusal(block, shapes, *exceptions):
    """What MyHDL's conversion or Icarus says against a block; empty if it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # MyHDL leaves the file open when it fails
        message = ""
        try:
            outputs(block, shapes, "icarus")
        except exceptions as error:
            message = str(error)
        gc.collect()
    return message


@EACH
def test_hw_is_clean(path):
    assert not [str(finding) for finding in findings(path.read_text(encoding="utf-8"), str(path))]


@pytest.mark.parametrize("path", sorted(Path(gen.__file__).parent.rglob("*.py")), ids=lambda path: path.name)
def test_no_conversion_asks_for_initial_values(path):
    found = findings(path.read_text(encoding="utf-8"), str(path))
    assert not [str(finding) for finding in found if finding.rule == "initial_values"]


def test_every_rule_is_proven():
    """initial_values, which is no matter of a block, by a test of its own."""
    assert {example.rule for example in examples.EXAMPLES} == set(REMEDIES) - {"initial_values"}


@PAIRS
def test_the_rule_tells_wrong_from_right(example):
    assert rules(example.wrong) == {example.rule}
    assert rules(example.right) == set()


@PAIRS
def test_wrong_converts_wrong(example):
    require_icarus()
    expected = outputs(example.wrong, example.shapes, "myhdl")
    if example.refused:
        assert example.refused in refusal(example.wrong, example.shapes, AssertionError, AttributeError, TypeError)
    else:
        assert outputs(example.wrong, example.shapes, "icarus") != expected


@PAIRS
def test_right_converts_right(example):
    expected = outputs(example.right, example.shapes, "myhdl")
    assert len(set(expected)) > 1
    assert outputs(example.right, example.shapes, "icarus") == expected


def converted(block, shapes, folder, **options):
    design = block(clk=bit(), **ports(block, shapes))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Port is not used", category=ToVerilogWarning)
        design.convert(hdl="Verilog", path=str(folder), name="top", no_myhdl_header=True, **options)
    return (folder / "top.v").read_text()


def test_system_verilog_refuses_its_keywords(tmp_path):
    """Verilator and Vivado may read a file as SystemVerilog."""
    require_icarus()
    for block, refused in ((structure.wrong_system_verilog, True), (structure.right_system_verilog, False)):
        assert rules(block) == ({"keyword"} if refused else set())
        converted(block, {"a": 8, "y": 8}, tmp_path)
        command = ["iverilog", "-g2012", "-o", tmp_path / "top.vvp", tmp_path / "top.v"]
        assert bool(subprocess.run(command, capture_output=True, check=False).returncode) == refused


def test_initial_values_stay_for_the_next_conversion(tmp_path):
    def text(**options):
        return converted(structure.right_initial_value, {"reset": 1, "a": 8, "y": 8}, tmp_path, **options)

    first = text()
    try:
        text(initial_values=True)
        assert text() != first
    finally:
        assert text(initial_values=False) == first  # the only way to be rid of it
    assert [finding.rule for finding in findings("design.convert(initial_values=True)", "x.py")] == ["initial_values"]
    assert not findings("design.convert(initial_values=False)", "x.py")


def test_an_undriven_signal_converts_wrong_and_is_warned_of():
    require_icarus()
    shapes = {"a": -8, "y": -9}
    assert "Signal is not driven: offset" in refusal(structure.undriven, shapes, ToVerilogWarning)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Signal is not driven", category=ToVerilogWarning)
        assert outputs(structure.undriven, shapes, "icarus") != outputs(structure.undriven, shapes, "myhdl")


def test_every_signal_of_the_engine_is_driven():
    """Generation refuses what is not (tests/gen/test_hierarchy.py shows it)."""
    core(load_config("tiny"))


@pytest.mark.parametrize(
    ("file", "right", "wrong", "rule"),
    [
        ("scale.py", "(high_product << LOW_BITS) + low_product", "(high * factor) >> 2", "width"),
        ("scale.py", "(high_product << LOW_BITS) + low_product", "low_product // 2", "division"),
        ("scale.py", "high_product.next = high * factor", "high_product.next = high if s > 0 else low", "conditional"),
        ("exp2.py", "by_4.next = by_16 >> 6", "by_4.next = by_16 >> (k_low << 1)", "shift amount"),
        ("visible_keys.py", "lowest < 1:", "lowest + 1 < high:", "mixed signs"),
        ("output_accumulator.py", "to_signed(old, old_value)", "to_signed(sums[lane](8, 0), old_value)", "list slice"),
        ("pe.py", "product.next =", "packed = 0; product.next =", "keyword"),
    ],
)
def test_a_planted_violation_is_found_in_its_line(file, right, wrong, rule):
    source = (HW / file).read_text(encoding="utf-8")
    line = source[: source.index(right)].count("\n") + 1
    found = findings(source.replace(right, wrong), f"hw/{file}")
    assert [(finding.line, finding.rule) for finding in found] == [(line, rule)]
    assert str(found[0]).startswith(f"hw/{file}:{line}: {rule}: `") and REMEDIES[rule] in str(found[0])


def test_keywords_are_those_of_the_standards():
    assert len(VERILOG) == 124 and len(VERILOG | SYSTEM_VERILOG) == 248
