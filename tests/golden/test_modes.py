"""Heads, groups, windows, NAIVE and merged parts against float64 attention and plain loops."""

import math
from dataclasses import replace

import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import flash, visible_keys
from golden.job import Job, encode_scale
from golden.merge import merge
from golden.naive import naive
from golden.oracle import attention
from golden.predict import predict
from golden.tables import exp2

TINY, Q88 = NAMED["tiny"], NAMED["q88"]
V_STEP = 256  # output LSBs


def operands(job, rng, high=40):
    shapes = (job.heads, job.n_q, job.dim), (job.kv_heads, job.n_kv, job.dim), (job.kv_heads, job.n_kv, job.value_dim)
    return [rng.integers(-high, high + 1, shape) for shape in shapes]


def job(n_q, n_kv, dim=5, value_dim=6, scale=0.002, **fields):
    return Job(n_q, n_kv, dim, value_dim, *encode_scale(scale * math.log2(math.e)), n_q, **fields)


def exact(run, q, k, v, scale=0.002):
    """Float64 attention of each head, in V steps."""
    return np.stack([
        attention(q[h], k[h // run.group], v[h // run.group], scale, run.causal, run.q_position, run.window)
        for h in range(run.heads)
    ])  # fmt: skip


@pytest.mark.parametrize("schedule", [flash, naive])
@pytest.mark.parametrize(
    "fields",
    [
        {"heads": 4, "group": 2},
        {"heads": 3, "group": 3, "causal": True, "q_position": 4},
        {"causal": True, "window": 3},
        {"window": 4, "q_position": 9},
        {"heads": 2, "causal": True, "q_position": -3, "window": 2},
    ],
)
def test_against_float_attention(schedule, fields):
    run = job(7, 19, **fields)
    q, k, v = operands(run, np.random.default_rng(1))
    found = schedule(TINY, run, q, k, v)
    bound = 0.02 if schedule is flash else 0.2
    assert np.abs(found.output / V_STEP - exact(run, q, k, v)).max() < bound
    assert (found.seen == visible_keys(run).any(axis=1)).all()
    assert not found.output[~found.seen].any() and not found.total[~found.seen].any()


def test_a_group_is_its_heads_one_by_one():
    run = job(6, 11, heads=4, group=2, causal=True, q_position=5)
    q, k, v = operands(run, np.random.default_rng(2), 127)
    whole = flash(TINY, run, q, k, v)
    for head in range(4):
        one = flash(TINY, replace(run, heads=1, group=1), q[head], k[head // 2], v[head // 2])
        for name in ("output", "maximum", "total", "seen"):
            assert (getattr(whole, name)[head] == getattr(one, name)).all()


@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (False, 3), (True, 1), (True, 200)])
def test_who_sees_whom(causal, window):
    run = job(5, 9, causal=causal, window=window, q_position=2)
    for query in range(5):
        for key in range(9):
            late, early = causal and key > query + 2, window is not None and key < query + 2 - window + 1
            assert visible_keys(run)[query, key] == (not late and not early)
    assert (visible_keys(run, slice(4, 7)) == visible_keys(run)[:, 4:7]).all()


@pytest.mark.parametrize("config", [TINY, Q88])
def test_naive_against_a_loop(config):
    """S as s8.8, P as 16 bits, sums without rescaling, written out entry by entry."""
    shift = 11 if config is TINY else 18
    run = replace(job(4, 7, causal=True, q_position=2), scale_mantissa=40000, scale_shift=shift)
    q, k, v = operands(run, np.random.default_rng(3), (1 << (config.element_bits - 1)) - 1)
    found = naive(config, run, q, k, v)
    saturations = 0
    for i in range(4):
        s, keys = [], range(min(7, i + 3))
        for j in keys:
            score = sum(int(a) * int(b) for a, b in zip(q[0, i], k[0, j], strict=True))
            z = (score * 40000 + (1 << run.scale_shift - 1)) >> run.scale_shift
            clamped = max(-(1 << 31), min((1 << 31) - 1, z))
            rounded = (clamped + 8) >> 4
            s.append(max(-32768, min(32767, rounded)))
            saturations += z != clamped or s[-1] != rounded
        maximum = max(-(-value // 256) for value in s)
        p = [min(int(exp2((maximum << 12) - (value << 4))), 65535) for value in s]
        assert (found.maximum[0, i], found.total[0, i]) == (maximum, sum(p))
        products = np.array([sum(p[j] * int(v[0, j, e]) for j in keys) for e in range(6)])
        unit = 1 if config is TINY else 1 / 256
        wanted = np.clip(products / sum(p) * 256 * unit, -32768, 32767)
        assert np.abs(found.output[0, i] - wanted).max() < 2
    assert found.saturations == saturations > 0


@pytest.mark.parametrize("schedule", ["flash", "naive"])
@pytest.mark.parametrize("cuts", [(11,), (4, 20), (1, 2)])
def test_parts_over_split_keys_merge_to_the_whole(schedule, cuts):
    """Two and three parts, causal too: rows that a part does not see at all take nothing from it."""
    run = job(9, 23, heads=2, causal=True, q_position=12, naive=schedule == "naive", state=True, scale=0.004)
    q, k, v = operands(run, np.random.default_rng(5), 100)
    whole = predict(TINY, run, q, k, v).result
    parts = []
    for start, end in zip((0, *cuts), (*cuts, 23), strict=True):
        part = replace(run, n_kv=end - start, q_position=run.q_position - start)
        result = predict(TINY, part, q, k[:, start:end], v[:, start:end]).result
        parts.append((result.output / V_STEP, result.maximum, result.total))
    output, maximum, total = merge(parts)
    assert (maximum == whole.maximum).all()
    assert np.abs(total / whole.total - 1).max() < 1e-4
    assert np.abs(output - whole.output / V_STEP).max() < (0.02 if schedule == "flash" else 0.05)


def test_merging_rows_that_no_part_sees():
    nothing = np.zeros((2, 3)), np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    something = np.ones((2, 3)), np.array([-5, 7]), np.array([0, 1 << 16])
    output, maximum, total = merge([nothing, something])
    assert output.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert maximum.tolist() == [0, 7] and total.tolist() == [0, 1 << 16]
