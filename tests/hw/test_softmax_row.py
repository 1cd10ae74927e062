"""The online-softmax row pipeline, tile by tile."""

import random
from dataclasses import replace

import pytest

from golden import latency
from golden.config import NAMED
from golden.formats import MAX_BITS, P_BITS, SCALE_BITS, SHIFT_BITS
from hw.signals import bit, index_bits, signed, unsigned
from hw.softmax_row import softmax_row
from tests.hw.harness import BACKENDS, pack, run, unpack
from tests.hw.online_softmax import Row, visits

LOOP = 6  # cycles after which a row may come again
# One, four and eight lanes; Q8.8.
CONFIGS = {
    "one-lane": replace(NAMED["tiny"], array_keys=1, max_rows=8),
    "four-lanes": replace(NAMED["tiny"], max_rows=8),
    "eight-lanes": replace(NAMED["base"], max_rows=8),
    "q88": replace(NAMED["q88"], max_rows=8),
}
# Elaborating eight lanes takes longest: everything runs on them in the slow tests, a part of it in the fast ones.
EACH = pytest.mark.parametrize(
    "config",
    [pytest.param(each, id=name, marks=[pytest.mark.slow] * (each.array_keys > 4)) for name, each in CONFIGS.items()],
)
ALL = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
# A score of 1 << 12 is 1 in the exponent; fractions of z come from odd multiples of a small one.
UNIT = (1 << 15, 15)
AT_P = ["p", "p_row", "p_shift", "p_fresh", "saturated"]
AT_TOTAL = ["total", "total_maximum", "total_seen"]


def signals(config):
    lanes, rows = config.array_keys, index_bits(config.max_rows)
    return {
        "reset": bit(), "valid": bit(), "s": unsigned(lanes * config.score_bits), "row": unsigned(rows), "start": bit(),
        "visible": unsigned(lanes.bit_length()), "mantissa": unsigned(SCALE_BITS), "shift": unsigned(SHIFT_BITS),
        "p": unsigned(lanes * P_BITS), "p_valid": bit(), "p_row": unsigned(rows), "p_shift": unsigned(SHIFT_BITS),
        "p_fresh": bit(), "total": unsigned(config.sum_bits), "total_maximum": signed(MAX_BITS), "total_seen": bit(),
        "saturated": bit(),
    }  # fmt: skip


def stimulus(config, tiles, scale):
    """Columns for (cycle, row, start, scores, visible); the cycles between carry noise."""
    rng = random.Random(0)
    end = max(cycle for cycle, *_ in tiles) + 2
    columns = {
        "valid": [0] * end,
        "s": [rng.getrandbits(config.array_keys * config.score_bits) for _ in range(end)],
        "row": [rng.randrange(config.max_rows) for _ in range(end)],
        "start": [rng.randrange(2) for _ in range(end)],
        "visible": [rng.randint(0, config.array_keys) for _ in range(end)],
    }
    for cycle, row, start, s, visible in tiles:
        values = (1, pack(s, config.score_bits), row, start, visible)
        for name, value in zip(columns, values, strict=True):
            columns[name][cycle] = value
    return columns | {"mantissa": scale[0], "shift": scale[1], "reset": 0}


def check(config, tiles, scale, backend):
    """Run tiles (cycle, row, start, scores, visible) against the reference; returns the rows' states."""
    at_p = latency.softmax(config)
    at_total = at_p + latency.tree(config) + latency.SUM
    outputs = [*AT_P, "p_valid", *AT_TOTAL]
    columns = stimulus(config, tiles, scale)
    found = run(softmax_row, signals(config), columns, outputs, backend, {"config": config}, after=at_total)
    states = {}
    for cycle, row, start, s, visible in tiles:
        if start:
            states[row] = Row()
        state = states[row]
        p, saturated = state.tile(s, visible, *scale)
        expected = p, row, state.shift, state.fresh, saturated
        here = {name: found[name][cycle + at_p] for name in AT_P}
        here["p"] = unpack(here["p"], P_BITS, config.array_keys)
        assert here == dict(zip(AT_P, expected, strict=True)), cycle
        after = [found[name][cycle + at_total] for name in AT_TOTAL]
        # Until it has seen a key, a row has a sum of 0, as fresh makes it.
        assert after == [state.total, state.maximum, state.seen], cycle
    when = [cycle for cycle, valid in enumerate(found["p_valid"]) if valid]
    assert when == sorted(cycle + at_p for cycle, *_ in tiles)
    return states


def one_row(levels, config, gap, start=0, row=0):
    """Tiles of one row, all scores of a tile equal, `gap` cycles apart from a cycle on."""
    lanes = config.array_keys
    return [(start + gap * index, row, int(index == 0), [s] * lanes, lanes) for index, s in enumerate(levels)]


@BACKENDS
@EACH
@pytest.mark.parametrize("spread", [2, 12, 17])
def test_random(config, spread, backend):
    """Scores of small, middling and saturating spread, any number of visible keys, rows in any order."""
    rng, tiles, known = random.Random(spread), [], set()
    reach = 1 << min(spread + (config.score_bits - 20), config.score_bits - 1)
    scale = {2: UNIT, 12: (54321, 17), 17: ((1 << 16) - 1, 0)}[spread]
    for cycle, row in visits(config.max_rows, 200, LOOP, seed=spread):
        start = row not in known or rng.random() < 0.1
        known.add(row)
        s = [rng.randrange(-reach, reach) for _ in range(config.array_keys)]
        tiles.append((cycle, row, int(start), s, rng.choice([config.array_keys, rng.randint(0, config.array_keys)])))
    check(config, tiles, scale, backend)


@BACKENDS
@ALL
def test_growing_and_falling_maxima(config, backend):
    """One row, back as early as it may and a cycle later: its maximum grows by each step, stays, and falls behind."""
    one = 1 << 12
    growing = [step * step * one // 3 for step in range(-7, 8)]
    levels = [*growing, *growing[::-1], 0, -1, 1, one, one + 1, one - 1, 90 * one, 91 * one, -90 * one]
    tiles = one_row(levels, config, LOOP)
    check(config, tiles + one_row(levels, config, LOOP + 1, start=tiles[-1][0] + LOOP), UNIT, backend)


@BACKENDS
@EACH
def test_equal_scores(config, backend):
    """Each p is 2**-(m - z) with the same fraction; at a whole z it is 1, and l counts the keys."""
    whole, broken = ([level] * 9 for level in (5 << 12, (5 << 12) + 1))
    states = check(config, one_row(whole, config, LOOP) + one_row(broken, config, LOOP, 3, row=1), UNIT, backend)
    assert states[0].total == 9 * config.array_keys << 16


@BACKENDS
@EACH
def test_one_outlier(config, backend):
    """In every lane in turn: all others vanish beside a high one, and a low one vanishes beside the others."""
    tiles = []
    for height in (40 << 12, -(40 << 12)):
        for lane in range(config.array_keys):
            s = [0] * config.array_keys
            s[lane] = height
            tiles.append((len(tiles), len(tiles) % config.max_rows, 1, s, config.array_keys))
    check(config, tiles, UNIT, backend)


@BACKENDS
@ALL
def test_masked_rows(config, backend):
    """Rows that see nothing, in their first tiles, in later ones and at all, with large scores behind the mask."""
    lanes, top = config.array_keys, (1 << (config.score_bits - 1)) - 1
    tiles, cycle = [], 0
    for pattern in ("000", "010", "100", "001", "011", "110"):
        for index, shown in enumerate(pattern):
            seen = int(shown) * max(1, lanes // 2)
            s = [-(7 << 12) - 5] * seen + [top] * (lanes - seen)
            tiles.append((cycle, 3, int(index == 0), s, seen))
            cycle += LOOP
    check(config, tiles, ((1 << 16) - 1, 12), backend)


@BACKENDS
@EACH
@pytest.mark.parametrize("scale", [((1 << 16) - 1, 0), ((1 << 16) - 1, 12), (0, 0)])
def test_extremes(config, scale, backend):
    """Scores at both ends of their format, saturated and not, alone and together, hidden and visible."""
    low, high = -(1 << (config.score_bits - 1)), (1 << (config.score_bits - 1)) - 1
    lanes, tiles = config.array_keys, []
    for s in ([low] * lanes, [high] * lanes, [low] * (lanes - 1) + [high], [high] * (lanes - 1) + [low], [0] * lanes):
        for visible in (lanes, lanes - 1):
            for start in (1, 0):
                tiles.append((LOOP * len(tiles), 5, start, s, visible))
    check(config, tiles, scale, backend)


@BACKENDS
def test_reset_drops_the_rows_under_way(backend):
    config = CONFIGS["four-lanes"]
    at_p = latency.softmax(config)
    tiles = [(cycle, cycle % 8, 1, [cycle << 12] * 4, 4) for cycle in range(40)]
    columns = stimulus(config, tiles, UNIT) | {"reset": [int(cycle == 30) for cycle in range(41)]}
    found = run(softmax_row, signals(config), columns, ["p_valid"], backend, {"config": config}, after=at_p)["p_valid"]
    # What came in up to and with the reset's own cycle never leaves.
    assert found == [int(at_p <= cycle <= 30 or 30 + at_p < cycle < 40 + at_p) for cycle in range(41 + at_p)]
