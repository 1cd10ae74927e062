"""Responses, whatever the transmitter and the source of the payload take their time for."""

import random

import pytest

from hw.signals import bit, unsigned
from hw.uart.frame_writer import frame_writer
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import response

OUTPUTS = ["take", "sent", "sent_valid", "done"]


def ports():
    names = ("reset", "send", "data_valid", "take", "sent_valid", "sent_ready", "done")
    signals = {name: bit() for name in names} | {"status": unsigned(3), "left": unsigned(11)}
    return signals | {"data": unsigned(8), "sent": unsigned(8)}


def write(responses, backend, idle=False, stalls=False, reset_after=None):
    """The bytes sent for each (status, payload). reset_after: so many bytes of the first, which then ends."""
    rng, sent = random.Random(5), []

    def stimulus():
        yield {"reset": 1, "sent_ready": 0, "data_valid": 0, "send": 0}
        yield {"reset": 0}
        for number, (status, payload) in enumerate(responses):
            out, left, taken = bytearray(), list(payload), False
            seen = yield {"send": 0}
            assert not seen["sent_valid"] and not seen["done"]
            yield {"send": 1, "status": status, "left": len(left), "sent_ready": 0}
            for _ in range(200 * (len(payload) + 8)):
                there = bool(left) and either(rng, idle, 0.1)
                ready = either(rng, stalls, 0.1)
                inputs = {"send": 0, "left": len(left), "data_valid": int(there), "sent_ready": ready}
                seen = yield inputs | {"data": left[0] if there else rng.getrandbits(8)}
                if seen["take"]:
                    assert taken
                    left.pop(0)
                taken = there and ready
                if ready and seen["sent_valid"]:
                    out.append(seen["sent"])
                if seen["done"] or (number == 0 and len(out) == reset_after):
                    break
            if number == 0 and len(out) == reset_after:
                yield {"reset": 1, "sent_ready": 0}
                yield {"reset": 0}
            sent.append(bytes(out))
            assert not left or reset_after

    run(frame_writer, ports(), stimulus, OUTPUTS, backend)
    return sent


@FLOWS
def test_responses(backend, idle, stalls):
    """Of every status and lengths from 0; done with the last byte."""
    rng = random.Random(1)
    responses = [(status, b"") for status in range(8)]
    responses += [(0, rng.randbytes(length)) for length in (1, 2, 3, 4, 5, 68, 30)]
    assert write(responses, backend, idle, stalls) == [response(*item) for item in responses]


@pytest.mark.parametrize("backend", ["myhdl", pytest.param("icarus", marks=pytest.mark.slow)])
def test_the_longest_response(backend):
    payload = random.Random(2).randbytes(1024)
    assert write([(0, payload), (7, b"")], backend) == [response(0, payload), response(7)]


@BACKENDS
@pytest.mark.parametrize("sent", [1, 3, 5, 9, 12])
def test_reset_in_a_response(sent, backend):
    first, second = (0, b"abcdef"), (4, b"")
    assert write([first, second], backend, reset_after=sent) == [response(*first)[:sent], response(*second)]
