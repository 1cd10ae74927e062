"""float64 attention: what every fixed-point result is measured against."""

from __future__ import annotations

import numpy as np


def attention(
    q, k, v, scale: float, causal: bool = False, q_position: int = 0, window: int | None = None
) -> np.ndarray:
    """softmax(scale * q @ k.T + mask) @ v in float64.

    Args:
        q, k, v: arrays [n_q, d], [n_kv, d], [n_kv, d_v].
        scale: multiplies the scores (1/sqrt(d) for transformers).
        causal: query i sees keys up to its position i + q_position. window: it sees none before that - window + 1;
            None for all. A row that sees none gives zeros.
    """
    q, k, v = (np.asarray(array, dtype=np.float64) for array in (q, k, v))
    scores = scale * (q @ k.T)
    key, position = np.arange(k.shape[0])[None, :], np.arange(q.shape[0])[:, None] + q_position
    if causal:
        scores = np.where(key > position, -np.inf, scores)
    if window is not None:
        scores = np.where(key <= position - window, -np.inf, scores)
    maximum = scores.max(axis=1, keepdims=True)
    weight = np.exp(scores - np.where(np.isfinite(maximum), maximum, 0))
    total = weight.sum(axis=1, keepdims=True)
    return (weight @ v) / np.where(total > 0, total, 1)
