"""Bit-true attention with the NAIVE schedule: S and P visit memory as 16-bit values, and nothing is rescaled."""

from __future__ import annotations

import numpy as np

from golden.config import EngineConfig
from golden.flash import HIDDEN, Attention, each_head, normalise, scores, visible_keys
from golden.formats import Z_FRACTION, half_up, saturate
from golden.job import Job
from golden.tables import exp2

S_BITS = 16  # S in memory: z as s8.8
S_SHIFT = 4  # from z's 12 fraction bits to 8
P_LIMIT = (1 << 16) - 1  # P in memory: UQ0.16, so that 1.0 becomes 65535/65536


def naive(config: EngineConfig, job: Job, q, k, v) -> Attention:
    """Attention of a run as the engine computes it with the NAIVE schedule; arguments: see golden.flash.each_head.

    saturations: visible scores that left the range of S in memory.
    """
    return each_head(_head, config, job, q, k, v)


def _head(config, job, q, k, v):
    visible = visible_keys(job)
    seen = visible.any(axis=1)
    z, over = scores(q, k, job)
    rounded = half_up(z, S_SHIFT)
    s = saturate(rounded, S_BITS)
    saturations = int(((over | (s != rounded)) & visible).sum())
    z = s << S_SHIFT
    maximum = -(-np.where(seen, np.where(visible, z, HIDDEN).max(axis=1), 0) >> Z_FRACTION)
    p = np.where(visible, exp2(np.where(visible, (maximum[:, None] << Z_FRACTION) - z, 0)), 0)
    p = np.minimum(p, P_LIMIT)
    total = p.sum(axis=1)
    return Attention(normalise(p @ v, total, seen, config), maximum, total, seen, saturations)
