"""The delay line."""

import random

import pytest
from myhdl import block

from hw.delay import Delays, delay
from hw.signals import bit, signed, unsigned
from tests.hw.harness import BACKENDS, run

SHAPES = {"bit": (bit, 0, 1), "unsigned": (lambda: unsigned(9), 0, 511), "signed": (lambda: signed(9), -256, 255)}
CYCLES = pytest.mark.parametrize("cycles", [0, 1, 2, 3, 7])


@BACKENDS
@CYCLES
@pytest.mark.parametrize("shape", SHAPES)
def test_delays_by_that_many_cycles(cycles, shape, backend):
    make, low, high = SHAPES[shape]
    rng = random.Random(cycles)
    d = [low, high, low, *(rng.randint(low, high) for _ in range(40))]
    trace = run(delay, {"d": make(), "q": make()}, {"d": d}, ["q"], backend, {"cycles": cycles}, after=cycles)
    assert trace["q"][cycles:] == d


@BACKENDS
@CYCLES
def test_reset_clears_every_stage(cycles, backend):
    """What is under way when reset comes never arrives, what comes with reset neither."""
    rng = random.Random(cycles)
    d = [rng.randint(0, 1) for _ in range(60)]
    reset = [int(t == 0 or t in (20, 21, 40)) for t in range(60)]
    ports = {name: bit() for name in ("d", "q", "reset")}
    trace = run(delay, ports, {"d": d, "reset": reset}, ["q"], backend, {"cycles": cycles})
    for t in range(max(1, cycles), 60):
        # A wire has no stage to clear.
        cleared = any(reset[t - cycles : t])
        assert trace["q"][t] == (0 if cleared else d[t - cycles])


@block
def collected(clk, reset, d, plain, cleared):
    """Two delayed copies made by Delays, on ports."""
    later = Delays(clk, reset)
    copies = later(d, 2), later(d, 3, clear=True)
    lines = [delay(*line) for line in later.lines]
    return lines, [delay(clk, copy, port, 0) for copy, port in zip(copies, (plain, cleared), strict=True)]


@BACKENDS
def test_collected_delays(backend):
    d = [int(t % 5 in (0, 3)) for t in range(30)]
    reset = [int(t in (0, 12)) for t in range(30)]
    ports = {name: bit() for name in ("reset", "d", "plain", "cleared")}
    trace = run(collected, ports, {"d": d, "reset": reset}, ["plain", "cleared"], backend)
    assert trace["plain"][2:] == d[:-2]
    expected = [0 if 12 in range(t - 3, t) else d[t - 3] for t in range(4, 30)]
    assert trace["cleared"][4:] == expected
