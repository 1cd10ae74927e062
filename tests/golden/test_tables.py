from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from golden.formats import EXP2_ZERO, MANTISSA_BITS, RECIPROCAL_BITS, Z_FRACTION
from golden.tables import exp2, exp2_table, normalise_sum, reciprocal, reciprocal_table

ONE = 1 << (MANTISSA_BITS - 1)


def test_exp2_over_every_input():
    """Every x in [0, 20): beyond, p stays 0."""
    x = np.arange(20 << Z_FRACTION)
    p = exp2(x)
    exact = np.exp2(16 - x / (1 << Z_FRACTION))
    assert np.abs(p - exact).max() < 1
    assert (np.diff(p) <= 0).all()
    assert p[0] == 1 << 16
    assert p.max() < 1 << 17
    zero = EXP2_ZERO << Z_FRACTION
    assert not p[zero:].any()
    assert p[zero - (1 << Z_FRACTION)] == 1


@pytest.mark.parametrize("x", [20 << 12, (1 << 31) - 1, (1 << 33) + 4095, 1 << 40])
def test_exp2_of_large_arguments_is_zero(x):
    assert exp2(x) == 0


def test_exp2_table_is_correctly_rounded():
    """Against 40-digit decimals, so that no entry depends on the last bit of a float."""
    table = exp2_table()
    assert len(table) == 1 << Z_FRACTION
    assert max(table) == 1 << 17
    assert max(table[1:]) < 1 << 17
    assert min(table) > 1 << 16
    with localcontext() as context:
        context.prec = 40
        for f, entry in enumerate(table):
            assert abs(Decimal(2) ** (17 - Decimal(f) / 4096) - entry) <= Decimal("0.5"), f


def test_reciprocal_over_every_mantissa():
    mantissa = np.arange(ONE, 2 * ONE)
    found = reciprocal(mantissa)
    # Exact: |r * m / 2**34 - 1| <= 2**-16 in integers.
    assert np.abs(found * mantissa - (1 << 34)).max() <= 1 << (34 - 16)
    assert found.min() >= 1 << (RECIPROCAL_BITS - 1)
    assert found.max() < 1 << RECIPROCAL_BITS


def test_reciprocal_table_fits_its_memory():
    table = reciprocal_table()
    values, slopes = zip(*table, strict=True)
    assert len(table) == 512
    assert list(values) == sorted(values, reverse=True)
    assert (min(values) >> 19, max(values) >> 20) == (1, 0)
    assert min(slopes) > 0
    assert max(slopes) < 1 << 11


def normalised(total):
    mantissa, exponent = normalise_sum(total)
    return int(mantissa), int(exponent)


@pytest.mark.parametrize("bit", range(15, 40))
def test_normalise_powers_of_two(bit):
    assert normalised(1 << bit) == (ONE, bit)
    assert normalised(3 << bit >> 1) == (3 * ONE // 2, bit)


@pytest.mark.parametrize(
    "total, expected",
    [
        ((1 << 17) - 1, (2 * ONE - 2, 16)),  # exact
        ((1 << 18) - 1, (2 * ONE - 1, 17)),  # exact, the largest mantissa
        ((1 << 19) - 1, (ONE, 19)),  # rounds to the next exponent
        ((ONE << 1) + 1, (ONE + 1, 18)),  # tie, upwards
        ((ONE << 2) + 1, (ONE, 19)),
        ((ONE << 2) + 2, (ONE + 1, 19)),
        ((ONE << 2) + 3, (ONE + 1, 19)),
        ((1 << 30) - 1, (ONE, 30)),
        ((1 << 30) - (1 << 11), (ONE, 30)),  # tie at the top
        ((1 << 30) - (1 << 11) - 1, (2 * ONE - 1, 29)),
    ],
)
def test_normalise_rounds_half_up(total, expected):
    assert normalised(total) == expected


def test_normalise_is_within_half_a_unit():
    rng = np.random.default_rng(1)
    totals = [int(1 << bits) + int(rng.integers(1 << bits)) for bits in range(15, 33) for _ in range(50)]
    for total, mantissa, exponent in zip(totals, *map(np.ndarray.tolist, normalise_sum(totals)), strict=True):
        assert ONE <= mantissa < 2 * ONE
        error = Fraction(total) - Fraction(mantissa) * Fraction(2) ** (exponent - 17)
        assert abs(error) <= Fraction(2) ** (exponent - 18)
