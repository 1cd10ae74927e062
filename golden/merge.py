"""Merging attention over split keys from (m, l) and the outputs of the parts, as flash decoding does on the host.

Formula: with M = max(m_i), o = sum(o_i * l_i * 2**(m_i - M)) / sum(l_i * 2**(m_i - M)) (Dao et al., Flash-Decoding).
"""

from __future__ import annotations

import numpy as np


def merge(parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One result from runs over disjoint keys with the same queries and scale.

    Args:
        parts: (output, maximum, total) of each run: outputs as numbers [..., n_q, d_v] in any one unit; m and l (raw,
            16 fraction bits) as integers [..., n_q]. l = 0: that part saw no key.

    Returns:
        (output float64, maximum int64, total float64) of all keys; zeros for a row that no part saw.
    """
    parts = [(np.asarray(o, dtype=np.float64), np.asarray(m), np.asarray(l, dtype=np.float64)) for o, m, l in parts]
    lowest = min(int(m.min(initial=0)) for _, m, _ in parts)
    maximum = np.max([np.where(l > 0, m, lowest) for _, m, l in parts], axis=0)
    weights = [np.where(l > 0, l * np.exp2(np.where(l > 0, m - maximum, 0).astype(np.float64)), 0) for _, m, l in parts]
    total = np.sum(weights, axis=0)
    divisor = np.where(total > 0, total, 1)[..., None]
    output = np.sum([o * weight[..., None] for (o, _, _), weight in zip(parts, weights, strict=True)], axis=0) / divisor
    return output, np.where(total > 0, maximum, 0), total
