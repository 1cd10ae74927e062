import random

import pytest

from golden.config import NAMED
from golden.job import Job
from golden.schedule import NAIVE_PHASES, Phase, load_order, walk

TINY = NAMED["tiny"]


def job(n_q, n_kv, q_rows, causal=False, q_position=0, **fields):
    return Job(n_q, n_kv, 4, 4, 1 << 15, 10, q_rows, causal, q_position, **fields)


def visible(run, row, key):
    """Whether a row of a KV head, queries times heads of the group, sees a key."""
    position = row // run.group + run.q_position
    return (not run.causal or key <= position) and (run.window is None or key > position - run.window)


def draw(seed):
    rng = random.Random(seed)
    config = NAMED[rng.choice(["tiny", "base", "wide"])]
    n_q, n_kv, group = rng.randint(1, 40), rng.randint(1, 70), rng.choice([1, 1, 2, 3, 7])
    position = rng.choice([0, n_kv - n_q, rng.randint(-50, 90)])
    return config, job(
        n_q, n_kv, rng.randint(1, config.max_rows), rng.random() < 0.7, position,
        heads=group * rng.choice([1, 1, 2]), group=group, window=rng.choice([None, None, 1, rng.randint(2, 80)]),
        naive=rng.random() < 0.3,
    )  # fmt: skip


def walks(config, run):
    """Tiles by (phase, KV head, block)."""
    found = {}
    for tile in walk(config, run):
        found.setdefault((tile.phase, tile.kv_head, tile.start), []).append(tile)
    return found


@pytest.mark.parametrize("seed", range(200))
def test_against_brute_force(seed):
    config, run = draw(seed)
    width, everything = config.array_keys, [(row, key) for row in range(run.rows) for key in range(run.n_kv)]
    pairs = [pair for pair in everything if visible(run, *pair)]
    found = walks(config, run)
    phases = NAIVE_PHASES if run.naive else (Phase.FLASH,)
    starts = range(0, run.rows, run.q_rows)
    assert list(found) == [(phase, head, start) for head in range(run.kv_heads) for start in starts for phase in phases]
    for phase in phases:
        for head in range(run.kv_heads):
            covered, final = [], []
            for start in starts:
                covered += covered_by(config, run, start, found[phase, head, start], width)
                final += [start + r for t in found[phase, head, start] for r in range(t.first_row, t.final_end)]
            assert sorted(covered) == pairs
            assert final == list(range(run.rows))
    blocks = [tile.block for tile in walk(config, run)]
    assert blocks == sorted(blocks) and len(set(blocks)) == len(found) // len(phases)


def covered_by(config, run, start, tiles, width):
    """Checks the tiles of one block; returns the visible pairs that they compute."""
    covered, streamed = [], set()
    assert [tile.tile for tile in tiles] == list(range(tiles[0].tile, tiles[0].tile + len(tiles)))
    assert [tile.first for tile in tiles] == [True] + [False] * (len(tiles) - 1)
    assert [tile.last for tile in tiles] == [False] * (len(tiles) - 1) + [True]
    for tile in tiles:
        keys = range(tile.tile * width, tile.tile * width + tile.keys)
        assert tile.rows == min(run.q_rows, run.rows - start)
        assert 0 <= tile.first_row < tile.row_end <= tile.rows
        assert (tile.streamed, tile.finals) == (tile.row_end - tile.first_row, tile.final_end - tile.first_row)
        assert 1 <= tile.keys == min(width, run.n_kv - keys.start)
        query, member = divmod(start + tile.first_row, run.group)
        assert (tile.diagonal, tile.member) == (run.q_position + query + 1 - keys.start, member)
        rows = set(range(tile.first_row, tile.row_end))
        assert {row for row in rows if row < tile.fresh_from} == rows & streamed
        assert tile.again == (len(rows) if tile.first else len(rows & streamed))
        streamed |= rows
        for row in rows:
            seen = [(start + row, key) for key in keys if visible(run, start + row, key)]
            covered += seen
            # A row streams only where it sees a key, but for one tile of a row that sees none at all.
            assert seen or not any(visible(run, start + row, key) for key in range(run.n_kv)) or tile.first
    assert streamed == set(range(tiles[0].rows))
    return covered


@pytest.mark.parametrize("seed", range(100))
def test_a_row_is_final_in_the_last_tile_it_sees(seed):
    config, run = draw(seed)
    for tile in walk(config, run):
        for row in range(tile.start + tile.first_row, tile.start + tile.final_end):
            seen = [key for key in range(run.n_kv) if visible(run, row, key)]
            if seen:
                assert seen[-1] // config.array_keys == tile.tile


def test_causal_skips_tiles_above_the_diagonal():
    found = [(t.block, t.tile, t.first_row, t.final_end, t.last) for t in walk(TINY, job(8, 8, 4, causal=True))]
    assert found == [(0, 0, 0, 4, True), (1, 0, 0, 0, False), (1, 1, 0, 4, True)]


def test_rows_leave_a_wide_block_one_tile_after_the_other():
    found = [(t.tile, t.first_row, t.final_end) for t in walk(TINY, job(12, 12, 12, causal=True))]
    assert found == [(0, 0, 4), (1, 4, 8), (2, 8, 12)]


def test_decode_sees_everything():
    found = [(t.tile, t.keys, t.final_end) for t in walk(TINY, job(1, 10, 1, causal=True, q_position=9))]
    assert found == [(0, 4, 0), (1, 4, 0), (2, 2, 1)]


@pytest.mark.parametrize("q_position, final_ends", [(-3, [6]), (-2, [6]), (-1, [5, 6]), (-6, [6]), (-40, [6])])
def test_fully_masked_rows_are_final_in_tile_0(q_position, final_ends):
    tiles = list(walk(TINY, job(6, 6, 6, causal=True, q_position=q_position)))
    assert [tile.final_end for tile in tiles] == final_ends
    assert tiles[0].first_row == 0


@pytest.mark.parametrize("causal", [False, True])
def test_reads_in_order(causal):
    found = [(kind, t.block, t.tile) for kind, t in load_order(TINY, job(8, 8, 4, causal))]
    first = [("k", 0, 0), ("q", 0, 0), ("v", 0, 0)]
    skipped = [] if causal else [("k", 0, 1), ("v", 0, 1)]
    second = [("k", 1, 0), ("q", 1, 0), ("v", 1, 0), ("k", 1, 1), ("v", 1, 1)]
    assert found == first + skipped + second
