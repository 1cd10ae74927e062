"""The running row sum."""

import random

import pytest

from golden import latency
from golden.config import log2_ceil
from golden.formats import P_BITS, P_FRACTION, SHIFT_BITS
from hw.running_sum import running_sum
from hw.signals import bit, index_bits, unsigned
from tests.hw.harness import BACKENDS, run
from tests.hw.online_softmax import Row, visits

LOOP = 7  # cycles after which a row may come again
ADDEND_AT = 5  # read address to addend


def check(tiles, rows, lanes, bits, backend):
    """Drive (cycle of the read address, row, fresh, shift, addend); the cycles between carry noise."""
    rng = random.Random(0)
    end = max(cycle for cycle, *_ in tiles) + ADDEND_AT + 1
    addend_bits = P_BITS + log2_ceil(lanes)
    columns = {
        "read_row": [rng.randrange(rows) for _ in range(end)],
        "row": [rng.randrange(rows) for _ in range(end)],
        "valid": [0] * end,
        "fresh": [1] * end,
        "shift": [rng.randrange(64) for _ in range(end)],
        "addend": [rng.randint(0, lanes << P_FRACTION) for _ in range(end)],
    }
    states, expected = {}, []
    for cycle, row, fresh, shift, addend in tiles:
        state = states.setdefault(row, Row())
        state.fresh, state.shift = fresh, shift
        state.add(addend)
        columns["read_row"][cycle] = row
        columns["fresh"][cycle + 1], columns["shift"][cycle + 2] = fresh, shift
        columns["row"][cycle + ADDEND_AT], columns["addend"][cycle + ADDEND_AT] = row, addend
        columns["valid"][cycle + ADDEND_AT] = 1
        expected.append((cycle + ADDEND_AT + latency.SUM, state.total))
    ports = {
        "read_row": unsigned(index_bits(rows)), "row": unsigned(index_bits(rows)), "valid": bit(), "fresh": bit(),
        "shift": unsigned(SHIFT_BITS), "addend": unsigned(addend_bits), "total": unsigned(bits),
    }  # fmt: skip
    total = run(running_sum, ports, columns, ["total"], backend, {"rows": rows}, after=latency.SUM)["total"]
    for cycle, value in expected:
        assert total[cycle] == value, cycle
    return [value for _, value in expected]


@BACKENDS
@pytest.mark.parametrize("rows", [1, 8, 32])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_random(lanes, rows, backend):
    rng = random.Random(lanes)
    tiles, known = [], {}
    for cycle, row in visits(rows, 800, LOOP, seed=rows):
        # A sum of 32 bits in all holds any number of these tiles; a row that saw no key yet may have added nothing.
        fresh = row not in known or rng.random() < 0.05
        known[row] = True
        shift = 0 if fresh else rng.choice([0, 0, 0, 1, 1, 2, 3, rng.randrange(64)])
        addend = rng.choice([0, 1, lanes << P_FRACTION, rng.randint(0, lanes << P_FRACTION)])
        tiles.append((cycle, row, int(fresh), shift, addend))
    check(tiles, rows, lanes, 32, backend)


@BACKENDS
@pytest.mark.parametrize("lanes, max_keys", [(1, 16), (16, 256), (16, 1024)])
def test_up_to_the_largest_sum(lanes, max_keys, backend):
    """Every key of the longest head at p = 1 fills the format; then every shift brings it down again."""
    bits = P_BITS + log2_ceil(max_keys)
    tiles = [(LOOP * turn, 0, int(turn == 0), 0, lanes << P_FRACTION) for turn in range(max_keys // lanes)]
    assert max(check(tiles, 1, lanes, bits, backend)) == max_keys << P_FRACTION


@BACKENDS
@pytest.mark.parametrize("start", [(1 << 17) - 1, 3 << 15, (1 << 16) + 1])
def test_every_shift_rounds_half_up(start, backend):
    tiles = []
    for shift in range(64):
        tiles += [(12 * shift, 0, 1, 0, start), (12 * shift + LOOP, 0, 0, shift, shift & 1)]
    check(tiles, 1, 2, 20, backend)


@BACKENDS
@pytest.mark.parametrize("gap", [LOOP, LOOP + 1, LOOP + 5])
def test_one_row_again_and_again(gap, backend):
    rng = random.Random(gap)
    tiles = [(gap * turn, 0, int(turn == 0), turn % 3 if turn else 0, rng.randint(0, 1 << 18)) for turn in range(40)]
    check(tiles, 1, 4, 24, backend)
