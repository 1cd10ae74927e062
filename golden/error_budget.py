"""Error budget: what each rounding of the datapath contributes, with everything else exact.

The datapath again, in float64, where each rounding can be left out. With all of them it gives the engine's bits: every
integer in it stays below 2^53. Unit of errors: golden.numerics.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from golden.config import EngineConfig
from golden.formats import (
    MANTISSA_BITS,
    NORMAL_BITS,
    NORMALISE_SHIFT,
    OUTPUT_BITS,
    OUTPUT_FRACTION,
    P_FRACTION,
    RECIPROCAL_BITS,
    Z_BITS,
    Z_FRACTION,
    saturate,
)
from golden.naive import P_LIMIT, S_BITS, S_SHIFT
from golden.numerics import CONFIGS, MAIN_SIZE, Block, Head, make_head, unit_of_error
from golden.tables import reciprocal

# In the order of the datapath: name, and what the report calls it.
STEPS = {
    "scale": "scale: 16-bit mantissa",
    "z": "z: 12 fraction bits",
    "s": "S in memory: 8 fraction bits",
    "p": "exp2 table, p: 16 fraction bits",
    "clip": "P in memory: 1.0 clipped",
    "rescale": "l and O: rescaling shifts",
    "reciprocal": "1/l: 18-bit mantissa, table",
    "scaled": "O shifted to 18 bits",
    "output": "output: 8 fraction bits",
}
ONLY_IN = {"s": "NAIVE", "clip": "NAIVE", "rescale": "FLASH"}


def steps_of(schedule: str) -> tuple[str, ...]:
    """Names of the roundings of a schedule."""
    return tuple(step for step in STEPS if ONLY_IN.get(step, schedule) == schedule)


def _half_up(value):
    return np.floor(value + 0.5)


def _log_scores(heads: Sequence[Head], steps: Collection[str]) -> np.ndarray:
    """z in LSBs of 2^-12: float64 [heads, n_q, n_kv]."""
    q, k = (np.stack([getattr(head, name) for head in heads]).astype(np.float64) for name in "qk")
    if "scale" in steps:
        factor = [np.ldexp(float(head.job.scale_mantissa), -head.job.scale_shift) for head in heads]
    else:
        factor = [head.factor * np.log2(np.e) * (1 << Z_FRACTION) for head in heads]
    z = q @ k.transpose(0, 2, 1) * np.array(factor)[:, None, None]
    if "z" in steps:
        z = saturate(_half_up(z), Z_BITS)
    if "s" in steps:
        z = saturate(_half_up(z / (1 << S_SHIFT)), S_BITS) * (1 << S_SHIFT)
    return z


def _power(x, steps: Collection[str]) -> np.ndarray:
    """p = 2^-x in LSBs of 2^-16, x >= 0; rounded as the table of golden.tables is, at any x."""
    if "p" not in steps:
        p = np.exp2(P_FRACTION - x)
    else:
        integer = np.floor(x)
        entry = _half_up(np.exp2(P_FRACTION + 1 - (x - integer)))
        p = _half_up(np.ldexp(entry, -(integer.astype(np.int64) + 1)))
    return np.minimum(p, P_LIMIT) if "clip" in steps else p


def attend(config: EngineConfig, schedule: str, heads: Sequence[Head], steps: Collection[str]) -> np.ndarray:
    """Attention of heads of one size with only some roundings.

    Args:
        steps: names in STEPS; all of :func:`steps_of` give the engine's output.

    Returns:
        output LSBs, float64 [heads, n_q, d].
    """
    z = _log_scores(heads, steps)
    v = np.stack([head.v for head in heads]).astype(np.float64)
    n_kv = v.shape[1]
    tile = n_kv if schedule == "NAIVE" else config.array_keys
    total, accumulator, maximum = 0.0, np.zeros(z.shape[:2] + v.shape[2:]), None
    for start in range(0, n_kv, tile):
        part = z[:, :, start : start + tile] / (1 << Z_FRACTION)
        ceiling = np.ceil(part.max(axis=2))
        grown = ceiling if maximum is None else np.maximum(maximum, ceiling)
        fall = np.zeros(grown.shape, dtype=np.int64) if maximum is None else (maximum - grown).astype(np.int64)
        total, accumulator = np.ldexp(total, fall), np.ldexp(accumulator, fall[:, :, None])
        if "rescale" in steps:
            total = np.where(fall < 0, _half_up(total), total)
            accumulator = np.where(fall[:, :, None] < 0, _half_up(accumulator), accumulator)
        p = _power(grown[:, :, None] - part, steps)
        total = total + p.sum(axis=2)
        accumulator = accumulator + p @ v[:, start : start + tile]
        maximum = grown
    return _divide(config, accumulator, total, steps)


def _divide(config, accumulator, total, steps):
    exponent = np.frexp(total)[1].astype(np.int64) - 1
    mantissa = np.ldexp(total, MANTISSA_BITS - 1 - exponent)
    if "reciprocal" in steps:
        mantissa = _half_up(mantissa)
        over = mantissa >= 1 << MANTISSA_BITS
        mantissa, exponent = np.where(over, mantissa / 2, mantissa), exponent + over
        inverse = reciprocal(mantissa.astype(np.int64)).astype(np.float64)
    else:
        inverse = 2.0 ** (RECIPROCAL_BITS + MANTISSA_BITS - 1) / mantissa
    scaled = np.ldexp(accumulator, -(exponent + config.element_bits - (NORMAL_BITS - 1))[:, :, None])
    if "scaled" in steps:
        scaled = _half_up(scaled)
    output = np.ldexp(scaled * inverse[:, :, None], -NORMALISE_SHIFT)
    return saturate(_half_up(output), OUTPUT_BITS) if "output" in steps else output


def budget(element: str, schedule: str, seeds: Sequence[int]) -> dict[str, Block]:
    """Error of each step alone, and of `all`, over normal data with N=32 and d=4, against exact softmax."""
    config = CONFIGS[element]
    heads = [make_head(config, "normal", seed, *MAIN_SIZE) for seed in seeds]
    exact = np.stack([head.exact() for head in heads]) / unit_of_error(config)
    names = steps_of(schedule)
    found = {}
    for name, steps in (*((step, (step,)) for step in names), ("all", names)):
        error = np.abs(attend(config, schedule, heads, steps) / (1 << OUTPUT_FRACTION) - exact)
        found[name] = Block(len(heads), float(error.mean()), float(error.max()))
    return found
