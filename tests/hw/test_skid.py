"""The register slice, against a queue of two."""

import random

import pytest

from hw.signals import bit, unsigned
from hw.skid import skid
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

WIDTH = 9
OUTPUTS = ("ready", "out_valid", "q")


def play(backend, idle, stalls, cycles=300, resets=()):
    """Words in, words out, and cycle by cycle (ready, out_valid, word taken)."""
    rng, sent, received, trace = random.Random(3), [], [], []

    def stimulus():
        offered = None
        for cycle in range(cycles):
            if offered is None and either(rng, idle):
                offered = rng.getrandbits(WIDTH)
            inputs = {
                "reset": int(cycle == 0 or cycle in resets), "valid": int(offered is not None), "d": offered or 0,
                "out_ready": int(either(rng, stalls)),
            }  # fmt: skip
            seen = yield inputs
            trace.append((seen["ready"], seen["out_valid"]))
            if cycle == 0 or cycle in resets:
                sent[len(received) :] = []
                offered = None
                continue
            if seen["out_valid"] and inputs["out_ready"]:
                received.append(seen["q"])
            if inputs["valid"] and seen["ready"]:
                sent.append(offered)
                offered = None

    ports = {name: bit() for name in ("reset", "valid", "ready", "out_valid", "out_ready")}
    run(skid, ports | {"d": unsigned(WIDTH), "q": unsigned(WIDTH)}, stimulus, OUTPUTS, backend)
    return sent, received, trace


@FLOWS
def test_every_word_once_and_in_order(idle, stalls, backend):
    sent, received, _ = play(backend, idle, stalls)
    assert received == sent[: len(received)] and len(sent) - len(received) <= 2 and len(received) > 80


@BACKENDS
def test_a_word_a_cycle(backend):
    _, received, trace = play(backend, idle=False, stalls=False, cycles=50)
    assert len(received) == 50 - 3  # reset, ready, and the register
    assert trace[3:] == [(1, 1)] * 47


@BACKENDS
def test_reset_drops_what_is_held(backend):
    sent, received, _ = play(backend, idle=True, stalls=True, resets=(40, 41, 90))
    assert received == sent[: len(received)]


@BACKENDS
def test_q_shows_words_only(backend):
    """0 from a reset to the first word, and what is on d with no word never."""
    rng, words = random.Random(4), set()
    columns = {
        "reset": [int(cycle in (0, 60)) for cycle in range(120)],
        "d": [rng.randrange(1, 1 << WIDTH) for _ in range(120)],
        "valid": [int(cycle % 60 > 20 and rng.random() < 0.5) for cycle in range(120)], "out_ready": 1,
    }  # fmt: skip
    ports = {name: bit() for name in ("reset", "valid", "ready", "out_valid", "out_ready")}
    trace = run(skid, ports | {"d": unsigned(WIDTH), "q": unsigned(WIDTH)}, columns, OUTPUTS, backend)
    for cycle in range(1, 120):
        if columns["reset"][cycle - 1]:
            words = {0}
        elif columns["valid"][cycle - 1] and trace["ready"][cycle - 1]:
            words.add(columns["d"][cycle - 1])
        assert trace["q"][cycle] in words, cycle
    assert len(words) > 10


@BACKENDS
@pytest.mark.parametrize("held", [1, 2])
def test_ready_does_not_follow_out_ready_in_the_same_cycle(held, backend):
    """It is a register: full, it rises a cycle after a word has left."""
    out_ready = [1] * 2 + [0] * 5 + [1] + [0] * 3
    inputs = {"reset": [1] + [0] * 10, "valid": 1, "d": 5, "out_ready": out_ready}
    if held == 1:
        inputs["valid"] = [0, 0, 1] + [0] * 8
    ports = {name: bit() for name in ("reset", "valid", "ready", "out_valid", "out_ready")}
    trace = run(skid, ports | {"d": unsigned(WIDTH), "q": unsigned(WIDTH)}, inputs, OUTPUTS, backend)
    if held == 1:
        assert trace["ready"][2:] == [1] * 9 and trace["out_valid"][3:] == [1] * 5 + [0] * 3
    else:
        assert trace["ready"][4:] == [0] * 4 + [1, 0, 0] and trace["out_valid"][4:] == [1] * 7
