"""The reciprocal of a row sum, over every mantissa."""

import numpy as np
import pytest
from myhdl import block

from golden import latency
from golden.formats import MANTISSA_BITS, RECIPROCAL_BITS
from golden.tables import normalise_sum
from golden.tables import reciprocal as golden_reciprocal
from hw.reciprocal import reciprocal
from hw.signals import join, split, unsigned
from tests.hw.harness import BACKENDS, pack, run, unpack

ONE = 1 << (MANTISSA_BITS - 1)
SHIFT_BITS = 6
LANES = 8


@block
def reciprocals(clk, total, inverse, shift, element_bits):
    """Units side by side, to get through all mantissas in fewer cycles."""
    inverses = [unsigned(RECIPROCAL_BITS) for _ in range(LANES)]
    shifts = [unsigned(SHIFT_BITS) for _ in range(LANES)]
    units = [
        reciprocal(clk, part, *results, element_bits)
        for part, *results in zip(split(total, LANES), inverses, shifts, strict=True)
    ]
    return units, join(inverses, inverse), join(shifts, shift)


def check(total, inverse, shift, element_bits):
    """Against golden, and against 1/l itself, exactly in integers."""
    total, inverse, shift = (np.asarray(values, dtype=np.int64) for values in (total, inverse, shift))
    mantissa, exponent = normalise_sum(total)
    assert (inverse == golden_reciprocal(mantissa)).all()
    assert (shift == exponent + element_bits - 17).all()
    assert np.abs(inverse * mantissa - (1 << 34)).max() <= 1 << (34 - 16)


def drive(total, bits, element_bits, backend):
    ports = {"total": unsigned(bits), "inverse": unsigned(RECIPROCAL_BITS), "shift": unsigned(SHIFT_BITS)}
    after, parameters = latency.RECIPROCAL, {"element_bits": element_bits}
    found = run(reciprocal, ports, {"total": total}, ["inverse", "shift"], backend, parameters, after)
    found = [values[after:] for values in found.values()]
    check(total, *found, element_bits)
    return found


ELEMENTS = pytest.mark.parametrize("element_bits", [8, 16])
# Of 16, 1024 and 65536 keys.
WIDTHS = pytest.mark.parametrize("bits", [21, 27, 33])


def every_mantissa(bits):
    """All 2**17, each with an exponent of its own, in no order; bits below the mantissa are 0."""
    rng = np.random.default_rng(bits)
    return rng.permutation(np.arange(ONE, 2 * ONE)) << rng.integers(0, bits - MANTISSA_BITS, ONE)


def test_every_mantissa_in_icarus():
    total = every_mantissa(33).reshape(-1, LANES)
    ports = {"total": unsigned(LANES * 33), "inverse": unsigned(LANES * RECIPROCAL_BITS)}
    ports["shift"] = unsigned(LANES * SHIFT_BITS)
    inputs = {"total": [pack(row, 33) for row in total.tolist()]}
    found = run(
        reciprocals, ports, inputs, ["inverse", "shift"], "icarus", {"element_bits": 8}, after=latency.RECIPROCAL
    )
    inverse = [unpack(value, RECIPROCAL_BITS, LANES) for value in found["inverse"][latency.RECIPROCAL :]]
    shift = [unpack(value, SHIFT_BITS, LANES) for value in found["shift"][latency.RECIPROCAL :]]
    check(total, inverse, shift, 8)


@pytest.mark.slow
@ELEMENTS
def test_every_mantissa_in_myhdl(element_bits):
    drive(every_mantissa(27).tolist(), 27, element_bits, "myhdl")


@BACKENDS
@ELEMENTS
@WIDTHS
def test_totals(bits, element_bits, backend):
    """Powers of two and their neighbours, the largest sum, the smallest of a row that saw a key, and random ones."""
    rng = np.random.default_rng(bits)
    keys = 1 << (bits - 17)
    totals = [keys << 16, (keys << 16) - 1, 1 << 15, (1 << 15) + 1, 1 << 16]
    for power in range(15, bits):
        totals += [1 << power, (1 << power) + 1, (1 << power) - 1 if power > 15 else 1 << 15, 3 << power >> 1]
    totals += [(1 << 15) + int(rng.integers(1 << power)) for power in range(1, bits - 1) for _ in range(15)]
    drive(totals, bits, element_bits, backend)


@BACKENDS
@ELEMENTS
@WIDTHS
def test_rounding_up_to_the_next_exponent(bits, element_bits, backend):
    """Totals just below a power of two: the last that stay below it, and the first that round up to it."""
    totals, carried = [], []
    for power in range(MANTISSA_BITS + 1, bits):
        half = 1 << (power - MANTISSA_BITS - 1)
        totals += [(1 << power) - half - 1, (1 << power) - half, (1 << power) - 1]
        carried += [False, True, True]
    inverse, shift = drive(totals, bits, element_bits, backend)
    for total, one, amount, carry in zip(totals, inverse, shift, carried, strict=True):
        assert (one == (1 << RECIPROCAL_BITS) - 1) == carry
        assert amount == total.bit_length() - 1 + carry + element_bits - 17


@BACKENDS
def test_totals_of_rows_that_saw_no_key_do_no_harm(backend):
    """What they give is not used."""
    ports = {"total": unsigned(27), "inverse": unsigned(RECIPROCAL_BITS), "shift": unsigned(SHIFT_BITS)}
    small = [0, 1, 2, 3, 5, 1 << 14, (1 << 15) - 1]
    totals = [value for total in small for value in (total, 1 << 20)]
    after, parameters = latency.RECIPROCAL, {"element_bits": 8}
    found = run(reciprocal, ports, {"total": totals}, ["inverse", "shift"], backend, parameters, after)
    found = [values[after + 1 :: 2] for values in found.values()]
    check([1 << 20] * len(small), *found, 8)
