"""What does not fit into a run is cut into pieces that together see what the whole would."""

from dataclasses import replace

import numpy as np
import pytest

from fpga.host.operands import place_operands
from fpga.host.split import pieces
from golden.config import NAMED
from golden.flash import visible_keys
from golden.job import Job, JobError
from golden.layout import Refusal, refusal

TINY = NAMED["tiny"]
SMALL = replace(TINY, max_keys=16, max_rows=8, memory_bytes=1024)


def job(n_q, n_kv, dim=5, value_dim=3, q_rows=8, **fields):
    return Job(n_q, n_kv, dim, value_dim, 40000, 20, q_rows, **fields)


def seen(whole, found):
    """How often each head's query met each key: [heads, n_q, n_kv]."""
    counts = np.zeros((whole.heads, whole.n_q, whole.n_kv), dtype=int)
    for piece in found:
        assert piece.kv_heads == slice(piece.heads.start // whole.group, (piece.heads.stop - 1) // whole.group + 1)
        counts[piece.heads, piece.queries, piece.keys] += visible_keys(piece.job)
    return counts


def covered(whole, found):
    counts = np.zeros((whole.heads, whole.n_q), dtype=int)
    for piece in found:
        counts[piece.heads, piece.queries] += 1
    return counts


def accepted(config, found):
    for piece in found:
        assert refusal(config, piece.job, place_operands(config, piece.job)) == Refusal.NONE


def random_job(rng):
    group = int(rng.choice([1, 2, 3, 7, 80], p=[0.3, 0.3, 0.2, 0.15, 0.05]))
    n_q, n_kv = (int(2 ** rng.uniform(0, 6.6)) for _ in range(2))
    return job(
        n_q, n_kv, int(rng.integers(1, 17)), int(rng.integers(1, 17)), heads=group * int(rng.integers(1, 4)),
        group=group, causal=bool(rng.integers(2)), state=bool(rng.integers(2)),
        window=int(2 ** rng.uniform(0, 7)) if rng.integers(2) else None,
        q_position=int(rng.integers(-n_q, n_kv + 40)),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_every_visible_key_is_seen_once_and_the_engine_accepts_each_run(seed):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        whole, memory = random_job(rng), int(rng.choice([256, 400, 1024]))
        found = pieces(SMALL, memory, whole)
        assert (seen(whole, found) == visible_keys(whole)).all(), whole
        accepted(replace(SMALL, memory_bytes=1024), found)
        split = any(piece.job.n_kv < whole.n_kv for piece in found)
        assert (covered(whole, found) == 1).all() or split or not found
        for piece in found:
            place = place_operands(SMALL, piece.job)
            assert place.scratch_address <= memory
            assert piece.job.state or not (whole.state or split)
            assert visible_keys(piece.job).any() or piece.job.n_kv == whole.n_kv


def test_what_fits_is_one_run_and_unchanged():
    whole = job(16, 16, causal=True, q_position=0, heads=6, group=3, window=5)
    (piece,) = pieces(TINY, TINY.memory_bytes, whole)
    assert piece.job == whole
    assert (piece.heads, piece.kv_heads, piece.queries, piece.keys) == (
        slice(0, 6), slice(0, 2), slice(0, 16), slice(0, 16),
    )  # fmt: skip


def test_all_keys_go_before_more_queries():
    # 16 keys of 12 bytes and 8 queries of 16 bytes.
    found = pieces(SMALL, 16 * 12 + 8 * 16, job(24, 16))
    assert [(piece.queries.start, piece.queries.stop) for piece in found] == [(0, 8), (8, 16), (16, 24)]
    assert all(piece.job.n_kv == 16 and not piece.job.state for piece in found)


def test_whole_keys_go_before_whole_blocks():
    found = pieces(SMALL, 16 * 12 + 3 * 16, job(7, 16), whole_keys=True)
    assert {piece.job.n_kv for piece in found} == {16} and max(piece.job.n_q for piece in found) == 2
    assert pieces(SMALL, 16 * 12 + 3 * 16, job(7, 16))[0].job.n_kv < 16


def test_pieces_with_the_same_keys_follow_each_other():
    found = pieces(SMALL, 512, job(40, 64, heads=4, group=2))
    places = [(piece.kv_heads.start, piece.keys.start) for piece in found]
    assert len(places) > len(set(places)) and places == sorted(places)


def test_parts_are_even():
    sizes = {piece.job.n_kv for piece in pieces(SMALL, 1024, job(1, 36))}
    assert sizes == {12}


def test_hidden_runs_are_left_out():
    found = pieces(SMALL, 1024, job(64, 64, causal=True))
    assert all(visible_keys(piece.job).any() for piece in found)
    assert len(found) == 10  # of 4 x 4, those on the diagonal and below


def test_many_heads():
    found = pieces(TINY, 1 << 24, job(1, 1, heads=600))
    assert [piece.job.heads for piece in found] == [256, 256, 88]
    found = pieces(TINY, 1 << 24, job(1, 1, heads=200, group=100))
    assert [(piece.job.heads, piece.job.group, piece.kv_heads.start) for piece in found] == [
        (64, 64, 0), (36, 36, 0), (64, 64, 1), (36, 36, 1),
    ]  # fmt: skip


def test_a_query_without_keys_still_runs():
    (piece,) = pieces(TINY, 4096, job(3, 4, causal=True, q_position=-5000))
    assert piece.job.q_position == -1024 and not visible_keys(piece.job).any()
    (piece,) = pieces(TINY, 4096, job(3, 4, window=2, q_position=5000))
    assert not visible_keys(piece.job).any()
    piece.job.check(TINY)


def test_what_cannot_be_split():
    with pytest.raises(JobError, match=r"^one query and 4 keys need 64 bytes, and there are 60 for a run; use a conf"):
        pieces(SMALL, 60, job(9, 9))
    with pytest.raises(JobError, match=r"^17 keys do not fit into one run \(max_keys 16\); give fewer, or let att"):
        pieces(SMALL, 1024, job(9, 17), whole_keys=True)
    with pytest.raises(JobError, match=r"^one query and 16 keys need 208 bytes, and there are 200 for a run"):
        pieces(SMALL, 200, job(9, 16), whole_keys=True)
    with pytest.raises(JobError, match=r"^the NAIVE run needs \d+ bytes and there are 256, and such runs are not spl"):
        pieces(SMALL, 256, job(9, 9, naive=True))
    with pytest.raises(JobError, match="head dimension must be between 1 and 16"):
        pieces(SMALL, 1024, job(9, 9, dim=17))
