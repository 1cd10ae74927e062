"""The running row maximum."""

import random

import pytest

from golden import latency
from golden.formats import MAX_BITS, SHIFT_BITS
from hw.running_maximum import running_maximum
from hw.signals import bit, index_bits, signed, unsigned
from tests.hw.harness import BACKENDS, run
from tests.hw.online_softmax import Row, visits

LOOP = 4  # cycles after which a row may come again
SHIFT_AT = 4  # top to shift, fresh and seen
HIDDEN = -(1 << (MAX_BITS - 1))
TOP = (1 << (MAX_BITS - 1)) - 1


def check(tiles, rows, backend):
    """Drive (cycle, row, start, top or None where no key is visible); the cycles between carry noise."""
    rng = random.Random(0)
    tiles = [(cycle + 1, *others) for cycle, *others in tiles]  # the row's address comes a cycle early
    end = max(cycle for cycle, *_ in tiles) + 1
    columns = {
        "top": [rng.randint(HIDDEN, TOP) for _ in range(end)],
        "row": [rng.randrange(rows) for _ in range(end)],
        "start": [rng.randrange(2) for _ in range(end)],
        "valid": [0] * end,
        "any_visible": [rng.randrange(2) for _ in range(end)],
    }
    early = [rng.randrange(rows) for _ in range(end)]
    states, expected = {}, []
    for cycle, row, start, top in tiles:
        if start:
            states[row] = Row()
        state = states[row]
        state.rise(None if top is None else (top + 1) >> 1)
        values = (HIDDEN if top is None else top, row, start, 1, top is not None)
        for name, value in zip(columns, values, strict=True):
            columns[name][cycle] = value
        early[cycle - 1] = row
        expected.append((cycle, state.maximum, state.shift, state.fresh, state.seen))
    columns["early_row"] = early
    ports = {
        "early_row": unsigned(index_bits(rows)), "top": signed(MAX_BITS),
        "row": unsigned(index_bits(rows)), "start": bit(), "valid": bit(),
        "any_visible": bit(), "maximum": signed(MAX_BITS), "shift": unsigned(SHIFT_BITS), "fresh": bit(), "seen": bit(),
    }  # fmt: skip
    outputs = ["maximum", "shift", "fresh", "seen"]
    found = run(running_maximum, ports, columns, outputs, backend, {"rows": rows}, after=SHIFT_AT)
    for cycle, *values in expected:
        late = [cycle + latency.MAXIMUM] + [cycle + SHIFT_AT] * 3
        assert [found[name][at] for name, at in zip(outputs, late, strict=True)] == values, cycle


@BACKENDS
@pytest.mark.parametrize("rows", [1, 4, 32])
@pytest.mark.parametrize("reach", [3, 140, TOP])
def test_random(reach, rows, backend):
    """Small steps, shifts around the clamp, and the whole range; rows that see nothing, first or later."""
    rng = random.Random(reach)
    tiles, known = [], set()
    for cycle, row in visits(rows, 600, LOOP, seed=rows):
        start = row not in known or rng.random() < 0.15
        known.add(row)
        top = None if rng.random() < 0.25 else rng.randint(max(HIDDEN + 1, -reach), reach)
        tiles.append((cycle, row, int(start), top))
    check(tiles, rows, backend)


@BACKENDS
@pytest.mark.parametrize("gap", [LOOP, LOOP + 1])
@pytest.mark.parametrize(
    "tops",
    [
        list(range(-20, 20)),  # growing, through both parities
        list(range(20, -20, -1)),  # falling
        [-9] * 8,
        [2 * m for m in (-100, -37, 26, 89, 90, 153, 217, 218, 281, 345)],  # rises of 63, 64, 1
        [HIDDEN + 1, HIDDEN + 2, TOP],  # from the lowest to the highest: the largest difference
        [TOP, HIDDEN + 1, TOP],
        [None, None, -41, None, -40, None],  # nothing visible at first: m stays 0, below zero later
        [-41, None, -50, -40, -39],
        [0, -1, 1, 0],
    ],
)
def test_one_row(tops, gap, backend):
    check([(gap * index, 0, int(index == 0), top) for index, top in enumerate(tops)], 2, backend)


@BACKENDS
def test_rows_are_kept_apart(backend):
    """Every row once a round, its maximum its own."""
    rows = 64
    turns = [(turn, row) for turn in range(3) for row in range(rows)]
    check([(rows * turn + row, row, int(turn == 0), 8 * row - 255 + 100 * turn) for turn, row in turns], rows, backend)


@BACKENDS
def test_cycles_without_valid_change_nothing(backend):
    """The noise between two visits addresses the same row."""
    check([(0, 0, 1, -7), (40, 0, 0, None), (80, 0, 0, -9), (84, 0, 0, 5)], 1, backend)
