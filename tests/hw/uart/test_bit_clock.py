"""Ticks against the times of ideal bits."""

import math

import pytest

from hw.signals import bit
from hw.uart.bit_clock import PHASE_BITS, bit_clock, bit_step
from tests.hw.flow import cycles_of
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import RATES

EACH_RATE = pytest.mark.parametrize(("clock_hz", "baud"), RATES)


@BACKENDS
@EACH_RATE
def test_runs_freely_at_the_rate(clock_hz, baud, backend):
    """Each tick within a clock of its time, over 300 bits."""
    clocks = (1 << PHASE_BITS) / bit_step(clock_hz, baud)
    assert abs(clocks * baud / clock_hz - 1) < 1e-4
    ports, restart = {"restart": bit(), "tick": bit()}, [1, *[0] * int(300 * clocks)]
    parameters = {"clock_hz": clock_hz, "baud": baud}
    ticks = cycles_of(run(bit_clock, ports, {"restart": restart}, ["tick"], backend, parameters)["tick"])
    assert abs(len(ticks) - 300) <= 1
    assert all(abs(tick - ticks[0] - number * clocks) <= 1 for number, tick in enumerate(ticks))


@BACKENDS
@EACH_RATE
def test_restarts_for_the_middles_of_bits(clock_hz, baud, backend):
    """Whenever restart ends, ticks come half a bit later, a clock early, and then every bit."""
    clocks = clock_hz / baud
    length = int(4 * clocks)
    restart = [1, 1, *[0] * length, *[1] * 3, *[0] * length, 1, *[0] * length, 1]
    ports = {"restart": bit(), "tick": bit()}
    parameters = {"clock_hz": clock_hz, "baud": baud}
    ticks = run(bit_clock, ports, {"restart": restart}, ["tick"], backend, parameters)["tick"]
    held = cycles_of(restart)
    starts = [cycle for cycle in held if cycle + 1 not in held and cycle + 1 < len(restart)]
    places = [math.ceil((number + 0.5) * clocks - 1) for number in range(4)]
    expected = [start + place for start in starts for place in places if place <= length]
    assert len(starts) == 3 and len(expected) >= 9
    assert cycles_of(ticks) == expected


@pytest.mark.parametrize("clock_hz", [50_000_000, 75_000_000, 100_000_000, 125_000_000])
@pytest.mark.parametrize("baud", [115_200, 230_400, 460_800, 921_600, 1_000_000, 2_000_000, 3_000_000])
def test_the_rates_of_boards(clock_hz, baud):
    made = bit_step(clock_hz, baud) * clock_hz / (1 << PHASE_BITS)
    assert abs(made / baud - 1) < 0.001


@pytest.mark.parametrize(
    ("clock_hz", "baud", "sentence"),
    [
        (23_999_999, 3_000_000, "3000000 baud leaves 8.0 clocks of 23999999 Hz a bit, and 8 are needed"),
        (10_000_000, 3_000_000, "3000000 baud leaves 3.3 clocks .* use at most 1250000 baud"),
        (125_000_000, 9_600, "a clock of 125000000 Hz makes 9656.0 baud of 9600, which is more than 0.5 % off"),
        (125_000_000, 1, "makes 0.0 baud of 1,"),
        (125_000_000, 0, "baud must be a whole number from 1 on, not 0"),
        (125_000_000, 115_200.0, "baud must be a whole number from 1 on, not 115200.0"),
        (-1, 115_200, "clock_hz must be a whole number from 1 on, not -1"),
        (True, 1, "clock_hz must be a whole number from 1 on, not True"),
    ],
)
def test_refuses_what_it_cannot_do(clock_hz, baud, sentence):
    with pytest.raises(ValueError, match=sentence):
        bit_clock(bit(), bit(), bit(), clock_hz, baud)
