"""The online-softmax row pipeline, tile by tile."""

import random
from dataclasses import replace

import pytest

from golden import latency
from golden.config import NAMED
from golden.formats import MAX_BITS, P_BITS, SCALE_BITS, SHIFT_BITS, Z_BITS
from golden.naive import P_LIMIT, S_BITS, S_SHIFT
from hw.signals import bit, index_bits, signed, unsigned
from hw.softmax_row import softmax_row
from tests.hw.harness import BACKENDS, pack, run, unpack
from tests.hw.online_softmax import Row, scaled, visits

LOOP = 7  # cycles after which a row may come again
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
AT_P = ["p", "p_row", "p_shift", "p_fresh"]
AT_TOTAL = ["total", "total_maximum", "total_seen"]
# How a row comes: replayed, keeps_maximum, replayed_p.
Z, S, S_AGAIN, P = (0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)
SCORED_BITS = Z_BITS - S_SHIFT + 1


def signals(config):
    lanes, rows = config.array_keys, index_bits(config.max_rows)
    bits = ("reset", "valid", "start", "replayed", "keeps_maximum", "replayed_p", "p_valid", "p_fresh", "total_seen")
    return {name: bit() for name in bits} | {
        "s": unsigned(lanes * config.score_bits), "row": unsigned(rows), "visible": unsigned(lanes),
        "mantissa": unsigned(SCALE_BITS), "shift": unsigned(SHIFT_BITS), "stored_s": unsigned(lanes * S_BITS),
        "stored_p": unsigned(lanes * S_BITS), "scored": unsigned(lanes * SCORED_BITS), "out_of_range": unsigned(lanes),
        "p": unsigned(lanes * P_BITS), "p_row": unsigned(rows), "p_shift": unsigned(SHIFT_BITS),
        "total": unsigned(config.sum_bits), "total_maximum": signed(MAX_BITS),
    }  # fmt: skip


def stimulus(config, tiles, scale):
    """Columns for (cycle, row, start, lanes, visible, kind); the cycles between carry noise."""
    rng = random.Random(0)
    lanes, at_p = config.array_keys, latency.softmax(config)
    end = max(cycle for cycle, *_ in tiles) + 2 + at_p
    widths = {
        "s": lanes * config.score_bits, "row": index_bits(config.max_rows), "start": 1, "visible": lanes,
        "replayed": 1, "keeps_maximum": 1, "replayed_p": 1, "stored_s": lanes * S_BITS, "stored_p": lanes * S_BITS,
    }  # fmt: skip
    columns = {name: [rng.getrandbits(width) for _ in range(end)] for name, width in widths.items()}
    columns["valid"] = [0] * end
    for cycle, row, start, values, visible, kind in tiles:
        flags = dict(zip(("replayed", "keeps_maximum", "replayed_p"), kind, strict=True))
        for name, value in {"valid": 1, "row": row, "start": start, "visible": visible, **flags}.items():
            columns[name][cycle] = value
        if kind == Z:
            columns["s"][cycle] = pack(values, config.score_bits)
        elif kind == P:
            columns["stored_p"][cycle + at_p] = pack(values, S_BITS)
        else:
            columns["stored_s"][cycle + latency.SCALE] = pack(values, S_BITS)
    return columns | {"mantissa": scale[0], "shift": scale[1], "reset": [1, *[0] * (end - 1)]}


def step(state, start, values, visible, kind, scale):
    """The row's p after this tile, its z, and a bit for each visible lane of it that was saturated."""
    if kind == P:
        return state.stored_tile(values, visible, bool(start)), None, 0
    if kind != Z:
        again = bool(start) if kind == S_AGAIN else None
        return state.tile([value << S_SHIFT for value in values], visible, again), None, 0
    z, over = scaled(values, *scale)
    return state.tile(z, visible), z, sum(int(flag) << lane for lane, flag in enumerate(over)) & visible


def check(config, tiles, scale, backend):
    """Run tiles (cycle, row, start, lanes, visible, kind) against the reference; returns the rows' states."""
    # Cycle 0 is the reset.
    tiles = [(tile[0] + 1, *tile[1:]) if len(tile) == 6 else (tile[0] + 1, *tile[1:], Z) for tile in tiles]
    at_p = latency.softmax(config)
    at_total = at_p + latency.tree(config) + latency.SUM
    outputs = [*AT_P, "p_valid", *AT_TOTAL, "scored", "out_of_range"]
    columns = stimulus(config, tiles, scale)
    found = run(softmax_row, signals(config), columns, outputs, backend, {"config": config}, after=at_total)
    states = {}
    for cycle, row, start, values, visible, kind in tiles:
        if start and kind in (Z, S):
            states[row] = Row()
        state = states[row]
        p, z, over = step(state, start, values, visible, kind, scale)
        here = {name: found[name][cycle + at_p] for name in AT_P}
        here["p"] = unpack(here["p"], P_BITS, config.array_keys)
        assert here == dict(zip(AT_P, (p, row, state.shift, state.fresh), strict=True)), cycle
        if kind == Z:
            scored = unpack(found["scored"][cycle + latency.SCALE], SCORED_BITS, config.array_keys, signed=True)
            assert scored == [value >> S_SHIFT - 1 for value in z], cycle
            assert found["out_of_range"][cycle + latency.SCALE] == over, cycle
        after = [found[name][cycle + at_total] for name in AT_TOTAL]
        # Until it has seen a key, a row has a sum of 0, as fresh makes it.
        # With m known, l adds up p once more, means nothing, and may wrap around.
        total = state.total % (1 << config.sum_bits) if kind == S_AGAIN else state.total
        assert after == [total, state.maximum, state.seen], cycle
    when = [cycle for cycle, valid in enumerate(found["p_valid"]) if valid]
    assert when == sorted(cycle + at_p for cycle, *_ in tiles)
    return states


def one_row(levels, config, gap, start=0, row=0):
    """Tiles of one row, all scores of a tile equal, `gap` cycles apart from a cycle on."""
    lanes, shown = config.array_keys, (1 << config.array_keys) - 1
    return [(start + gap * index, row, int(index == 0), [s] * lanes, shown) for index, s in enumerate(levels)]


@BACKENDS
@EACH
@pytest.mark.parametrize("spread", [2, 12, 17])
def test_random(config, spread, backend):
    """Scores of small, middling and saturating spread, any set of visible keys, rows in any order."""
    rng, tiles, known = random.Random(spread), [], set()
    reach = 1 << min(spread + (config.score_bits - 20), config.score_bits - 1)
    scale = {2: UNIT, 12: (54321, 17), 17: ((1 << 16) - 1, 0)}[spread]
    for cycle, row in visits(config.max_rows, 200, LOOP, seed=spread):
        start = row not in known or rng.random() < 0.1
        known.add(row)
        s = [rng.randrange(-reach, reach) for _ in range(config.array_keys)]
        everything = (1 << config.array_keys) - 1
        tiles.append((cycle, row, int(start), s, rng.choice([everything, rng.randint(0, everything)])))
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
            tiles.append((len(tiles), len(tiles) % config.max_rows, 1, s, (1 << config.array_keys) - 1))
    check(config, tiles, UNIT, backend)


@BACKENDS
@ALL
def test_masked_rows(config, backend):
    """Rows that see nothing, in their first tiles, in later ones and at all, with large scores behind the mask."""
    lanes, top = config.array_keys, 1 << (config.score_bits - 2)
    tiles, cycle = [], 0
    for pattern in ("000", "010", "100", "001", "011", "110"):
        for index, shown in enumerate(pattern):
            seen = int(shown) * max(1, lanes // 2)
            s = [-(7 << 12) - 5] * seen + [top] * (lanes - seen)
            tiles.append((cycle, 3, int(index == 0), s, (1 << seen) - 1))
            cycle += LOOP
    check(config, tiles, ((1 << 16) - 1, 12), backend)


@BACKENDS
@EACH
@pytest.mark.parametrize("scale", [((1 << 16) - 1, 0), ((1 << 16) - 1, 12), (0, 0)])
def test_extremes(config, scale, backend):
    """Scores at both ends of their range, saturated and not, alone and together, hidden and visible."""
    low, high = -(1 << (config.score_bits - 2)), 1 << (config.score_bits - 2)
    lanes, tiles = config.array_keys, []
    for s in ([low] * lanes, [high] * lanes, [low] * (lanes - 1) + [high], [high] * (lanes - 1) + [low], [0] * lanes):
        for visible in ((1 << lanes) - 1, (1 << lanes) - 2):
            for start in (1, 0):
                tiles.append((LOOP * len(tiles), 5, start, s, visible))
    check(config, tiles, scale, backend)


def naive_block(config, rows, tiles, draw, rng):
    """Every row's tiles of S, again with m known, and then of P; rows in turn."""
    s = [[draw() for _ in range(tiles)] for _ in range(rows)]
    shown = [[rng.randint(0, (1 << config.array_keys) - 1) for _ in range(tiles)] for _ in range(rows)]
    states, gap, stored = [Row() for _ in range(rows)], max(rows, LOOP), {}
    for phase, kind in enumerate((S, S_AGAIN, P)):
        for tile in range(tiles):
            for row, state in enumerate(states):
                values, visible = stored[row, tile] if kind == P else s[row][tile], shown[row][tile]
                yield (phase * tiles + tile) * gap + row, row, int(tile == 0), values, visible, kind
                if kind == P:
                    continue
                again = tile == 0 if kind == S_AGAIN else None
                p = state.tile([value << S_SHIFT for value in values], visible, again)
                # Keys that a tile lacks, and hidden ones, hold anything.
                stored[row, tile] = [
                    min(value, P_LIMIT) if visible >> lane & 1 else rng.getrandbits(S_BITS)
                    for lane, value in enumerate(p)
                ]


@BACKENDS
@EACH
@pytest.mark.parametrize("spread", [5, 1 << 11, 1 << 15])
def test_replayed_rows(config, spread, backend):
    """S and P in place of z and p: m from S, p with m known, and l from P; extreme values among them."""
    rng = random.Random(spread)

    def draw():
        return [rng.choice((-spread, spread - 1, rng.randrange(-spread, spread))) for _ in range(config.array_keys)]

    check(config, list(naive_block(config, 5, 4, draw, rng)), UNIT, backend)


@pytest.mark.parametrize("seen", [False, True])
@BACKENDS
def test_the_longest_replayed_row(backend, seen):
    """As many keys as there are, each with a p of 1: what l holds before P comes means nothing."""
    config = replace(NAMED["tiny"], max_keys=16, max_rows=8)
    visible = 15 * seen
    tiles = [
        (LOOP * (4 * phase + tile), 2, int(tile == 0), [P_LIMIT if kind == P else 0] * 4, visible, kind)
        for phase, kind in enumerate((S, S_AGAIN, P))
        for tile in range(4)
    ]
    states = check(config, tiles, UNIT, backend)
    assert states[2].total == 16 * P_LIMIT * seen


@BACKENDS
def test_reset_drops_the_rows_under_way(backend):
    config = CONFIGS["four-lanes"]
    at_p = latency.softmax(config)
    tiles = [(cycle, cycle % 8, 1, [cycle << 12] * 4, 15, Z) for cycle in range(40)]
    columns = stimulus(config, tiles, UNIT)
    columns["reset"] = [int(cycle == 30) for cycle in range(len(columns["valid"]))]
    found = run(softmax_row, signals(config), columns, ["p_valid"], backend, {"config": config})["p_valid"]
    # What came in up to and with the reset's own cycle never leaves.
    assert found == [int(at_p <= cycle <= 30 or 30 + at_p < cycle < 40 + at_p) for cycle in range(41 + at_p)]
