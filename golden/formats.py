"""Fixed-point formats, declared with fxpmath, and the one rounding rule.

fxpmath states the formats and converts at the edges. Arithmetic is plain int64 (it is silently wrong beyond
53 bits in fxpmath, which also has no half-up rounding).
"""

from __future__ import annotations

import numpy as np
from fxpmath import Fxp

from golden.config import EngineConfig

Z_BITS = 32  # z = S * scale * log2(e): s20.12
Z_FRACTION = 12
MAX_BITS = 21  # row maximum m = ceil(z): one bit more than z's integer part, since ceil(511.99) is 512
P_BITS = 17  # p = 2**-x: UQ1.16
P_FRACTION = 16
EXP2_ZERO = 18  # x >= 18 gives p = 0: 2**-18 rounds to 0 at 16 fraction bits
SHIFT_BITS = 6  # rescale shift m_new - m_old, clamped to 63: wider than anything it shifts
SCALE_BITS = 16  # mantissa of the score scale
SCALE_SHIFT_MAX = 47
RECIPROCAL_BITS = 17  # 1/l for l in [1, 2): UQ0.17
MANTISSA_BITS = 18  # l normalised and rounded: UQ1.17
NORMAL_BITS = 18  # O scaled by l's exponent: fits one side of an 18 x 18 multiplier
OUTPUT_BITS = 16
OUTPUT_FRACTION = 8
NORMALISE_SHIFT = 18  # output = half_up(O_scaled * reciprocal >> 18), for both element formats


def half_up(value, shift):
    """Round half up: ``(value + (1 << (shift-1))) >> shift``, and the value itself for shift 0.

    Args:
        value: int or int64 array.
        shift: int or int array, at least 0; 62 and more give 0 for |value| < 2**61.

    Returns:
        int64 array (or scalar) of the broadcast shape.
    """
    value = np.asarray(value, dtype=np.int64)
    shift = np.minimum(np.asarray(shift, dtype=np.int64), 62)
    return (value + ((np.int64(1) << shift) >> 1)) >> shift


def saturate(value, bits: int):
    """Clamp to a signed integer of `bits` bits."""
    return np.clip(value, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def fxp(signed: bool, bits: int, fraction: int) -> Fxp:
    """An fxpmath format template: saturating, `bits` wide with `fraction` fraction bits."""
    return Fxp(None, signed=signed, n_word=bits, n_frac=fraction, overflow="saturate", rounding="floor")


def formats(config: EngineConfig) -> dict[str, Fxp]:
    """Every format of the datapath by the name used in docs/numerics.md."""
    element_fraction = 0 if config.element == "int8" else 8
    return {
        "element": fxp(True, config.element_bits, element_fraction),
        "score": fxp(True, config.score_bits, 2 * element_fraction),
        "z": fxp(True, Z_BITS, Z_FRACTION),
        "maximum": fxp(True, MAX_BITS, 0),
        "p": fxp(False, P_BITS, P_FRACTION),
        "sum": fxp(False, config.sum_bits, P_FRACTION),
        "accumulator": fxp(True, config.accumulator_bits, P_FRACTION + element_fraction),
        "reciprocal": fxp(False, RECIPROCAL_BITS, RECIPROCAL_BITS),
        "output": fxp(True, OUTPUT_BITS, OUTPUT_FRACTION),
    }


def to_float(raw, template: Fxp) -> np.ndarray:
    """Raw integers of a format as float64 (exact: no format converted here is wider than 53 bits)."""
    return np.asarray(Fxp(np.asarray(raw), like=template, raw=True).get_val(), dtype=np.float64)
