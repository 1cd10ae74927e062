"""The delay line."""

import random

import pytest
from myhdl import block

from hw.delay import Delays, delay, delay_lines
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
    lines = delay_lines(later)
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


@block
def long_lines(clk, reset, flag, value, level, late_flag, late_value, late_level):
    """Lines of several shapes and lengths, on ports."""
    later = Delays(clk, reset)
    copy = later(flag, 9)
    later(value, 8, into=late_value)
    later(level, 43, into=late_level)
    return delay(clk, copy, late_flag, 0), delay_lines(later)


@BACKENDS
def test_long_lines_share_rings(backend):
    """Each as long as it was asked for."""
    rng = random.Random(3)
    ports = {"reset": bit(), "flag": bit(), "value": unsigned(5), "level": signed(6)}
    late = {"late_flag": bit(), "late_value": unsigned(5), "late_level": signed(6)}
    columns = {
        "reset": [1, *[0] * 99], "flag": [rng.randint(0, 1) for _ in range(100)],
        "value": [rng.randint(0, 31) for _ in range(100)], "level": [rng.randint(-32, 31) for _ in range(100)],
    }  # fmt: skip
    trace = run(long_lines, ports | late, columns, list(late), backend)
    for name, cycles in (("flag", 9), ("value", 8), ("level", 43)):
        assert trace[f"late_{name}"][cycles + 1 :] == columns[name][1:-cycles], name
