"""exp2 and reciprocal tables, and the units they serve. Both are generated, never typed in."""

from __future__ import annotations

from functools import cache

import numpy as np

from golden.formats import EXP2_ZERO, MANTISSA_BITS, RECIPROCAL_BITS, Z_FRACTION, half_up

SEGMENT_BITS = 9  # 512 segments: one block RAM, and a remainder short enough for a multiplier in LUTs
REMAINDER_BITS = MANTISSA_BITS - 1 - SEGMENT_BITS
RECIPROCAL_GUARD = 3  # extra bits of the interpolated value, rounded off at the end


@cache
def exp2_table() -> tuple[int, ...]:
    """round(2**(17 - f/4096)) for f = 0..4095: 18-bit entries in (2**16, 2**17]."""
    fraction = np.arange(1 << Z_FRACTION) / (1 << Z_FRACTION)
    return tuple(int(entry) for entry in np.floor(np.exp2(17 - fraction) + 0.5))


def exp2(x):
    """p = 2**-x as UQ1.16 for x >= 0 with 12 fraction bits; within 1 LSB, and 0 from x = 18.

    Args:
        x: int64 array of non-negative raw values.
    """
    x = np.asarray(x, dtype=np.int64)
    entry = np.asarray(exp2_table(), dtype=np.int64)[x & ((1 << Z_FRACTION) - 1)]
    integer = np.minimum(x >> Z_FRACTION, EXP2_ZERO)
    return half_up(entry, integer + 1)


@cache
def reciprocal_table() -> tuple[tuple[int, int], ...]:
    """(value, slope) of each of 512 segments of 1/x on [1, 2).

    value: 2**20 / x at the segment's start, less half the chord's largest error (equal ripple), at most
    2**20 - 1; slope: the drop over the segment, so that 1/x ~ value - slope * remainder / 2**8.
    """
    step = 1 / (1 << SEGMENT_BITS)
    one = 1 << (RECIPROCAL_BITS + RECIPROCAL_GUARD)
    table = []
    for segment in range(1 << SEGMENT_BITS):
        start = 1 + segment * step
        drop = 1 / start - 1 / (start + step)
        # The chord of a convex function lies above it, most at the geometric mean of the ends.
        middle = (start * (start + step)) ** 0.5
        excess = (1 / start - drop * (middle - start) / step) - 1 / middle
        table.append((min(int(one * (1 / start - excess / 2) + 0.5), one - 1), int(one * drop + 0.5)))
    return tuple(table)


def reciprocal(mantissa):
    """1/x as UQ0.17 for x = mantissa / 2**17 in [1, 2); relative error at most 2**-16.

    Args:
        mantissa: int64 array of values in [2**17, 2**18).
    """
    fraction = np.asarray(mantissa, dtype=np.int64) - (1 << (MANTISSA_BITS - 1))
    table = np.asarray(reciprocal_table(), dtype=np.int64)
    segment = table[fraction >> REMAINDER_BITS]
    remainder = fraction & ((1 << REMAINDER_BITS) - 1)
    line = segment[..., 0] - (segment[..., 1] * remainder >> REMAINDER_BITS)
    return np.minimum(half_up(line, RECIPROCAL_GUARD), (1 << RECIPROCAL_BITS) - 1)


def normalise_sum(total):
    """l as (mantissa in [2**17, 2**18), exponent) with l ~ mantissa * 2**(exponent - 17), rounded half up.

    Args:
        total: int64 array of values of at least 2**15, which every row that saw a key has reached.
    """
    total = np.asarray(total, dtype=np.int64)
    exponent = np.zeros_like(total)
    for level in (32, 16, 8, 4, 2, 1):
        high = total >> (exponent + level) > 0
        exponent = exponent + np.where(high, level, 0)
    mantissa = np.where(
        exponent > MANTISSA_BITS - 1,
        half_up(total, np.maximum(exponent - (MANTISSA_BITS - 1), 0)),
        total << np.maximum(MANTISSA_BITS - 1 - exponent, 0),
    )
    overflow = mantissa >> MANTISSA_BITS
    return mantissa >> overflow, exponent + overflow
