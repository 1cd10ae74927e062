import random

import pytest

from golden.config import NAMED
from golden.job import Job
from golden.schedule import load_order, walk

TINY = NAMED["tiny"]


def job(n_q, n_kv, q_rows, causal=False, q_position=0):
    return Job(n_q, n_kv, 4, 4, 1 << 15, 10, q_rows, causal, q_position)


def visible(run, query, key):
    return not run.causal or key <= query + run.q_position


def draw(seed):
    rng = random.Random(seed)
    config = NAMED[rng.choice(["tiny", "base", "wide"])]
    n_q, n_kv = rng.randint(1, 40), rng.randint(1, 70)
    position = rng.choice([0, n_kv - n_q, rng.randint(-50, 90)])
    return config, job(n_q, n_kv, rng.randint(1, config.max_rows), rng.random() < 0.7, position)


@pytest.mark.parametrize("seed", range(100))
def test_against_brute_force(seed):
    config, run = draw(seed)
    width = config.array_keys
    covered, final, order = [], [], []
    for tile in walk(config, run):
        start = tile.block * run.q_rows
        keys = range(tile.tile * width, tile.tile * width + tile.keys)
        assert tile.rows == min(run.q_rows, run.n_q - start)
        assert 0 <= tile.first_row < tile.rows
        assert tile.streamed == tile.rows - tile.first_row > 0
        assert 1 <= tile.keys == min(width, run.n_kv - keys.start)
        if run.causal:
            # Row r of the block sees `diagonal + r` keys of this tile, bounded by the tile.
            for r in range(tile.rows):
                seen = sum(visible(run, start + r, key) for key in keys)
                assert seen == min(max(tile.diagonal + r, 0), tile.keys)
        for query in range(start + tile.first_row, start + tile.rows):
            covered += [(query, key) for key in keys if visible(run, query, key)]
            # A row streams only where it sees a key, except that every row passes through its first tile.
            assert tile.tile == 0 or visible(run, query, keys.start)
        final += range(start + tile.first_row, start + tile.final_end)
        assert tile.finals == tile.final_end - tile.first_row
        order.append((tile.block, tile.tile, tile.last))

    pairs = [(query, key) for query in range(run.n_q) for key in range(run.n_kv) if visible(run, query, key)]
    assert sorted(covered) == pairs
    assert final == list(range(run.n_q))
    # Blocks in order, tiles of a block from 0 without a gap, `last` on the last one only.
    assert [block for block, tile, _ in order if tile == 0] == list(range(-(-run.n_q // run.q_rows)))
    for here, after in zip(order, [*order[1:], (order[-1][0] + 1, 0, None)], strict=True):
        assert after[:2] == ((here[0] + 1, 0) if here[2] else (here[0], here[1] + 1))


@pytest.mark.parametrize("seed", range(100))
def test_a_row_is_final_in_the_last_tile_it_sees(seed):
    config, run = draw(seed)
    for tile in walk(config, run):
        for r in range(tile.first_row, tile.final_end):
            query = tile.block * run.q_rows + r
            last_key = max((key for key in range(run.n_kv) if visible(run, query, key)), default=0)
            assert last_key // config.array_keys == tile.tile


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
