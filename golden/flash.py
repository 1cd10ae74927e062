"""Bit-true tiled attention with online softmax: the datapath of the engine, without its timing.

The result does not depend on how query rows are grouped into blocks, so all rows are computed together, one
K/V tile after the other. Formula of the online softmax: Milakov and Gimelshein, arXiv:1805.02867; tiling: Dao et
al., arXiv:2205.14135; here in base 2 with an integer running maximum, so that every rescale factor is a shift.
"""

from __future__ import annotations

from collections.abc import Callable
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

HIDDEN = np.iinfo(np.int64).min  # below every score


@dataclass(frozen=True)
class Attention:
    """Raw integers of a run.

    output: int64 [heads, n_q, d_v], 16-bit values with 8 fraction bits. maximum, total: m and l, int64 [heads, n_q] (0
    for a row that saw no key). seen: bool [heads, n_q]. saturations: visible scores that left the range of z. For a run
    of one head whose operands have no head axis, neither have these.
    """

    output: np.ndarray
    maximum: np.ndarray
    total: np.ndarray
    seen: np.ndarray
    saturations: int


def visible_keys(job: Job, keys=None) -> np.ndarray:
    """Which query sees which key: bool [n_q, keys], for all keys or those of a slice."""
    key = np.arange(job.n_kv)[slice(None) if keys is None else keys]
    position = np.arange(job.n_q)[:, None] + job.q_position
    visible = np.ones((job.n_q, len(key)), dtype=bool)
    if job.causal:
        visible &= key <= position
    if job.window is not None:
        visible &= key > position - job.window
    return visible


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


def each_head(head: Callable, config: EngineConfig, job: Job, q, k, v) -> Attention:
    """Run a function of one head, head(config, job, q, k, v), over the heads of a run and stack what it gives.

    Args:
        q, k, v: raw elements [heads, n_q, d], [kv_heads, n_kv, d], [kv_heads, n_kv, d_v], or of one head without the
            first axis.
    """
    q, k, v = (np.asarray(array, dtype=np.int64) for array in (q, k, v))
    if q.ndim == 2:
        return head(config, job, q, k, v)
    results = [head(config, job, q[index], k[index // job.group], v[index // job.group]) for index in range(len(q))]
    stacked = (np.stack([getattr(one, name) for one in results]) for name in ("output", "maximum", "total", "seen"))
    return Attention(*stacked, sum(one.saturations for one in results))


def flash(config: EngineConfig, job: Job, q, k, v) -> Attention:
    """Attention of a run as the engine computes it with the FLASH schedule; arguments: see :func:`each_head`."""
    return each_head(_head, config, job, q, k, v)


def _head(config, job, q, k, v):
    rows, tile_keys = job.n_q, config.array_keys
    maximum = np.zeros(rows, dtype=np.int64)
    total = np.zeros(rows, dtype=np.int64)
    accumulator = np.zeros((rows, job.value_dim), dtype=np.int64)
    seen = np.zeros(rows, dtype=bool)
    saturations = 0
    for start in range(0, job.n_kv, tile_keys):
        keys = slice(start, min(start + tile_keys, job.n_kv))
        visible = visible_keys(job, keys)
        z, over = scores(q, k[keys], job)
        saturations += int((over & visible).sum())
        any_visible = visible.any(axis=1)
        ceiling = -(-np.where(any_visible, np.where(visible, z, HIDDEN).max(axis=1), 0) >> Z_FRACTION)
        grown = np.where(any_visible, np.where(seen, np.maximum(maximum, ceiling), ceiling), maximum)
        shift = np.where(seen, np.minimum(grown - maximum, (1 << SHIFT_BITS) - 1), 0)
        p = np.where(visible, exp2(np.where(visible, (grown[:, None] << Z_FRACTION) - z, 0)), 0)
        total = half_up(total, shift) + p.sum(axis=1)
        accumulator = half_up(accumulator, shift[:, None]) + p @ v[keys]
        maximum, seen = grown, seen | any_visible
    output = normalise(accumulator, total, seen, config)
    return Attention(output, maximum, total, seen, saturations)
