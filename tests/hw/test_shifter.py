"""The rounding right shift."""

import numpy as np
import pytest

from golden import latency
from golden.formats import half_up
from hw.shifter import shifter
from hw.signals import signed, unsigned
from tests.hw.harness import BACKENDS, run


def shifted(width, x, shift, backend):
    """y for each x and shift, after the block's latency."""
    ports = {"x": signed(width), "shift": unsigned(6), "y": signed(width + 1)}
    trace = run(shifter, ports, {"x": x, "shift": shift}, ["y"], backend, after=latency.SHIFTER)
    return trace["y"][latency.SHIFTER :]


def extremes(width):
    top = (1 << (width - 1)) - 1
    values = [0, 1, -1, 2, -2, 3, -3, top, top - 1, -top, -top - 1, top // 3, -top // 3]
    return [max(-top - 1, min(top, value)) for value in values]


@BACKENDS
@pytest.mark.parametrize("width", [2, 18, 34, 49])
def test_every_shift(width, backend):
    rng = np.random.default_rng(width)
    x = [value for _ in range(64) for value in extremes(width)]
    shift = [amount for amount in range(64) for _ in extremes(width)]
    x += rng.integers(-(1 << (width - 1)), 1 << (width - 1), 500).tolist()
    shift += rng.integers(0, 64, 500).tolist()
    y = np.array(shifted(width, x, shift, backend))
    assert (y == [2 * value >> amount for value, amount in zip(x, shift, strict=True)]).all()
    assert ((y + 1 >> 1) == half_up(x, shift)).all()


@BACKENDS
@pytest.mark.parametrize(("width", "result"), [(31, 19), (12, 13)])
def test_five_bits_of_shift(width, result, backend):
    bits = 5
    x = [value for _ in range(1 << bits) for value in extremes(width)]
    shift = [amount for amount in range(1 << bits) for _ in extremes(width)]
    ports = {"x": signed(width), "shift": unsigned(bits), "y": signed(result)}
    trace = run(shifter, ports, {"x": x, "shift": shift}, ["y"], backend, after=latency.SHIFTER)
    mask = (1 << result) - 1
    expected = [(2 * value >> amount) & mask for value, amount in zip(x, shift, strict=True)]
    assert [value & mask for value in trace["y"][latency.SHIFTER :]] == expected


@BACKENDS
@pytest.mark.parametrize(("width", "result"), [(27, 27), (34, 19), (48, 19), (20, 1)])
def test_a_narrow_result(width, result, backend):
    """A result of fewer bits has the low ones."""
    rng = np.random.default_rng(result)
    x = [value for _ in range(64) for value in extremes(width)]
    shift = [amount for amount in range(64) for _ in extremes(width)]
    x += rng.integers(-(1 << (width - 1)), 1 << (width - 1), 500).tolist()
    shift += rng.integers(0, 64, 500).tolist()
    ports = {"x": signed(width), "shift": unsigned(6), "y": signed(result)}
    trace = run(shifter, ports, {"x": x, "shift": shift}, ["y"], backend, after=latency.SHIFTER)
    mask = (1 << result) - 1
    expected = [(2 * value >> amount) & mask for value, amount in zip(x, shift, strict=True)]
    assert [value & mask for value in trace["y"][latency.SHIFTER :]] == expected
