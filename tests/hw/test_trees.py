"""Adder and maximum trees, and the maximum of a row."""

import numpy as np
import pytest

from golden import latency
from golden.config import log2_ceil
from golden.formats import MAX_BITS, P_BITS, Z_BITS, Z_FRACTION
from hw.signals import signed, unsigned
from hw.trees import adder_tree, maximum_tree, row_maximum
from tests.hw.harness import BACKENDS, pack, run

LANES = pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
HIDDEN = -(1 << (MAX_BITS - 1))


def outcomes(tree, rows, width, result, backend, visible=0, cycles=0):
    """The tree's result for each row, `cycles` and a cycle for each level later."""
    lanes = len(rows[0])
    cycles += log2_ceil(lanes)
    vector, name = ("z", "top") if tree is row_maximum else ("vector", "total" if tree is adder_tree else "top")
    ports = {vector: unsigned(lanes * width), name: result}
    inputs = {vector: [pack(row, width) for row in rows]}
    if tree is row_maximum:
        ports["visible"] = unsigned(lanes)
        inputs["visible"] = visible
    return run(tree, ports, inputs, [name], backend, {"lanes": lanes}, after=cycles)[name][cycles:]


def rows_of(lanes, low, high, rng, count=150):
    """Random rows, all at one end, one outlier among equals at each lane, and equal lanes."""
    rows = rng.integers(low, high, (count, lanes), endpoint=True).tolist()
    rows += rng.choice([low, high], (30, lanes)).tolist()
    rows += [[value] * lanes for value in (low, high, 0, (low + high) // 3)]
    for lane in range(lanes):
        for value, others in ((low, 0), (high, 0), (low, high), (high, low)):
            row = [others] * lanes
            row[lane] = value
            rows.append(row)
    return rows


@BACKENDS
@LANES
@pytest.mark.parametrize("width", [1, P_BITS])
def test_adder_tree(lanes, width, backend):
    rows = rows_of(lanes, 0, (1 << width) - 1, np.random.default_rng(lanes))
    total = outcomes(adder_tree, rows, width, unsigned(width + log2_ceil(lanes)), backend)
    assert total == [sum(row) for row in rows]


@BACKENDS
@LANES
def test_maximum_tree(lanes, backend):
    rows = rows_of(lanes, 0, (1 << MAX_BITS) - 1, np.random.default_rng(lanes))
    assert outcomes(maximum_tree, rows, MAX_BITS, unsigned(MAX_BITS), backend) == [max(row) for row in rows]


def check_row_maximum(rows, visible, backend):
    top = outcomes(row_maximum, rows, Z_BITS, signed(MAX_BITS), backend, visible, latency.CEIL_KEY)
    for row, shown, found in zip(rows, visible, top, strict=True):
        if shown == 0:
            assert found == HIDDEN
        else:
            largest = max(value for lane, value in enumerate(row) if shown >> lane & 1)
            assert (found + 1) >> 1 == -(-largest >> Z_FRACTION), (row, shown)  # as golden.flash takes the ceiling
            assert found == 2 * (largest >> Z_FRACTION) + (largest % (1 << Z_FRACTION) != 0)


@BACKENDS
@LANES
def test_row_maximum(lanes, backend):
    """Any set of visible lanes; hidden lanes hold anything, the largest value too."""
    rng = np.random.default_rng(lanes)
    rows = rows_of(lanes, -(1 << 31), (1 << 31) - 1, rng)
    visible = [index % (1 << lanes) for index in rng.integers(1 << 16, size=len(rows)).tolist()]
    for count in range(lanes + 1):
        for low in range(count + 1):
            shown = (1 << count) - (1 << low)
            rows.append([-5 if shown >> lane & 1 else (1 << 31) - 1 for lane in range(lanes)])
            visible.append(shown)
    check_row_maximum(rows, visible, backend)


@BACKENDS
@LANES
def test_row_maximum_of_close_values(lanes, backend):
    """Around zero and around whole numbers, negative ones too, where fractions decide the ceiling."""
    rng = np.random.default_rng(lanes)
    whole = rng.integers(-3, 4, (200, lanes)) << Z_FRACTION
    rows = (whole + rng.choice([-4095, -1, 0, 0, 1, 4095], (200, lanes))).tolist()
    rows += [[value] * lanes for value in range(-4100, 4200, 41)]
    check_row_maximum(rows, rng.integers(1, 1 << lanes, len(rows)).tolist(), backend)


@BACKENDS
def test_row_maximum_of_one_lane_over_the_range(backend):
    edges = [whole * 4096 + step for whole in (-(1 << 19), -1, 0, 1, (1 << 19) - 1) for step in (0, 1, 4095)]
    check_row_maximum([[value] for value in edges], [1] * len(edges), backend)
