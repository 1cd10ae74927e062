import math
from dataclasses import replace

import numpy as np
import pytest

from golden.config import NAMED
from golden.job import Job, JobError, encode_scale
from golden.layout import layout

TINY = NAMED["tiny"]
JOB = Job(n_q=8, n_kv=8, dim=4, value_dim=4, scale_mantissa=1 << 15, scale_shift=10, q_rows=4)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_q": 0}, "number of queries must be between 1 and 1024 (max_keys of tiny), not 0"),
        ({"n_q": 1025}, "number of queries must be between 1 and 1024 (max_keys of tiny), not 1025"),
        ({"n_kv": 0}, "number of keys must be between 1 and 1024 (max_keys of tiny), not 0"),
        ({"n_kv": 1025}, "number of keys must be between 1 and 1024 (max_keys of tiny), not 1025"),
        ({"dim": 0}, "head dimension must be between 1 and 16 (max_dim of tiny), not 0"),
        ({"dim": 17}, "head dimension must be between 1 and 16 (max_dim of tiny), not 17"),
        ({"value_dim": 0}, "value dimension must be between 1 and 16 (max_dim of tiny), not 0"),
        ({"value_dim": 17}, "value dimension must be between 1 and 16 (max_dim of tiny), not 17"),
        ({"q_rows": 0}, "query rows per block must be between 1 and 32 (max_rows of tiny), not 0"),
        ({"q_rows": 33}, "query rows per block must be between 1 and 32 (max_rows of tiny), not 33"),
        ({"latency": -1}, "memory latency must be between 0 and 64 cycles, not -1"),
        ({"latency": 65}, "memory latency must be between 0 and 64 cycles, not 65"),
        ({"q_position": 1025}, "query position must be between -1024 and 1024, not 1025"),
        ({"q_position": -1025}, "query position must be between -1024 and 1024, not -1025"),
        ({"scale_mantissa": 1 << 16}, "scale 65536 >> 10 is outside the engine's range"),
        ({"scale_mantissa": -1}, "scale -1 >> 10 is outside the engine's range"),
        ({"scale_shift": 48}, "scale 32768 >> 48 is outside the engine's range"),
        ({"scale_shift": -1}, "scale 32768 >> -1 is outside the engine's range"),
    ],
)
def test_bad_value_is_named(change, message):
    with pytest.raises(JobError) as error:
        replace(JOB, **change).check(TINY)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change",
    [
        {"n_q": 1024, "n_kv": 1024, "dim": 16, "value_dim": 16, "q_rows": 32},
        {"n_q": 1, "n_kv": 1, "dim": 1, "value_dim": 1, "q_rows": 1},
        {"latency": 0, "q_position": -1024, "scale_mantissa": 0, "scale_shift": 0},
        {"latency": 64, "q_position": 1024, "scale_mantissa": 65535, "scale_shift": 47},
    ],
)
def test_ends_of_the_ranges_are_allowed(change):
    replace(JOB, **change).check(TINY)


@pytest.mark.parametrize("name", ["tiny", "base", "q88"])
@pytest.mark.parametrize("n_q, n_kv, dim, value_dim", [(1, 1, 1, 1), (5, 9, 3, 6), (8, 3, 16, 1)])
def test_layout_packs_the_operands(name, n_q, n_kv, dim, value_dim):
    c = NAMED[name]
    at = layout(c, replace(JOB, n_q=n_q, n_kv=n_kv, dim=dim, value_dim=value_dim))
    for stride, count, size in (
        (at.q_stride, dim, c.element_bytes),
        (at.k_stride, dim, c.element_bytes),
        (at.v_stride, value_dim, c.element_bytes),
        (at.o_stride, value_dim, 2),
    ):
        assert stride % c.word_bytes == 0 and stride - c.word_bytes < count * size <= stride
    ends = [
        at.q_address,
        at.q_address + n_q * at.q_stride,
        at.k_address + n_kv * at.k_stride,
        at.v_address + n_kv * at.v_stride,
        at.o_address + n_q * at.o_stride,
    ]
    assert ends == [0, at.k_address, at.v_address, at.o_address, at.scratch_address]


def test_layout_that_just_fits_and_one_that_does_not():
    """2 queries and 1,021 keys of 4 bytes, as many of V, and 2 rows of 8 bytes out: 8,192 bytes."""
    small = replace(TINY, memory_bytes=8192)
    fits = replace(JOB, n_q=2, n_kv=1021)
    assert layout(small, fits).scratch_address == small.memory_bytes
    with pytest.raises(JobError) as error:
        layout(small, replace(fits, n_kv=1022))
    assert str(error.value) == (
        "memory of tiny is too small: the run needs 8200 bytes, memory_bytes is 8192; "
        "use a configuration with more memory or a shorter sequence"
    )


LOWEST, HIGHEST = 2.0**-44, 16.0  # z units of 2**-12: 2**15 * 2**-47 and 2**16


def test_scale_is_within_its_rounding_over_the_whole_range():
    exponents = np.random.default_rng(0).uniform(math.log2(LOWEST), math.log2(HIGHEST), 4000)
    edges = [2.0**e * f for e in range(-44, 4) for f in (1, 1.5, 1 + 2**-16, 2 - 2**-17, 2 - 2**-40)]
    for factor in [*np.exp2(exponents).tolist(), *edges]:
        mantissa, shift = encode_scale(factor)
        assert 1 << 15 <= mantissa < 1 << 16
        assert 0 <= shift <= 47
        assert abs(mantissa * 2.0 ** (-shift - 12) / factor - 1) <= 2**-16, factor


@pytest.mark.parametrize(
    "factor, encoded",
    [
        (0.0, (0, 0)),
        (5e-324, (0, 0)),
        (LOWEST * (1 - 2**-16), (0, 0)),
        (LOWEST * (1 - 2**-20), (1 << 15, 47)),  # rounds up into the range
        (LOWEST, (1 << 15, 47)),
        (1.0, (1 << 15, 3)),
        (HIGHEST * (1 - 2**-16), (65535, 0)),
        (HIGHEST, (65535, 0)),
        (1e300, (65535, 0)),
    ],
)
def test_scale_ends(factor, encoded):
    assert encode_scale(factor) == encoded
