"""Bit-true tiled attention with online softmax: the datapath of the engine, without its timing.

The result does not depend on how query rows are grouped into blocks, so all rows are computed together, one
K/V tile after the other. Formula of the online softmax: Milakov and Gimelshein, arXiv:1805.02867; tiling: Dao et
al., arXiv:2205.14135; here in base 2 with an integer running maximum, so that every rescale factor is a shift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from golden.config import EngineConfig
from golden.formats import (
    NORMAL_BITS,
    NORMALISE_SHIFT,
    OUTPUT_BITS,
    SHIFT_BITS,
    Z_BITS,
    Z_FRACTION,
    half_up,
    saturate,
)
from golden.job import Job
from golden.tables import exp2, normalise_sum, reciprocal


@dataclass(frozen=True)
class FlashResult:
    """Raw integers of one head.

    output: int64 [n_q, d_v], 16-bit values with 8 fraction bits. maximum, total: m and l, int64 [n_q] (0 for a row
    that saw no key). seen: bool [n_q]. saturated: whether a score left the range of z.
    """

    output: np.ndarray
    maximum: np.ndarray
    total: np.ndarray
    seen: np.ndarray
    saturated: bool


def scores(q, k, job: Job):
    """z (raw s20.12) of every query and key, and a mask of those that had to be saturated."""
    exact = half_up(q @ k.T * job.scale_mantissa, job.scale_shift)
    z = saturate(exact, Z_BITS)
    return z, z != exact


def normalise(accumulator, total, seen, config: EngineConfig):
    """O / l as 16-bit outputs; rows that saw no key give 0."""
    mantissa, exponent = normalise_sum(np.where(seen, total, 1 << 16))
    scaled = half_up(accumulator, (exponent + config.element_bits - (NORMAL_BITS - 1))[:, None])
    quotient = half_up(scaled * reciprocal(mantissa)[:, None], NORMALISE_SHIFT)
    return np.where(seen[:, None], saturate(quotient, OUTPUT_BITS), 0)


def flash(config: EngineConfig, job: Job, q, k, v) -> FlashResult:
    """Attention of one head as the engine computes it.

    Args:
        config, job: sizes must agree with the arrays.
        q, k, v: integer arrays [n_q, d], [n_kv, d], [n_kv, d_v] of raw elements.
    """
    q, k, v = (np.asarray(array, dtype=np.int64) for array in (q, k, v))
    rows, tile_keys = job.n_q, config.array_keys
    position = np.arange(rows) + job.q_position
    maximum = np.zeros(rows, dtype=np.int64)
    total = np.zeros(rows, dtype=np.int64)
    accumulator = np.zeros((rows, job.value_dim), dtype=np.int64)
    seen = np.zeros(rows, dtype=bool)
    saturated = False
    for start in range(0, job.n_kv, tile_keys):
        keys = slice(start, min(start + tile_keys, job.n_kv))
        visible = np.ones((rows, keys.stop - start), dtype=bool)
        if job.causal:
            visible = np.arange(start, keys.stop)[None, :] <= position[:, None]
        z, over = scores(q, k[keys], job)
        saturated |= bool((over & visible).any())
        any_visible = visible.any(axis=1)
        tile_maximum = np.where(visible, z, np.iinfo(np.int64).min).max(axis=1, initial=np.iinfo(np.int64).min)
        ceiling = -(-np.where(any_visible, tile_maximum, 0) >> Z_FRACTION)
        grown = np.where(any_visible, np.where(seen, np.maximum(maximum, ceiling), ceiling), maximum)
        shift = np.where(seen, np.minimum(grown - maximum, (1 << SHIFT_BITS) - 1), 0)
        p = np.where(visible, exp2(np.where(visible, (grown[:, None] << Z_FRACTION) - z, 0)), 0)
        total = half_up(total, shift) + p.sum(axis=1)
        accumulator = half_up(accumulator, shift[:, None]) + p @ v[keys]
        maximum, seen = grown, seen | any_visible
    output = normalise(accumulator, total, seen, config)
    return FlashResult(output, maximum, total, seen, saturated)
