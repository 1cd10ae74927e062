"""The bit-true datapath against an independent one, one Python integer at a time, that checks every declared width."""

import math
import random
import time
from dataclasses import replace

import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import flash
from golden.formats import formats
from golden.job import Job, encode_scale
from golden.oracle import attention
from golden.quantise import dequantise_output, quantise
from golden.tables import reciprocal

ONE_HOT, UNIFORM = (65535, 0), (0, 0)


def rounded(value, shift):
    return (value + (1 << (shift - 1))) >> shift if shift else value


def model(config, job, q, k, v):
    """One head by docs/numerics.md: output, m, l, seen, saturations. Raises AssertionError where a value overflows."""
    format_of = formats(config)

    def fits(name, value):
        bits, signed = format_of[name].n_word, format_of[name].signed
        low = -(1 << (bits - 1)) if signed else 0
        assert low <= value < low + (1 << bits), f"{name} {value} overflows"
        return value

    def power(x):  # 2**-x with 16 fraction bits, x with 12
        return rounded(math.floor(2 ** (17 - (x & 4095) / 4096) + 0.5), (x >> 12) + 1) if x <= 18 << 12 else 0

    out, maxima, sums, seens, saturations = [], [], [], [], 0
    for i, query in enumerate(q):
        m = total = 0
        seen, accumulator = False, [0] * job.value_dim
        for start in range(0, job.n_kv, config.array_keys):
            keys = range(start, min(start + config.array_keys, job.n_kv))
            z = {}
            for j in keys:
                if job.causal and j > i + job.q_position:
                    continue
                score = fits("score", sum(a * b for a, b in zip(query, k[j], strict=True)))
                exact = rounded(score * job.scale_mantissa, job.scale_shift)
                z[j] = fits("z", min(max(exact, -(1 << 31)), (1 << 31) - 1))
                saturations += int(z[j] != exact)
            if not z:
                continue
            new = max(-(-value // 4096) for value in z.values())
            if seen:
                new = max(new, m)
                total = rounded(total, new - m)
                accumulator = [rounded(o, new - m) for o in accumulator]
            m, seen = fits("maximum", new), True
            for j, value in z.items():
                p = fits("p", power((m << 12) - value))
                total = fits("sum", total + p)
                accumulator = [fits("accumulator", o + p * x) for o, x in zip(accumulator, v[j], strict=True)]
        row = [0] * job.value_dim
        if seen:
            exponent = total.bit_length() - 1
            mantissa = total << 17 - exponent if exponent <= 17 else rounded(total, exponent - 17)
            if mantissa == 1 << 18:
                mantissa, exponent = 1 << 17, exponent + 1
            for column, o in enumerate(accumulator):
                scaled = rounded(o, exponent + config.element_bits - 17)
                assert -(1 << 17) <= scaled < 1 << 17, f"normalised accumulator {scaled} overflows 18 bits"
                quotient = rounded(scaled * int(reciprocal(mantissa)), 18)
                row[column] = fits("output", min(max(quotient, -(1 << 15)), (1 << 15) - 1))
        out.append(row)
        maxima.append(m)
        sums.append(total)
        seens.append(seen)
    return out, maxima, sums, seens, saturations


def make_job(q, k, v, scale, **change):
    return Job(len(q), len(k), len(q[0]), len(v[0]), *scale, **({"q_rows": 4} | change))


def check(config, job, q, k, v):
    """Equal to the model, and every output within its column of V (what a weighted mean has to be)."""
    job.check(config)
    found = flash(config, job, q, k, v)
    as_lists = *(getattr(found, name).tolist() for name in ("output", "maximum", "total", "seen")), found.saturations
    assert as_lists == model(config, job, q, k, v)
    unit = 256 if config.element == "int8" else 1
    columns = np.asarray(v) * unit
    rows = found.output[found.seen]
    assert (columns.min(axis=0) - 1 <= rows).all()
    assert (rows <= columns.max(axis=0) + 1).all()
    return found


def draw(rng, config, rows, columns, choices=None):
    most = 1 << (config.element_bits - 1)
    return [
        [rng.choice(choices) if choices else rng.randint(-most, most - 1) for _ in range(columns)] for _ in range(rows)
    ]


@pytest.mark.parametrize("seed", range(80))
def test_random(seed):
    rng = random.Random(seed)
    config = NAMED[rng.choice(list(NAMED))]
    n_q, n_kv, dim, value_dim = (rng.randint(1, 20) for _ in range(4))
    dim, value_dim = min(dim, config.max_dim), min(value_dim, config.max_dim)
    q, k, v = draw(rng, config, n_q, dim), draw(rng, config, n_kv, dim), draw(rng, config, n_kv, value_dim)
    # From flat rows to one-hot ones; z is about typical * 2**12.
    typical = 2.0 ** rng.uniform(-3, 6)
    scale = encode_scale(typical / (4.0 ** (config.element_bits - 2) * math.sqrt(dim)))
    causal = {"causal": True, "q_position": rng.choice([0, n_kv - n_q, -2])} if seed % 2 else {}
    check(config, make_job(q, k, v, scale, **causal), q, k, v)


def extremes(pattern, config, n_q, n_kv, dim, value_dim):
    low, high = -(1 << (config.element_bits - 1)), (1 << (config.element_bits - 1)) - 1
    choices = {
        "max": ([high], [high], [high]),
        "min": ([low], [low], [low]),
        "max against min": ([high], [low], [low]),
        "min times max": ([low], [low], [high]),
        "mixed": ([low, high],) * 3,
        "equal rows": (None,) * 3,
    }.get(pattern, ([0],) * 3)
    rng = random.Random(pattern)
    q, k, v = (
        draw(rng, config, rows, columns, values)
        for rows, columns, values in zip((n_q, n_kv, n_kv), (dim, dim, value_dim), choices, strict=True)
    )
    if pattern == "equal rows":
        q, k, v = q[:1] * n_q, k[:1] * n_kv, v[:1] * n_kv
    if pattern == "outlier":
        q[n_q // 2][-1] = k[n_kv // 2][-1] = high
        v[n_kv // 2][0] = low
    if pattern in ("rising", "falling"):
        # Every tile has a new maximum, or none after the first has.
        for j in range(n_kv):
            k[j][0] = (j if pattern == "rising" else n_kv - 1 - j) * high // n_kv
            v[j] = [high if j % 2 else low] * value_dim
        for row in q:
            row[0] = high
    return q, k, v


@pytest.mark.parametrize(
    "scale", [ONE_HOT, UNIFORM, "typical", (65535, 47)], ids=["one-hot", "uniform", "typical", "smallest"]
)
@pytest.mark.parametrize(
    "shape", [(5, 7, 16, 16), (1, 9, 3, 5), (6, 1, 4, 4)], ids=["ragged", "single row", "single key"]
)
@pytest.mark.parametrize(
    "pattern",
    ["max", "min", "max against min", "min times max", "mixed", "equal rows", "zeros", "outlier", "rising", "falling"],
)
@pytest.mark.parametrize("name", ["tiny", "q88"])
def test_extremes(name, pattern, shape, scale):
    config = NAMED[name]
    q, k, v = extremes(pattern, config, *shape)
    if scale == "typical":
        scale = encode_scale(8.0 / 4.0 ** (config.element_bits - 1))
    check(config, make_job(q, k, v, scale), q, k, v)


@pytest.mark.parametrize("pattern", ["max", "min", "mixed", "max against min", "rising"])
@pytest.mark.parametrize("scale", [ONE_HOT, UNIFORM], ids=["one-hot", "uniform"])
@pytest.mark.parametrize("name", ["tiny", "q88", "lanes16"])
def test_full_scale_at_the_largest_sizes(name, scale, pattern):
    config = NAMED[name]
    q, k, v = extremes(pattern, config, 1, config.max_keys, config.max_dim, config.max_dim)
    check(config, make_job(q, k, v, scale), q, k, v)


def test_largest_sum_fills_its_format():
    """All keys equal and z a whole number: l is max_keys, the largest there is."""
    config = NAMED["tiny"]
    q = k = [[0]] * config.max_keys
    found = flash(config, make_job(q[:1], k, k, UNIFORM), q[:1], k, k)
    assert found.total.tolist() == [config.max_keys << 16]
    assert int(found.total[0]).bit_length() == config.sum_bits


@pytest.mark.parametrize("name, value", [("tiny", -128), ("tiny", 127), ("q88", -32768), ("q88", 32767), ("q88", 1)])
@pytest.mark.parametrize("n_kv", [1, 3, 4, 37])
def test_mean_of_equal_values_is_that_value(name, value, n_kv):
    """To within one LSB of the output."""
    q, k, v = [[1, 2]], [[j % 3, 1] for j in range(n_kv)], [[value]] * n_kv
    found = check(NAMED[name], make_job(q, k, v, encode_scale(0.3)), q, k, v)
    assert abs(found.output[0, 0] - value * (256 if name == "tiny" else 1)) <= 1


@pytest.mark.parametrize(
    "name, value, first, last",
    [
        ("tiny", -128, [-1, 58], [113, -84]),
        ("q88", -32768, [-73, 99], [59, -71]),
        ("q88", 32767, [-34, -90], [103, -106]),
    ],
)
def test_output_saturates(name, value, first, last):
    """Rescaling rounds l down and O away from zero: the mean of equal values comes out one beyond the format."""
    q, k, v = [[127, 1]], [first, [-128, 0], [-128, 0], [-128, 0], last], [[value]] * 5
    found = check(NAMED[name], make_job(q, k, v, (1 << 15, 15)), q, k, v)
    assert found.output[0, 0] in (-32768, 32767)


def test_one_hot_picks_the_best_key():
    q, k, v = [[100]], [[j] for j in (3, 90, -128, 89, 0)], [[10], [20], [30], [40], [50]]
    found = check(NAMED["tiny"], make_job(q, k, v, encode_scale(1.0)), q, k, v)
    assert found.output.tolist() == [[20 * 256]]


def test_saturation_counts_only_what_is_visible():
    q, k, v = [[100], [100]], [[1], [127]], [[5], [7]]
    job = make_job(q, k, v, ONE_HOT, causal=True)
    # 100 * 127 * 65535 is below 2**31; sixteen elements are not.
    assert not flash(NAMED["tiny"], job, q, k, v).saturations
    wide_q, wide_k = [row * 16 for row in q], [row * 16 for row in k]
    job = replace(job, dim=16)
    assert check(NAMED["tiny"], job, wide_q, wide_k, v).saturations
    assert not check(NAMED["tiny"], replace(job, n_q=1), wide_q[:1], wide_k, v).saturations


def head(config, seed, n, d):
    rng = np.random.default_rng(seed)
    x = [rng.standard_normal((n, d)) for _ in range(3)]
    raw, lsb, _ = zip(*(quantise(tensor, config) for tensor in x), strict=True)
    scale = encode_scale(lsb[0] * lsb[1] / math.sqrt(d) * math.log2(math.e))
    return x, raw, lsb, Job(n, n, d, d, *scale, q_rows=16)


@pytest.mark.parametrize("name, n, d", [("base", 50, 32), ("q88", 19, 16), ("wide", 33, 5)])
def test_result_is_independent_of_the_blocks(name, n, d):
    """Neither rows per block, nor overlap and latency, nor cutting the queries in two changes anything."""
    config = NAMED[name]
    _, raw, _, job = head(config, 3, n, d)
    job = replace(job, causal=True)
    whole = flash(config, job, *raw)
    for change in ({"q_rows": 1}, {"q_rows": 7}, {"q_rows": 32}, {"overlap": False}, {"latency": 0}):
        again = flash(config, replace(job, **change), *raw)
        assert (again.output == whole.output).all()
        assert (again.total == whole.total).all()
    cut = 11
    rest = flash(config, replace(job, n_q=n - cut, q_position=cut), raw[0][cut:], *raw[1:])
    assert (rest.output == whole.output[cut:]).all()
    assert (rest.maximum == whole.maximum[cut:]).all()


def test_hidden_keys_do_not_matter():
    config = NAMED["tiny"]
    _, (q, k, v), _, job = head(config, 0, 12, 4)
    job = replace(job, n_q=1, causal=True, q_position=5)
    expected = flash(config, job, q[:1], k, v)
    k, v = k.copy(), v.copy()
    k[6:], v[6:] = 127, -128
    found = flash(config, job, q[:1], k, v)
    assert (found.output == expected.output).all()
    assert found.total == expected.total


@pytest.mark.parametrize("name", ["tiny", "q88"])
@pytest.mark.parametrize("q_position, masked", [(-1, 1), (-5, 5), (-12, 12), (-500, 12)])
def test_fully_masked_rows_are_zero(name, q_position, masked):
    config = NAMED[name]
    _, raw, _, job = head(config, 1, 12, 4)
    job = replace(job, causal=True, q_position=q_position)
    found = check(config, job, *(tensor.tolist() for tensor in raw))
    assert found.seen.tolist() == [False] * masked + [True] * (12 - masked)
    assert not found.output[:masked].any()
    assert not found.maximum[:masked].any()
    assert not found.total[:masked].any()


def errors(config, n, d, seeds=200):
    """Absolute errors against exact softmax (of the quantised elements, of the floats), V steps or Q8.8 values."""
    of_raw, of_float = [], []
    for seed in range(seeds):
        x, raw, lsb, job = head(config, seed, n, d)
        found = dequantise_output(flash(config, job, *raw).output, lsb[2], config)
        step = lsb[2] if config.element == "int8" else 1
        exact = attention(*(tensor * unit for tensor, unit in zip(raw, lsb, strict=True)), 1 / math.sqrt(d))
        of_raw.append(np.abs(found - exact) / step)
        of_float.append(np.abs(found - attention(*x, 1 / math.sqrt(d))) / step)
    return np.array(of_raw), np.array(of_float)


def test_int8_datapath_error():
    datapath, _ = errors(NAMED["tiny"], n=32, d=4)
    print(f"INT8 N=32 d=4, 200 seeds: mean {datapath.mean():.5f}, maximum {datapath.max():.4f} of a V step")
    assert datapath.mean() <= 0.0012
    assert datapath.max() <= 0.012


def test_q88_error_against_float64():
    for against, error in zip(("the same integers", "the floats"), errors(NAMED["q88"], n=16, d=16), strict=True):
        print(f"Q8.8 N=16 d=16, 200 seeds, against {against}: mean {error.mean():.5f}, maximum {error.max():.4f}")
        assert error.mean() <= 0.0012
        assert error.max() <= 0.006


def test_a_real_heads_size_takes_under_two_seconds():
    config = NAMED["base"]
    _, raw, _, job = head(config, 0, 146, 32)
    start = time.perf_counter()
    flash(config, job, *raw)
    assert time.perf_counter() - start < 2
