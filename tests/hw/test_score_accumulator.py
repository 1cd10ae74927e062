"""The partial-sum accumulator of Q.K^T."""

import random
from dataclasses import replace

import pytest

from golden import latency
from golden.config import NAMED
from hw.score_accumulator import score_accumulator
from hw.signals import bit, index_bits, unsigned
from hw.systolic_array import psum_bits
from tests.hw.harness import BACKENDS, pack, run, unpack
from tests.hw.online_softmax import visits

LOOP = 4  # cycles after which a row may come again
EARLY = 2  # row to partial
# One lane; one lane an element; Q8.8; sixteen lanes.
CONFIGS = {
    "one-lane": replace(NAMED["tiny"], array_keys=1),
    "tiny": NAMED["tiny"],
    "lanes16": NAMED["lanes16"],
    "one-row": replace(NAMED["tiny"], max_rows=1),
    "q88-256": replace(NAMED["q88"], max_dim=256),
}
EACH = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def partial_bound(config):
    return config.array_depth << (2 * config.element_bits - 2)


def check(config, chunks, backend):
    """Drive (cycle of the early row, row, first, partial lanes); the cycles between carry noise."""
    rng = random.Random(0)
    end = max(cycle for cycle, *_ in chunks) + EARLY + 1
    bits = psum_bits(1 << (2 * config.element_bits - 2), config.array_depth)
    lanes, score_bits, rows = config.array_keys, config.score_bits, config.max_rows
    columns = {
        "partial": [rng.getrandbits(lanes * bits) for _ in range(end)],
        "early_row": [rng.randrange(rows) for _ in range(end)],
        "row": [rng.randrange(rows) for _ in range(end)],
        "first": [1] * end,
        "valid": [0] * end,
    }
    sums, expected = {}, []
    for cycle, row, first, partial in chunks:
        sums[row] = [new + (0 if first else old) for new, old in zip(partial, sums.get(row, partial), strict=True)]
        columns["early_row"][cycle] = row
        columns["first"][cycle + 1] = first
        at = cycle + EARLY
        columns["row"][at], columns["valid"][at], columns["partial"][at] = row, 1, pack(partial, bits)
        expected.append((at + latency.SCORE_SUM, sums[row]))
    ports = {
        "partial": unsigned(lanes * bits), "early_row": unsigned(index_bits(rows)), "row": unsigned(index_bits(rows)),
        "first": bit(), "valid": bit(), "s": unsigned(lanes * score_bits),
    }  # fmt: skip
    s = run(score_accumulator, ports, columns, ["s"], backend, {"config": config}, after=1)["s"]
    for cycle, values in expected:
        assert unpack(s[cycle], score_bits, lanes, signed=True) == values, cycle


@BACKENDS
@EACH
def test_random(config, backend):
    """Rows of one to the most chunks, at the shortest distance and longer ones."""
    rng, bound = random.Random(1), partial_bound(config)
    chunks, left = [], {}
    for cycle, row in visits(config.max_rows, 400, LOOP, seed=2):
        first = left.get(row, 0) == 0
        if first:
            left[row] = rng.randint(1, config.max_chunks)
        left[row] -= 1
        partial = [rng.choice([-bound, bound, 0, rng.randint(-bound, bound)]) for _ in range(config.array_keys)]
        chunks.append((cycle, row, int(first), partial))
    check(config, chunks, backend)


@BACKENDS
@EACH
@pytest.mark.parametrize("lane", [0, -1])
def test_extremes(config, lane, backend):
    """The largest and the smallest sums the format must hold, in all lanes and in one alone, a row every 4 cycles."""
    bound, chunks, cycle = partial_bound(config), [], 0
    for value in (bound, -bound):
        for alone in (False, True):
            partial = [0 if alone else value] * config.array_keys
            partial[lane] = value
            for chunk in range(config.max_chunks):
                chunks.append((cycle, 0, int(chunk == 0), partial))
                cycle += LOOP
    check(config, chunks, backend)


@BACKENDS
def test_cycles_without_valid_change_nothing(backend):
    chunks = [(0, 0, 1, [1, -2, 3, -4]), (60, 0, 0, [10, 20, -30, -40]), (64, 0, 0, [0, 0, 0, 0])]
    check(replace(NAMED["tiny"], max_rows=1), chunks, backend)
