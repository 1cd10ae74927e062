"""Float arrays of a caller, checked and quantised."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gen.inputs import InputError
from golden.config import EngineConfig
from golden.job import Job, encode_scale
from golden.quantise import quantise


@dataclass(frozen=True)
class QuantisedGroup:
    """Heads with the same steps: raw int64 (q, k, v) with head axes, value of one LSB of V, the job that they are."""

    raw: tuple[np.ndarray, np.ndarray, np.ndarray]
    v_step: float
    clipped: int
    job: Job


def as_heads(q, k, v) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Checked float64 arrays with a head axis, and whether they came with one.

    Raises:
        InputError: what is wrong with them, in one sentence.
    """
    arrays = {}
    for name, array in (("q", q), ("k", k), ("v", v)):
        array = np.asarray(array)
        if array.dtype.kind not in "fiu":
            raise InputError(f"{name} has dtype {array.dtype}; give real numbers, such as float32")
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise InputError(f"{name} has shape {array.shape}; give [n, d] or [heads, n, d], none of them 0")
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            index = ", ".join(str(int(i)) for i in np.argwhere(~np.isfinite(array))[0])
            raise InputError(f"{name}[{index}] is not finite; all values must be")
        arrays[name] = array
    q, k, v = arrays.values()
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    if not q.ndim == k.ndim == v.ndim:
        raise InputError(f"shapes do not fit ({shapes}): all must be [n, d], or all [heads, n, d]")
    if q.shape[-1] != k.shape[-1]:
        raise InputError(f"shapes do not fit ({shapes}): rows of q and of k must be as long")
    if k.shape[:-1] != v.shape[:-1]:
        raise InputError(f"shapes do not fit ({shapes}): k and v must have as many heads and rows")
    if q.ndim == 2:
        return q[None], k[None], v[None], False
    if len(q) % len(k):
        raise InputError(f"shapes do not fit ({shapes}): the heads of k must divide those of q")
    return q, k, v, True


def quantise_groups(
    config: EngineConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, window: int | None,
    scale: float | None, q_position: int | None, q_rows: int | None, shared_steps: bool,
) -> list[QuantisedGroup]:  # fmt: skip
    """Quantise arrays of :func:`as_heads`: each KV head with its query heads, or all; see Accelerator.attention.

    Raises:
        InputError: a scale or a window that cannot be.
    """
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    if not (math.isfinite(scale) and scale > 0):
        raise InputError(f"scale must be positive and finite, not {scale}; negate q for a negative one")
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
        raise InputError(f"window must be a whole number of at least 1 key, not {window!r}")
    n_q, n_kv, group = q.shape[1], k.shape[1], len(q) // len(k)
    if q_position is None:
        q_position = n_kv - n_q if causal or window is not None else 0
    together = len(k) if shared_steps or config.element != "int8" else 1
    found = []
    for first in range(0, len(k), together):
        own = slice(first, first + together)
        parts = q[first * group : (first + together) * group], k[own], v[own]
        raw, steps, clipped = zip(*(quantise(part, config) for part in parts), strict=True)
        factor = scale * math.log2(math.e) * steps[0] * steps[1]
        if not math.isfinite(factor * 127 * 127 * q.shape[2]) or not math.isfinite(steps[2] * 127 * n_kv):
            raise InputError("scores or sums of v overflow float64; scale q, k or v down")
        mantissa, shift = encode_scale(factor)
        job = Job(
            n_q=n_q,
            n_kv=n_kv,
            dim=q.shape[2],
            value_dim=v.shape[2],
            scale_mantissa=mantissa,
            scale_shift=shift,
            q_rows=min(config.max_rows, n_q * group) if q_rows is None else q_rows,
            causal=causal,
            q_position=q_position,
            heads=together * group,
            group=group,
            window=window,
        )
        found.append(QuantisedGroup(raw, steps[2], sum(clipped), job))
    return found
