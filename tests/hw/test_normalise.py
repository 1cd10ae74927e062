"""O / l, against golden.flash.normalise."""

import numpy as np
import pytest

from golden import latency
from golden.config import NAMED
from golden.flash import normalise as golden_normalise
from golden.formats import NORMALISE_SHIFT, OUTPUT_BITS, P_FRACTION, RECIPROCAL_BITS, half_up
from golden.tables import normalise_sum, reciprocal
from hw.normalise import normalise
from hw.reciprocal import shift_bits
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, pack, run, unpack

NAMES = pytest.mark.parametrize("name", ["tiny", "q88", "wide"])
LANES = 4


def outputs(config, rows, shift, inverse, seen, backend):
    """The output lanes for rows of accumulators."""
    bits = config.accumulator_bits
    ports = {
        "o": unsigned(LANES * bits), "shift": unsigned(shift_bits(config)),
        "inverse": unsigned(RECIPROCAL_BITS), "seen": bit(), "quotients": unsigned(LANES * OUTPUT_BITS),
    }  # fmt: skip
    inputs = {"o": [pack(row, bits) for row in rows], "shift": shift, "inverse": inverse, "seen": seen}
    found = run(normalise, ports, inputs, ["quotients"], backend, {"lanes": LANES}, after=latency.NORMALISE)
    return [unpack(value, OUTPUT_BITS, LANES, signed=True) for value in found["quotients"][latency.NORMALISE :]]


def check(config, rows, total, seen, backend):
    """Rows of accumulators [n][LANES] with their sums and flags, as golden divides them; returns the outputs."""
    rows, total, seen = np.array(rows), np.array(total), np.array(seen, dtype=bool)
    mantissa, exponent = normalise_sum(np.where(seen, total, 1 << 16))
    shift = (exponent + config.element_bits - 17).tolist()
    found = outputs(config, rows.tolist(), shift, reciprocal(mantissa).tolist(), seen.tolist(), backend)
    assert found == golden_normalise(rows, total, seen, config).tolist()
    return np.array(found)


def sums(config, rng, count):
    """Sums of all sizes that a row may have."""
    powers = rng.integers(15, P_FRACTION + config.max_keys.bit_length() - 1, count)
    return (1 << powers) + (rng.random(count) * (1 << powers)).astype(np.int64)


def largest(config):
    """Largest magnitude of V at either end."""
    return -(1 << (config.element_bits - 1)), (1 << (config.element_bits - 1)) - 1


@BACKENDS
@NAMES
def test_random(name, backend):
    config, rng = NAMED[name], np.random.default_rng(0)
    total = sums(config, rng, 400)
    low, high = largest(config)
    rows = (rng.uniform(low, high, (400, LANES)) * total[:, None]).astype(np.int64)
    check(config, rows, total, rng.random(400) < 0.9, backend)


@BACKENDS
@NAMES
def test_means_of_equal_values(name, backend):
    """O = l * v gives v back, at both ends of the format, at zero, and one lane alone."""
    config, rng = NAMED[name], np.random.default_rng(1)
    total = np.concatenate([[1 << power for power in range(15, 26)], sums(config, rng, 60), [config.max_keys << 16]])
    low, high = largest(config)
    rows, totals = [], []
    for row in ([low] * 4, [high] * 4, [0] * 4, [low, high, low, high], [0, high, 0, 0], [1, 0, 0, low], [-1] * 4):
        rows += (np.array(row) * total[:, None]).tolist()
        totals += total.tolist()
    check(config, rows, totals, [1] * len(rows), backend)


@BACKENDS
@NAMES
def test_saturates_one_beyond_the_format(name, backend):
    """Rescaling may round l down by almost 1 and O away from zero: the quotient is then beyond the values averaged."""
    config = NAMED[name]
    low, high = largest(config)
    totals = [(1 << 15) + step for step in range(0, 1 << 12, 37)] + [(1 << power) - 1 for power in range(16, 25)]
    rows = [[low * (total + 1) - 1, low * total - 1, high * (total + 1) + 1, high * total + 1] for total in totals]
    check(config, rows, totals, [1] * len(rows), backend)
    mantissa, exponent = normalise_sum(totals)
    scaled = half_up(rows, (exponent + config.element_bits - 17)[:, None])
    exact = half_up(scaled * reciprocal(mantissa)[:, None], NORMALISE_SHIFT)
    assert exact.min() < -(1 << 15), "nothing to clamp"
    assert config.element == "int8" or exact.max() > (1 << 15) - 1, "nothing to clamp"


@BACKENDS
@NAMES
def test_rows_that_saw_no_key_are_zero(name, backend):
    """Whatever their accumulators, reciprocal and shift are; rows that saw keys stand between them."""
    config, rng = NAMED[name], np.random.default_rng(2)
    bits, count = config.accumulator_bits, 200
    rows = rng.integers(-(1 << (bits - 1)), 1 << (bits - 1), (count, LANES)).tolist()
    shift, inverse = rng.integers(0, 32, count).tolist(), rng.integers(0, 1 << RECIPROCAL_BITS, count).tolist()
    seen = [index % 2 for index in range(count)]
    for index in range(1, count, 2):
        rows[index] = [(index << config.element_bits) << 8] * LANES
        shift[index], inverse[index] = config.element_bits, 1 << 16
    found = outputs(config, rows, shift, inverse, seen, backend)
    assert found[0::2] == [[0] * LANES] * (count // 2)
    assert found[1::2] == [[index << 6] * LANES for index in range(1, count, 2)]


@BACKENDS
@NAMES
def test_rows_that_are_not_final_do_no_harm(name, backend):
    """Every chunk passes through; the reciprocal that happens to be read with it may be anything."""
    config, rng = NAMED[name], np.random.default_rng(3)
    bits, count = config.accumulator_bits, 200
    rows = rng.choice([-(1 << (bits - 1)), (1 << (bits - 1)) - 1, -1, 0], (count, LANES)).tolist()
    shift, inverse = rng.integers(0, 32, count).tolist(), rng.integers(0, 1 << RECIPROCAL_BITS, count).tolist()
    assert len(outputs(config, rows, shift, inverse, [1] * count, backend)) == count
