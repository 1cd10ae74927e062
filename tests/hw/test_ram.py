"""The simple dual-port RAM."""

import random

import pytest

from hw.ram import ram
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import IDLE
from tests.hw.harness import BACKENDS, run


@IDLE
@pytest.mark.parametrize("depth, width", [(1, 1), (2, 8), (16, 16), (24, 37), (64, 80)])
def test_reads_what_was_written_last(depth, width, idle, backend):
    rng = random.Random(depth)
    words, expected = [None] * depth, []
    inputs = {name: [] for name in ("write", "write_address", "d", "read_address")}
    for cycle in range(8 * depth + 60):
        write = int(cycle < depth or not idle or rng.random() < 0.4)
        write_address = cycle if cycle < depth else rng.randrange(depth)
        d = rng.getrandbits(width)
        # Reading the address being written is not defined.
        readable = [address for address in range(depth) if address != write_address or not write]
        read_address = rng.choice(readable or [0])
        expected.append(words[read_address] if readable else None)
        if write:
            words[write_address] = d
        for name, value in zip(inputs, (write, write_address, d, read_address), strict=True):
            inputs[name].append(value)
    bits = index_bits(depth)
    ports = {
        "write": bit(), "write_address": unsigned(bits), "d": unsigned(width),
        "read_address": unsigned(bits), "q": unsigned(width),
    }  # fmt: skip
    trace = run(ram, ports, inputs, ["q"], backend, {"depth": depth}, after=1)
    found = zip(trace["q"][1:], expected, strict=True)
    assert all(q == word for q, word in found if word is not None)
    assert depth == 1 or sum(word is not None for word in expected) > depth


@BACKENDS
def test_a_word_shows_in_the_cycle_after_the_write(backend):
    """Written at t, read at t + 1, on q at t + 2."""
    ports = {
        "write": bit(), "write_address": unsigned(2), "d": unsigned(8), "read_address": unsigned(2), "q": unsigned(8),
    }  # fmt: skip
    inputs = {
        "write": [1, 1, 1, 1, 0, 0, 0], "write_address": [0, 1, 2, 3, 0, 1, 0], "d": [10, 11, 12, 13, 99, 99, 99],
        "read_address": [3, 0, 1, 2, 3, 0, 1],
    }  # fmt: skip
    trace = run(ram, ports, inputs, ["q"], backend, {"depth": 4}, after=1)
    assert trace["q"][2:] == [10, 11, 12, 13, 10, 11]
