"""The queue of records, against a deque."""

import random
from collections import deque

import pytest

from hw.queue import queue
from hw.signals import bit, unsigned
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

WIDTH = 11


class Script:
    """Inputs cycle by cycle, and beside them the oldest word that the queue should show (None: empty)."""

    def __init__(self, depth):
        self.depth, self.words = depth, deque()
        self.inputs = {name: [] for name in ("reset", "push", "d", "pop")}
        self.heads = []
        self.cycle(reset=1)

    def cycle(self, push=0, d=0, pop=0, reset=0):
        for name, value in {"reset": reset, "push": push, "d": d, "pop": pop}.items():
            self.inputs[name].append(value)
        self.heads.append(self.words[0] if self.words else None)
        if pop:
            self.words.popleft()
        if push:
            self.words.append(d)
        if reset:
            self.words.clear()
        assert len(self.words) <= self.depth

    def check(self, backend):
        ports = {name: bit() for name in ("reset", "push", "pop", "valid")}
        ports |= {"d": unsigned(WIDTH), "q": unsigned(WIDTH)}
        trace = run(queue, ports, self.inputs, ["q", "valid"], backend, {"depth": self.depth})
        shown = [q if valid else None for q, valid in zip(*trace.values(), strict=True)]
        assert shown[1:] == self.heads[1:]  # registers have no value before the first reset


@FLOWS
@pytest.mark.parametrize("depth", [2, 8, 64])
def test_random_traffic(depth, idle, stalls, backend):
    rng, script = random.Random(depth), Script(depth)
    for _ in range(10 * depth + 200):
        pop = bool(script.words) and either(rng, stalls)
        push = (len(script.words) < depth or pop) and either(rng, idle)
        script.cycle(push=int(push), d=rng.getrandbits(WIDTH), pop=int(pop))
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("depth", [2, 4, 64])
def test_filled_and_emptied(depth, backend):
    """The pointers wrap at a different place each time; a full queue takes a push with a pop."""
    rng, script = random.Random(depth), Script(depth)
    for round_ in range(3):
        for _ in range(depth):
            script.cycle(push=1, d=rng.getrandbits(WIDTH))
        script.cycle()
        for _ in range(round_ + 1):
            script.cycle(push=1, d=rng.getrandbits(WIDTH), pop=1)
        script.cycle()
        while script.words:
            script.cycle(pop=1)
        script.cycle(d=rng.getrandbits(WIDTH))
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("held", [1, 3, 4])
def test_reset_in_the_middle(held, backend):
    """Reset empties the queue, whatever it holds and even if a word is pushed or popped with it."""
    rng, script = random.Random(held), Script(4)
    for push, pop in ((0, 0), (1, 0), (0, 1), (1, 1)):
        for _ in range(held):
            script.cycle(push=1, d=rng.getrandbits(WIDTH))
        script.cycle(reset=1, push=push, d=rng.getrandbits(WIDTH), pop=pop)
        script.cycle()
        for _ in range(5):
            script.cycle(push=1, d=rng.getrandbits(WIDTH))
            script.cycle(pop=1)
    script.check(backend)


@pytest.mark.parametrize("depth", [1, 3, 128])
def test_refuses_other_depths(depth):
    with pytest.raises(AssertionError, match=f"power of two, 2 to 64, not {depth}"):
        Script(depth).check("myhdl")
