import math

import numpy as np
import pytest

from golden.oracle import attention


def head(n_q, n_kv, d, d_v, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_q, d)), rng.standard_normal((n_kv, d)), rng.standard_normal((n_kv, d_v))


def loop(q, k, v, scale, causal, q_position):
    rows = []
    for i, query in enumerate(q):
        keys = [j for j in range(len(k)) if not causal or j <= i + q_position]
        weights = [math.exp(scale * sum(a * b for a, b in zip(query, k[j], strict=True))) for j in keys]
        total = sum(weights)
        columns = range(v.shape[1])
        rows.append([sum(w * v[j][e] for w, j in zip(weights, keys, strict=True)) / (total or 1) for e in columns])
    return np.array(rows)


@pytest.mark.parametrize("causal, q_position", [(False, 0), (True, 0), (True, 3), (True, -2), (True, -100)])
@pytest.mark.parametrize("n_q, n_kv, d, d_v", [(1, 1, 1, 1), (5, 7, 3, 2), (9, 4, 2, 6)])
def test_against_a_loop(n_q, n_kv, d, d_v, causal, q_position):
    q, k, v = head(n_q, n_kv, d, d_v)
    expected = loop(q, k, v, 0.7, causal, q_position)
    np.testing.assert_allclose(attention(q, k, v, 0.7, causal, q_position), expected, rtol=1e-12, atol=1e-14)


def test_row_without_a_key_is_zero():
    out = attention(*head(4, 4, 2, 3), 1.0, causal=True, q_position=-2)
    assert not out[:2].any()
    assert out[2:].all()


def test_adding_a_constant_to_a_rows_scores_changes_nothing():
    q, k, v = head(4, 6, 3, 2)
    wide_q, wide_k = np.hstack([q, np.ones((4, 1))]), np.hstack([k, np.full((6, 1), 50.0)])
    np.testing.assert_allclose(attention(wide_q, wide_k, v, 1.0), attention(q, k, v, 1.0), rtol=1e-9)


def test_large_scores_do_not_overflow():
    out = attention([[1e4]], [[1e4], [-1e4]], [[3.0], [5.0]], 1.0)
    assert out.tolist() == [[3.0]]
