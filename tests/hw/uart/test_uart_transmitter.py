"""Bytes on the line, tick by tick."""

import random

import pytest

from hw.signals import bit, unsigned
from hw.uart.uart_transmitter import uart_transmitter
from tests.hw.flow import cycles_of
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import byte_bits, bytes_on


def transmit(script, backend, cycles, ticks, reset=()):
    """Trace of the transmitter. script: (earliest cycle, byte), each offered until it is taken."""
    ports = {name: bit() for name in ("reset", "tick", "valid", "ready", "tx")} | {"data": unsigned(8)}

    def stimulus():
        waiting, seen, offered = list(script), None, False
        for cycle in range(cycles):
            if offered and seen["ready"]:
                waiting.pop(0)
            offered = bool(waiting) and cycle >= waiting[0][0]
            inputs = {"reset": int(cycle < 2 or cycle in reset), "tick": int(cycle in ticks), "valid": int(offered)}
            seen = yield inputs | {"data": waiting[0][1] if offered else 0}
        assert not waiting

    return run(uart_transmitter, ports, stimulus, ["ready", "tx"], backend)


@BACKENDS
@pytest.mark.parametrize("period", [1, 2, 9])
def test_bytes_without_a_gap(period, backend):
    """Ten bits each, exactly, from the tick after the first is there."""
    message = [0x00, 0xFF, 0xA5, 0x5A, *random.Random(period).randbytes(6)]
    ticks = set(range(5, 2000, period))
    trace = transmit([(7, value) for value in message], backend, 110 * period + 20, ticks)
    first = trace["tx"].index(0, 2)
    assert first - 1 in ticks and 8 <= first <= 8 + period
    bits = [level for value in message for level in byte_bits(value)]
    gap = (1,) if period == 1 else ()  # the byte is taken in the cycle after ready, which here is a bit
    if gap:
        bits = [level for value in message for level in [*byte_bits(value), 1]]
    shown = trace["tx"][first : first + len(bits) * period : period]
    assert shown == bits
    assert all(trace["tx"][2:first]) and all(trace["tx"][first + len(bits) * period :])


@BACKENDS
def test_bytes_with_gaps_on_uneven_ticks(backend):
    rng, ticks, at = random.Random(3), set(), 3
    while at < 3000:
        ticks.add(at)
        at += rng.choice([8, 9])
    script = [(50 + 200 * number, value) for number, value in enumerate(rng.randbytes(12))]
    trace = transmit(script, backend, 2700, ticks)
    assert bytes_on(trace["tx"], 8.5) == bytes(value for _, value in script)
    edges = [cycle for cycle in range(3, 2700) if trace["tx"][cycle] != trace["tx"][cycle - 1]]
    assert {edge - 1 for edge in edges} <= ticks


@BACKENDS
def test_ready_with_the_stop_bit(backend):
    ticks = set(range(0, 400, 10))
    trace = transmit([(15, 0x00)], backend, 200, ticks)
    busy = [cycle for cycle, ready in enumerate(trace["ready"]) if not ready and cycle > 2]
    stop = max(cycle for cycle, level in enumerate(trace["tx"]) if not level) + 1
    assert busy == list(range(16, stop))


@BACKENDS
def test_reset_ends_a_byte(backend):
    ticks = set(range(0, 1000, 10))
    trace = transmit([(15, 0x00), (300, 0x81)], backend, 450, ticks, reset=[62])
    assert cycles_of(trace["tx"][63:300]) == list(range(237))
    assert bytes_on(trace["tx"][63:], 10) == b"\x81"
