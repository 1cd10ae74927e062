"""Requests out of streams of bytes: whole ones, and all that can be wrong with one."""

import random
from dataclasses import dataclass

import pytest

from hw.signals import bit, unsigned
from hw.uart.frame_reader import Request, frame_reader
from hw.uart.protocol import MAX_PAYLOAD, REQUEST, RESYNC_BITS, TIMEOUT_BITS, Command, FrameStatus
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import request

BYTE_CYCLES = 11  # from one byte to the next; a tick comes in each cycle, but one in six
FRAMING = "framing"  # in a stream: a byte with a wrong stop bit


@dataclass
class Seen:
    """A request as the block held it; cycles: from the last byte to ended."""

    error: FrameStatus
    command: int
    length: int
    address: int
    payload: bytes
    ticks: int


def read(streams, backend, answer_cycles=3):
    """What comes of each stream of bytes; numbers above 255 are pauses of that many ticks less 256.

    A stream is one frame, which is answered a little later; so the next may begin.
    """
    ports = {name: bit() for name in ("reset", "valid", "framing", "active", "tick", "resume", "ended")}
    ports |= {"data": unsigned(8), "request": Request(), "error": unsigned(3)}
    ports |= {"payload_address": unsigned(10), "payload": unsigned(8)}
    outputs = ["ended", "error", "request_command", "request_length", "request_address", "payload"]
    results, cycles = [], {"count": 0, "ticks": 0}

    def step(**inputs):
        tick = int(cycles["count"] % 6 != 0)
        cycles["count"] += 1
        cycles["ticks"] += tick
        return {"valid": 0, "framing": 0, "resume": 0, "tick": tick} | inputs

    def stimulus():
        yield step(reset=1)
        seen = yield step(reset=0)
        for stream in streams:
            for value in stream:
                assert not seen["ended"]
                if value != FRAMING and value > 255:
                    start = cycles["ticks"]
                    while cycles["ticks"] < start + value - 256:
                        seen = yield step(active=0)
                    continue
                for _ in range(BYTE_CYCLES - 1):
                    seen = yield step(active=1)
                if value == FRAMING:
                    seen = yield step(active=0, framing=1, data=REQUEST)
                else:
                    seen = yield step(active=0, valid=1, data=value)
            start = cycles["ticks"]
            while not seen["ended"]:
                assert cycles["ticks"] < start + 2 * TIMEOUT_BITS, "no end"
                seen = yield step(active=0)
            ticks = cycles["ticks"] - start
            payload, length = [], seen["request_length"]
            for place in range(min(length, MAX_PAYLOAD)):
                address = (length - place) % MAX_PAYLOAD
                yield step(payload_address=address)
                yield step()
                payload.append((yield step())["payload"])
            for _ in range(answer_cycles):
                held = yield step()
                assert held["ended"] and held["error"] == seen["error"]
            results.append(
                Seen(
                    FrameStatus(seen["error"]), seen["request_command"], length, seen["request_address"],
                    bytes(payload), ticks,
                )
            )  # fmt: skip
            seen = yield step(resume=1)
            seen = yield step()

    run(frame_reader, ports, stimulus, outputs, backend)
    return results


def pause(ticks):
    return 256 + ticks


@BACKENDS
def test_requests(backend):
    """Of every command and of commands that there are not, with and without payload."""
    rng, streams, expected = random.Random(1), [], []
    for command in [*Command, 7, 0xA5, 255]:
        for length in (0, 1, 2, 7, 64):
            address = rng.getrandbits(32)
            payload = rng.randbytes(length) if command in (2, 4) else b""
            streams.append(request(command, address, length, payload))
            expected.append((FrameStatus.OK, command, length, address, payload))
    results = read(streams, backend)
    for found, (error, command, length, address, payload) in zip(results, expected, strict=True):
        assert (found.error, found.command, found.length, found.address) == (error, command, length, address)
        assert command not in (2, 4) or found.payload == payload
        assert found.ticks <= 12


@pytest.mark.parametrize("backend", ["myhdl", pytest.param("icarus", marks=pytest.mark.slow)])
def test_the_longest_payload(backend):
    payload = random.Random(2).randbytes(MAX_PAYLOAD)
    first, second = read([request(4, 0, None, payload), request(4, 4, None, payload[:3])], backend)
    assert (first.error, first.payload) == (FrameStatus.OK, payload)
    assert (second.error, second.payload) == (FrameStatus.OK, payload[:3])


@BACKENDS
def test_garbage_between_frames(backend):
    """Bytes that do not begin a frame, wrong stop bits and pauses of any length mean nothing."""
    rng = random.Random(3)
    garbage = [value for value in rng.randbytes(60) if value != REQUEST]
    streams = [
        [*garbage, *request(0)],
        [FRAMING, *request(6)],
        [pause(3 * TIMEOUT_BITS), *garbage[:5], pause(100), FRAMING, *request(4, 8, None, b"12")],
        [0x5A, 0x00, 0xFF, *request(5)],
    ]
    assert [(found.error, found.command) for found in read(streams, backend)] == [(0, 0), (0, 6), (0, 4), (0, 5)]


@BACKENDS
@pytest.mark.parametrize("share", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_wrong_bit(share, backend):
    """One bit of a short frame wrong: never a frame that is right. Afterwards a good one is.

    share: one bit in so many.
    """
    good = request(4, 0x01020304, None, b"\x99")
    streams = []
    for place in range(8 + share // 2, 8 * len(good), share):
        wrong = bytearray(good)
        wrong[place // 8] ^= 1 << place % 8
        streams += [bytes(wrong), good]
    results = read(streams, backend)
    for found in results[0::2]:
        assert found.error in (FrameStatus.BAD_CRC, FrameStatus.BAD_LENGTH, FrameStatus.TIMEOUT)
    assert {1} <= {found.error for found in results[0::2]} <= {1, 3, 5}
    assert all(found.error == 0 and found.payload == b"\x99" for found in results[1::2])


@BACKENDS
@pytest.mark.parametrize(("command", "length"), [(0, MAX_PAYLOAD + 1), (2, MAX_PAYLOAD + 1), (4, 2048), (9, 0xFFFF)])
def test_a_length_beyond_the_buffer(command, length, backend):
    """Answered when the line is idle, however much follows, and whatever it holds."""
    rng = random.Random(length)
    stream = [*request(command, 0, length), *rng.randbytes(30), *request(0), pause(RESYNC_BITS - 1), *request(1)]
    found, after = read([stream, request(6)], backend)
    assert found.error == FrameStatus.BAD_LENGTH
    assert RESYNC_BITS <= found.ticks <= RESYNC_BITS + 3
    assert (after.error, after.command) == (0, 6)


@BACKENDS
def test_resynchronises_when_the_line_is_idle(backend):
    """After a wrong CRC everything is ignored, good frames too, until the line is idle long enough."""
    wrong = request(0)[:-1] + bytes([request(0)[-1] ^ 1])
    short, after = RESYNC_BITS - 1, request(6)
    found = read([[*wrong, pause(short), *request(1), pause(short), FRAMING, pause(short), 1], after], backend)
    assert [(item.error, item.command) for item in found] == [(FrameStatus.BAD_CRC, 0), (0, 6)]
    assert RESYNC_BITS <= found[0].ticks <= RESYNC_BITS + 3


@BACKENDS
@pytest.mark.parametrize("cut", [1, 2, 4, 8, 9, 12, 15])
def test_a_frame_cut_short(cut, backend):
    """TIMEOUT_BITS after its last byte, and no earlier; a pause that is shorter does no harm."""
    frame = request(2, 0x100, None, b"abcd")
    short = pause(TIMEOUT_BITS - 3)
    found = read([frame[:cut], [*frame[:cut], short, *frame[cut:]], [*frame[:cut], short, frame[cut]], frame], backend)
    last = FrameStatus.OK if cut == 15 else FrameStatus.TIMEOUT
    assert [item.error for item in found] == [FrameStatus.TIMEOUT, 0, last, 0]
    assert TIMEOUT_BITS <= found[0].ticks <= TIMEOUT_BITS + 4
    assert found[1].payload == found[3].payload == b"abcd"


@BACKENDS
@pytest.mark.parametrize("place", [1, 3, 7, 8, 11, 12, 15])
def test_a_wrong_stop_bit_in_a_frame(place, backend):
    frame = request(2, 0x100, None, b"abcd")
    stream = [*frame[:place], FRAMING, *frame[place + 1 :]]
    found, after = read([stream, frame], backend)
    assert (found.error, after.error) == (FrameStatus.FRAMING, 0)
    assert RESYNC_BITS <= found.ticks <= RESYNC_BITS + 3


@BACKENDS
def test_ignores_what_comes_before_the_answer(backend):
    """From the end of a frame to resume, and a first byte in the very cycle after it is the next frame's."""
    ports = {name: bit() for name in ("reset", "valid", "framing", "active", "tick", "resume", "ended")}
    ports |= {"data": unsigned(8), "request": Request(), "error": unsigned(3)}
    ports |= {"payload_address": unsigned(10), "payload": unsigned(8)}

    def send(frame):
        for value in frame:
            yield {"valid": 1, "data": value, "resume": 0}
            for _ in range(11):
                seen = yield {"valid": 0}
        return seen

    def stimulus():
        yield {"reset": 1, "tick": 1}
        yield {"reset": 0}
        for gap in range(12):
            seen = yield from send(request(3, 4, 8))
            assert seen["ended"] and seen["request_command"] == 3
            seen = yield from send([*request(1), 0xA5])
            assert seen["ended"] and seen["request_command"] == 3
            yield {"valid": 1, "data": 0xA5}
            for _ in range(gap):  # the byte may still be on its way through the CRC
                yield {"valid": 0}
            yield {"valid": 0, "resume": 1}
            seen = yield from send(request(6))
            assert seen["ended"] and (seen["request_command"], seen["error"]) == (6, 0)
            yield {"resume": 1}
            yield {"resume": 0}

    run(frame_reader, ports, stimulus, ["ended", "error", "request_command"], backend)


@BACKENDS
def test_reset_in_a_frame(backend):
    """What was begun is forgotten: the rest is garbage, and the next frame is right."""
    frame = request(2, 0x100, None, b"abcd")
    ports = {name: bit() for name in ("reset", "valid", "framing", "active", "tick", "resume", "ended")}
    ports |= {"data": unsigned(8), "request": Request(), "error": unsigned(3)}
    ports |= {"payload_address": unsigned(10), "payload": unsigned(8)}
    wrong = frame[:-1] + bytes([frame[-1] ^ 1])

    def stimulus():
        yield {"reset": 1, "tick": 1}
        for stream in (frame[:1], frame[:5], frame[:12], frame[:-1], frame, wrong):
            for value in stream:
                yield {"reset": 0, "valid": 1, "data": value}
                for _ in range(11):
                    yield {"valid": 0}
            yield {"reset": 1}
            seen = yield {"reset": 0}
            assert not seen["ended"]
            for value in frame:
                seen = yield {"valid": 1, "data": value}
                assert not seen["ended"]
                for _ in range(11):
                    seen = yield {"valid": 0}
            assert seen["ended"] and seen["error"] == 0 and seen["request_address"] == 0x100
            yield {"resume": 1}
            yield {"resume": 0}

    run(frame_reader, ports, stimulus, ["ended", "error", "request_address"], backend)
