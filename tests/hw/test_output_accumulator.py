"""The P.V accumulator."""

import random
from dataclasses import replace

import pytest

from golden import latency
from golden.config import NAMED
from golden.formats import P_BITS, SHIFT_BITS, half_up
from hw.output_accumulator import output_accumulator
from hw.signals import bit, index_bits, unsigned
from hw.systolic_array import psum_bits
from tests.hw.harness import BACKENDS, pack, run, unpack
from tests.hw.online_softmax import visits

EARLY = latency.OUTPUT_READ_AHEAD
# Few rows and chunks, so that addresses come back soon.
SMALL = {"max_rows": 4, "max_dim": 16, "max_keys": 64}
CONFIGS = {
    "int8": replace(NAMED["tiny"], **SMALL),
    "q88": replace(NAMED["q88"], **SMALL),
    "one-lane": replace(NAMED["lanes16"], **SMALL),
    "one-address": replace(NAMED["tiny"], max_rows=1, max_dim=4, max_keys=64),
}
EACH = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def ends(config):
    """Smallest and largest sum of one tile's products, with p at most 1."""
    top = config.array_keys << (P_BITS - 1 + config.element_bits - 1)
    return -top, top - (config.array_keys << (P_BITS - 1))


def check(config, tiles, backend):
    """Drive (cycle of the early address, row, chunk, fresh, shift, partial lanes); the cycles between carry noise."""
    rng = random.Random(0)
    end = max(cycle for cycle, *_ in tiles) + EARLY + 1
    lanes, bits = config.array_depth, config.accumulator_bits
    rows, chunks = config.max_rows, config.max_chunks
    partial_bits = psum_bits(1 << (P_BITS - 1 + config.element_bits - 1), config.array_keys)
    columns = {
        "early_row": [rng.randrange(rows) for _ in range(end)],
        "early_chunk": [rng.randrange(chunks) for _ in range(end)],
        "fresh": [1] * end,
        "shift": [rng.randrange(64) for _ in range(end)],
        "partial": [pack([rng.choice(ends(config)) for _ in range(lanes)], partial_bits) for _ in range(end)],
        "row": [rng.randrange(rows) for _ in range(end)],
        "chunk": [rng.randrange(chunks) for _ in range(end)],
        "valid": [0] * end,
    }
    sums, expected = {}, []
    for cycle, row, chunk, fresh, shift, partial in tiles:
        old = [0] * lanes if fresh else half_up(sums[row, chunk], shift).tolist()
        sums[row, chunk] = [before + new for before, new in zip(old, partial, strict=True)]
        columns["early_row"][cycle], columns["early_chunk"][cycle] = row, chunk
        columns["fresh"][cycle + 1], columns["shift"][cycle + 1] = fresh, shift
        values = {"partial": pack(partial, partial_bits), "row": row, "chunk": chunk, "valid": 1}
        for name, value in values.items():
            columns[name][cycle + EARLY] = value
        expected.append((cycle + EARLY + latency.ACCUMULATE, sums[row, chunk]))
    ports = {name: unsigned(index_bits(rows)) for name in ("early_row", "row")}
    ports |= {name: unsigned(index_bits(chunks)) for name in ("early_chunk", "chunk")}
    ports |= {"fresh": bit(), "valid": bit(), "shift": unsigned(SHIFT_BITS)}
    ports |= {"partial": unsigned(lanes * partial_bits), "o": unsigned(lanes * bits)}
    o = run(output_accumulator, ports, columns, ["o"], backend, {"config": config}, after=latency.ACCUMULATE)["o"]
    for cycle, values in expected:
        assert unpack(o[cycle], bits, lanes, signed=True) == values, cycle
    return [values for _, values in expected]


@BACKENDS
@EACH
def test_random(config, backend):
    """Every address at its shortest distance and at longer ones; a head's worth of tiles, then fresh again."""
    rng, (low, high) = random.Random(1), ends(config)
    tiles, visited = [], {}
    for cycle, address in visits(config.max_rows * config.max_chunks, 400, latency.ROW_LOOP, seed=3):
        row, chunk = divmod(address, config.max_chunks)
        count = visited.get(address, 0)
        fresh = count == 0 or rng.random() < 0.1
        visited[address] = (1 if fresh else count + 1) % (config.max_keys // config.array_keys)
        shift = 0 if fresh else rng.choice([0, 0, 1, 2, 3, rng.randrange(64)])
        partial = [rng.choice([low, high, 0, rng.randint(low, high)]) for _ in range(config.array_depth)]
        tiles.append((cycle, row, chunk, int(fresh), shift, partial))
    check(config, tiles, backend)


@BACKENDS
@EACH
def test_every_shift(config, backend):
    """Of large, small and odd values of both signs, after exactly 7 cycles."""
    rng, (low, high) = random.Random(4), ends(config)
    tiles, cycle = [], 0
    for shift in range(64):
        around = [1 << shift, (1 << shift) >> 1, 3 << shift >> 1, -(1 << shift >> 1), -(3 << shift >> 1), -1, 1]
        choices = [low, high, *(value for value in around if low <= value <= high)]
        start = [rng.choice(choices) for _ in range(config.array_depth)]
        tiles.append((cycle, 0, 0, 1, rng.randrange(64), start))
        tiles.append((cycle + latency.ROW_LOOP, 0, 0, 0, shift, [rng.choice([0, 1, -1])] * config.array_depth))
        cycle += 2 * latency.ROW_LOOP
    check(config, tiles, backend)


@BACKENDS
@EACH
@pytest.mark.parametrize("lane", [0, -1])
def test_the_longest_head_at_both_ends(config, lane, backend):
    """Every key at p = 1 and V at an end of its format: the format's own end, in all lanes and in one alone."""
    low, high = ends(config)
    tiles, cycle = [], 0
    for value in (low, high):
        for others in (value, 0):
            partial = [others] * config.array_depth
            partial[lane] = value
            for tile in range(config.max_keys // config.array_keys):
                tiles.append((cycle, 0, 0, int(tile == 0), 0, partial))
                cycle += latency.ROW_LOOP
    sums = check(config, tiles, backend)
    assert min(map(min, sums)) == -(1 << (config.accumulator_bits - 1))


@BACKENDS
def test_cycles_without_valid_change_nothing(backend):
    tiles = [(0, 0, 0, 1, 5, [1, -2, 3, -4]), (80, 0, 0, 0, 1, [10, 20, -30, -40]), (87, 0, 0, 0, 0, [0] * 4)]
    check(CONFIGS["one-address"], tiles, backend)
