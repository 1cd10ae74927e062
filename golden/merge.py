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
    outputs, maxima, totals = (np.array(array) for array in zip(*parts, strict=True))
    seen = totals > 0
    maximum = np.where(seen, maxima, np.iinfo(np.int64).min).max(axis=0)
    weights = np.where(seen, totals * np.exp2(np.where(seen, maxima - maximum, 0).astype(np.float64)), 0)
    total = weights.sum(axis=0)
    output = (outputs * weights[..., None]).sum(axis=0) / np.where(total > 0, total, 1)[..., None]
    return output, np.where(total > 0, maximum, 0), total
