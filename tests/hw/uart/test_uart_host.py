"""Everything between the line and the buses, clock by clock, on models of registers and memory."""

import random

import pytest

from hw.ports import RegisterBus
from hw.signals import bit, unsigned
from hw.uart.protocol import BYTE_BITS, REGISTER_BYTES, RESYNC_BITS, FrameStatus
from hw.uart.uart_host import uart_host
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import DeviceModel, bytes_on, levels, line_of, request, response

WORD, MEMORY = 4, 1024
OUTPUTS = [
    "tx", "bus_address", "bus_write", "bus_data", "bus_strobe", "memory_write", "memory_address", "memory_data",
]  # fmt: skip


def talk(lines, backend, clock_hz, baud, latency=4):
    """Put each line's levels on rx, wait for a response and its end; returns the tx levels and the model's spaces.

    A line of None stands for a reset of one cycle in the middle of the response to the line before.
    """
    rng = random.Random(1)
    registers, memory = bytearray(rng.randbytes(REGISTER_BYTES)), bytearray(rng.randbytes(MEMORY))
    names = ("reset", "rx", "tx", "busy", "memory_write")
    ports = {name: bit() for name in names} | {"bus": RegisterBus(), "memory_address": unsigned(8)}
    ports |= {name: unsigned(8 * WORD) for name in ("memory_data", "memory_q")}
    parameters = {"clock_hz": clock_hz, "baud": baud, "memory_latency": latency}
    sent, bus_line, memory_line, clocks = [], [0] * 2, [0] * latency, clock_hz / baud

    def step(seen, level, **inputs):
        place, word = 4 * seen["bus_address"], WORD * seen["memory_address"]
        bus_line.append(int.from_bytes(registers[place : place + 4], "little"))
        memory_line.append(int.from_bytes(memory[word : word + WORD], "little"))
        if seen["bus_write"]:
            registers[place : place + 4] = seen["bus_data"].to_bytes(4, "little")
        if seen["memory_write"]:
            memory[word : word + WORD] = seen["memory_data"].to_bytes(WORD, "little")
        return {"rx": level, "bus_q": bus_line[-2], "memory_q": memory_line[-latency]} | inputs

    def stimulus():
        yield {"reset": 1, "rx": 1}
        seen = yield {"reset": 0}
        for number, line in enumerate(lines):
            if line is None:
                continue
            out = []
            for level in line:
                seen = yield step(seen, level)
                out.append(seen["tx"])
            quiet = 0
            while quiet < 60 * clocks:
                broken = lines[number + 1 : number + 2] == [None] and len(out) - len(line) == int(60 * clocks)
                seen = yield step(seen, 1, reset=int(broken))
                out.append(seen["tx"])
                quiet = 0 if not seen["tx"] else quiet + 1
            sent.append(out)

    run(uart_host, ports, stimulus, OUTPUTS, backend, parameters)
    return sent, registers, memory


@BACKENDS
@pytest.mark.parametrize(
    ("clock_hz", "baud", "error"),
    [(8_000, 1_000, 0.02), pytest.param(50_000_000, 3_000_000, -0.02, marks=pytest.mark.slow)],
)
def test_requests_on_the_line(clock_hz, baud, error, backend):
    """Answers, registers and memory as of the model, whose host's clock is off; each answer follows within 3 bits."""
    rng, clocks = random.Random(2), clock_hz / baud
    asked = [
        (0, 0, 0, b""), (4, 64, 24, rng.randbytes(24)), (3, 56, 40, b""), (2, 0x100, 8, rng.randbytes(8)),
        (1, 0xFC, 16, b""), (6, 0, 0, b""), (3, 2, 4, b""), (9, 0, 0, b""), (5, 0, 0, b""), (1, 0x80, 4, b""),
    ]  # fmt: skip
    fill = random.Random(1)
    model = DeviceModel(bytearray(fill.randbytes(REGISTER_BYTES)), bytearray(fill.randbytes(MEMORY)), WORD)
    expected = []
    for item in asked:
        expected.append(response(*model.answer(*item)))
        if item[0] == 5:
            model.registers[0x80:0x84] = (1).to_bytes(4, "little")
    lines = [line_of(request(*item), clocks / (1 + error), idle=0) for item in asked]
    sent, registers, memory = talk(lines, backend, clock_hz, baud)
    assert [bytes_on(out, clocks) for out in sent] == expected
    assert (registers, memory) == (model.registers, model.memory)
    for line, out, item in zip(lines, sent, asked, strict=True):
        if not item[3]:
            assert out.index(0) - len(line) < 3 * clocks
        # Ten bits a byte, without a gap.
        last = max(clock for clock, level in enumerate(out) if not level)
        assert last - out.index(0) < len(expected[0]) * BYTE_BITS * clocks


@BACKENDS
def test_a_frame_with_a_wrong_bit(backend):
    """Is answered when the line is idle, and has changed nothing."""
    clocks, good = 8, request(4, 0, None, b"\1\2\3\4")
    wrong = good[:10] + bytes([good[10] ^ 4]) + good[11:]
    line = line_of(wrong, clocks, idle=RESYNC_BITS - 2)
    sent, _, memory = talk([line, line_of(request(3, 0, 4), clocks, idle=0)], backend, 8_000, 1_000)
    assert all(sent[0][: len(line)])
    assert bytes_on(sent[0], clocks) == response(FrameStatus.BAD_CRC)
    assert bytes_on(sent[1], clocks) == response(0, bytes(memory[:4]))


@BACKENDS
def test_half_duplex(backend):
    """What comes during a response is ignored, though it is a whole request; the next request is not."""
    clocks = 8
    ask = line_of(request(6), clocks, idle=2) + line_of(request(5), clocks, idle=0)
    sent, registers, _ = talk([ask[: len(ask) * 3 // 4], line_of(request(6), clocks, idle=0)], backend, 8_000, 1_000)
    answers = bytes_on(sent[0], clocks), bytes_on(sent[1], clocks)
    assert answers[0] == answers[1] == response(0, bytes(registers[0xA0:0xA4]))


@BACKENDS
def test_reset_in_a_response(backend):
    """The line is idle from the next cycle on, and the next request is answered."""
    clocks, ask = 8, line_of(request(6), 8, idle=0)
    sent, registers, _ = talk([ask, None, ask], backend, 8_000, 1_000)
    assert all(sent[0][len(ask) + 60 * clocks + 1 :]) and not all(sent[0])
    assert bytes_on(sent[1], clocks) == response(0, bytes(registers[0xA0:0xA4]))


@BACKENDS
def test_a_break_before_the_first_request(backend):
    clocks = 8
    line = levels([0] * 35 + [1] * 3, clocks) + line_of(request(0), clocks, idle=0)
    sent, registers, _ = talk([line], backend, 8_000, 1_000)
    assert bytes_on(sent[0], clocks) == response(0, bytes(registers[:68]))
