"""Bytes from lines of all rates, with the host's clock off, glitches, wrong stop bits and breaks."""

import random

import pytest

from hw.signals import bit, unsigned
from hw.uart.uart_receiver import uart_receiver
from tests.hw.flow import cycles_of
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import RATES, byte_bits, levels, line_of

EACH_RATE = pytest.mark.parametrize(("clock_hz", "baud"), RATES)
OUTPUTS = ["data", "valid", "framing", "active"]
MESSAGE = [0xA5, 0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, 0x7F, 0xFE]


def receive(line, backend, clock_hz, baud, reset=()):
    """Trace of the receiver on a line that is idle before, with reset in the cycles given besides the first two."""
    line = [1] * 4 + list(line)
    ports = {name: bit() for name in ("reset", "rx", "valid", "framing", "active")} | {"data": unsigned(8)}
    inputs = {"rx": line, "reset": [int(cycle < 2 or cycle - 4 in reset) for cycle in range(len(line))]}
    trace = run(uart_receiver, ports, inputs, OUTPUTS, backend, {"clock_hz": clock_hz, "baud": baud}, after=4)
    return {name: values[4:] for name, values in trace.items()}


def received(trace):
    return [trace["data"][cycle] for cycle in cycles_of(trace["valid"])]


@BACKENDS
@EACH_RATE
@pytest.mark.parametrize("gap", [0, 3])
def test_every_byte(gap, clock_hz, baud, backend):
    message = MESSAGE + random.Random(gap).sample(range(256), 40)
    trace = receive(line_of(message, clock_hz / baud, gap=gap), backend, clock_hz, baud)
    assert received(trace) == message
    assert not any(trace["framing"])


@BACKENDS
@pytest.mark.parametrize("error", [-0.035, -0.02, 0, 0.02, 0.035])
def test_a_host_whose_clock_is_off(error, backend):
    """2 % are promised. Up to 3.9 % both ways, half a bit less a clock in 9.5 bits, shows that the middle is sampled.

    The edges fall anywhere between two clocks.
    """
    clock_hz, baud = RATES[0]
    clocks = clock_hz / baud / (1 + error)
    line, message = [], []
    for number in range(48):
        values = [MESSAGE[number % len(MESSAGE)], MESSAGE[(number + 4) % len(MESSAGE)]]
        line += line_of(values, clocks, offset=number / 48, idle=3)
        message += values
    trace = receive(line, backend, clock_hz, baud)
    assert received(trace) == message and not any(trace["framing"])


@BACKENDS
@EACH_RATE
def test_a_glitch_is_no_byte(clock_hz, baud, backend):
    """Low for less than half a bit, less a clock for either edge. The byte after it is right."""
    clocks = clock_hz / baud
    short = int(clocks / 2) - 2
    line = []
    for low in range(1, short + 1):
        line += [0] * low + [1] * int(2 * clocks)
    trace = receive(line + line_of([0x3C], clocks), backend, clock_hz, baud)
    assert received(trace) == [0x3C] and not any(trace["framing"])
    assert not any(trace["active"][: len(line)])


@BACKENDS
@EACH_RATE
def test_a_wrong_stop_bit(clock_hz, baud, backend):
    """No byte; the next one begins when the line was high."""
    clocks = clock_hz / baud
    bits = byte_bits(0x12) + byte_bits(0x34, stop=0) + [1] + byte_bits(0x56) + byte_bits(0xFF, stop=0) + [1] * 2
    trace = receive(levels(bits, clocks), backend, clock_hz, baud)
    assert received(trace) == [0x12, 0x56] and sum(trace["framing"]) == 2


@BACKENDS
@pytest.mark.parametrize("length", [10, 11, 25, 47])
def test_a_break_is_one_framing_error(length, backend):
    clock_hz, baud = RATES[1]
    clocks = clock_hz / baud
    line = levels([0] * length + [1], clocks)
    trace = receive(line + line_of([0xC3], clocks), backend, clock_hz, baud)
    assert received(trace) == [0xC3] and sum(trace["framing"]) == 1
    # Active for all of it, from the middle of the first bit on.
    active = cycles_of(trace["active"][: len(line)])
    assert active == list(range(active[0], active[-1] + 1))
    assert abs(active[0] - clocks / 2) <= 3 and abs(active[-1] - length * clocks) <= 3


@BACKENDS
def test_active_from_start_bit_to_stop_bit(backend):
    clock_hz, baud = RATES[3]
    clocks = clock_hz / baud
    trace = receive(line_of([0xFF], clocks, idle=5), backend, clock_hz, baud)
    active = cycles_of(trace["active"])
    assert active == list(range(active[0], active[-1] + 1))
    assert abs(active[0] - clocks / 2) <= 3
    assert cycles_of(trace["valid"]) == [active[-1] + 1]
    assert 9.5 * clocks - 1 <= active[-1] <= 9.5 * clocks + 3


@BACKENDS
def test_reset_in_the_middle_of_a_byte(backend):
    """Nothing of it comes; what is left of it is a byte like any other."""
    clock_hz, baud = RATES[0]
    clocks = clock_hz // baud
    line = line_of([0xFF], clocks, idle=2) + line_of([0x81], clocks)
    trace = receive(line, backend, clock_hz, baud, reset=[4 * clocks])
    assert received(trace) == [0x81]
    broken = levels([0] * 20 + [1] * 12, clocks)
    trace = receive(broken + line_of([0x81], clocks), backend, clock_hz, baud, reset=[18 * clocks])
    assert received(trace) == [0xFE, 0x81] and sum(trace["framing"]) == 1
