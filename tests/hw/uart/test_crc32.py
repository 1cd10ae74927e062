"""CRCs against zlib."""

import random
import zlib

import pytest

from hw.signals import bit, unsigned
from hw.uart.crc32 import crc32
from tests.hw.harness import BACKENDS, run

CYCLES = 9


def play(messages, backend, spare=0):
    """Feed messages, each after a clear; byte_out, whole and working 9 cycles after each byte.

    A byte of None stands for the inverse of byte_out, which is then fed.
    """
    ports = {name: bit() for name in ("clear", "feed", "working", "whole")}
    ports |= {"data": unsigned(8), "byte_out": unsigned(8)}
    results = []

    def stimulus():
        seen = {"byte_out": 0}
        for message in messages:
            seen = yield {"clear": 1, "feed": 0}
            for value in message:
                seen = yield {"clear": 0, "feed": 0}
                assert not seen["working"]
                results.append((seen["byte_out"], seen["whole"]))
                value = seen["byte_out"] ^ 0xFF if value is None else value
                seen = yield {"feed": 1, "data": value}
                for cycle in range(CYCLES - 1):
                    seen = yield {"feed": 0, "data": 0xAA}
                    assert seen["working"], cycle
                for _ in range(spare):
                    yield {}
            seen = yield {}
            results.append((seen["byte_out"], seen["whole"]))

    run(crc32, ports, stimulus, ["working", "byte_out", "whole"], backend)
    return results


@BACKENDS
@pytest.mark.parametrize("spare", [0, 3])
def test_against_zlib(spare, backend):
    """The low byte of the CRC after every byte, of messages of all lengths from 0."""
    rng = random.Random(1)
    messages = [b"", b"123456789", bytes(8), b"\xff" * 5, *(rng.randbytes(length) for length in (1, 2, 40))]
    expected = [
        zlib.crc32(message[:length]) & 0xFF for message in messages for length in range(len(message) + 1)
    ]
    assert [low for low, _ in play(messages, backend, spare)] == expected


@BACKENDS
def test_sends_its_own_bytes(backend):
    """Fed with the inverse of its low byte, it shows the bytes of the CRC one after the other."""
    for message in (b"123456789", random.Random(2).randbytes(30)):
        results = play([[*message, None, None, None, None]], backend)
        assert bytes(low for low, _ in results[len(message) : -1]) == zlib.crc32(message).to_bytes(4, "little")


@BACKENDS
def test_whole_only_with_the_right_crc(backend):
    """Any bit wrong, in the message or the CRC, a byte missing, or one too many is seen; a clear forgets it."""
    message = random.Random(3).randbytes(6)
    good = message + zlib.crc32(message).to_bytes(4, "little")
    messages = [good, good[:-1], good + b"\0"]
    for place in range(8 * len(good)):
        wrong = bytearray(good)
        wrong[place // 8] ^= 1 << place % 8
        messages.append(bytes(wrong))
    results = play([*messages, good], backend)
    at, verdicts = -1, []
    for item in [*messages, good]:
        at += len(item) + 1
        verdicts.append(results[at][1])
    assert verdicts == [1, 0, 0, *[0] * (8 * len(good)), 1]
    assert results[len(good) + 1 + len(good) - 1 + 1 + len(good)][1] == 1  # the one too many comes after a whole frame
