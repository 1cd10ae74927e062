from fractions import Fraction
from math import floor

import numpy as np
import pytest

from golden.config import NAMED
from golden.formats import OUTPUT_BITS, SHIFT_BITS, Z_BITS, formats, half_up, saturate, to_float

# Signed?, bits, fraction bits. S is s(2w + log2 d), l UQ(log2 keys + 1).16, O s(w + 16 + log2 keys).
DESIGN = {
    "base": {
        "element": (True, 8, 0),
        "score": (True, 22, 0),
        "z": (True, 32, 12),
        "maximum": (True, 21, 0),
        "p": (False, 17, 16),
        "sum": (False, 29, 16),
        "accumulator": (True, 36, 16),
        "reciprocal": (False, 17, 17),
        "output": (True, 16, 8),
    },
    "q88": {
        "element": (True, 16, 8),
        "score": (True, 36, 16),
        "z": (True, 32, 12),
        "maximum": (True, 21, 0),
        "p": (False, 17, 16),
        "sum": (False, 27, 16),
        "accumulator": (True, 42, 24),
        "reciprocal": (False, 17, 17),
        "output": (True, 16, 8),
    },
}


def limits(template):
    low = -(1 << (template.n_word - 1)) if template.signed else 0
    return low, low + (1 << template.n_word) - 1


@pytest.mark.parametrize("name", DESIGN)
def test_formats_are_those_of_the_design(name):
    found = {key: (bool(f.signed), f.n_word, f.n_frac) for key, f in formats(NAMED[name]).items()}
    assert found == DESIGN[name]


@pytest.mark.parametrize("name", NAMED)
def test_widths_hold_the_extremes(name):
    """The largest value of each exact quantity fits its format, and would not fit one bit less."""
    c, f = NAMED[name], formats(NAMED[name])
    most = 1 << (c.element_bits - 1)
    for key, low, high in (
        ("score", -most * (most - 1) * c.max_dim, most * most * c.max_dim),
        ("sum", 0, c.max_keys << 16),
        ("accumulator", -most * c.max_keys << 16, (most - 1) * c.max_keys << 16),
    ):
        bottom, top = limits(f[key])
        assert bottom <= low <= high <= top
        assert not (bottom <= 2 * low and 2 * high <= top)


@pytest.mark.parametrize("shift", [0, 1, 2, 7, 31, 61])
def test_half_up_against_fractions(shift):
    unit = 1 << shift
    half = unit // 2
    around_ties = [k * unit + e for k in (-3, -1, 0, 1) for e in (-1, 0, half - 1, half)]
    for value in (v for v in [5, -5, 2**60 - 1, -(2**60), *around_ties] if abs(v) < 2**61):
        assert int(half_up(value, shift)) == floor(Fraction(value, unit) + Fraction(1, 2)), value


@pytest.mark.parametrize(
    "value, shift, rounded", [(-3, 1, -1), (3, 1, 2), (-1, 1, 0), (-5, 1, -2), (-6, 2, -1), (6, 2, 2)]
)
def test_half_up_sends_ties_upwards(value, shift, rounded):
    assert half_up(value, shift) == rounded


@pytest.mark.parametrize("shift", [62, 63, (1 << SHIFT_BITS) - 1, 1000])
@pytest.mark.parametrize("value", [0, 2**61 - 1, -(2**61), -1])
def test_half_up_beyond_the_width_is_zero(value, shift):
    assert half_up(value, shift) == 0


def test_half_up_broadcasts():
    assert half_up([[4], [6]], [0, 1, 2]).tolist() == [[4, 2, 1], [6, 3, 2]]
    assert half_up(np.int32(7), 1).dtype == np.int64


@pytest.mark.parametrize("bits", [OUTPUT_BITS, Z_BITS])
def test_saturate(bits):
    top = (1 << (bits - 1)) - 1
    values = [0, top, top + 1, 1 << 60, -top - 1, -top - 2, -(1 << 60)]
    assert saturate(values, bits).tolist() == [0, top, top, top, -top - 1, -top - 1, -top - 1]


@pytest.mark.parametrize("key", DESIGN["q88"])
@pytest.mark.parametrize("name", NAMED)
def test_to_float_is_exact_at_the_limits(name, key):
    template = formats(NAMED[name])[key]
    raw = [*limits(template), 0, 1]
    assert [Fraction(value) for value in to_float(raw, template).tolist()] == [
        Fraction(value, 1 << template.n_frac) for value in raw
    ]


def test_to_float_keeps_the_shape():
    assert to_float(np.full((2, 3), 384), formats(NAMED["tiny"])["output"]).tolist() == [[1.5] * 3] * 2
