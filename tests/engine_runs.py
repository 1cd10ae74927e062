"""Runs of the whole engine for tests: random and extreme heads, and the comparison with golden."""

import math
import os

import numpy as np
import pytest

from gen import icarus, verilator
from gen.simulate import EngineResult, Run, simulate
from golden.config import EngineConfig
from golden.job import Job, encode_scale
from golden.predict import TIMED, predict
from golden.quantise import quantise

LOG2E = math.log2(math.e)


def need(simulator: str) -> None:
    """Fail if Verilator, a dependency, is not there; skip, or fail where CI insists, if Icarus is not."""
    if simulator == "verilator" and verilator.missing():
        pytest.fail(verilator.missing())
    reason = icarus.missing() if simulator == "icarus" else None
    if reason and os.environ.get("FLASHTILE_REQUIRE_ICARUS"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def run_of(config: EngineConfig, q, k, v, **fields) -> Run:
    """Quantise float arrays [n_q, d], [n_kv, d], [n_kv, d_v] and describe their run; `fields` are those of Job."""
    (q, q_step, _), (k, k_step, _), (v, _, _) = (quantise(array, config) for array in (q, k, v))
    factor = q_step * k_step * LOG2E / math.sqrt(q.shape[-1])
    return raw_run(q, k, v, encode_scale(factor), **fields)


def raw_run(q, k, v, scale=(40000, 20), q_rows=None, place=None, **fields) -> Run:
    """The run of raw integer arrays, with or without a head axis; scale: (mantissa, shift)."""
    q, k, v = (np.asarray(array, dtype=np.int64) for array in (q, k, v))
    n_q, n_kv = q.shape[-2], k.shape[-2]
    if fields.get("causal"):
        fields.setdefault("q_position", n_kv - n_q)
    if q.ndim == 3:
        fields |= {"heads": len(q), "group": len(q) // len(k)}
    job = Job(n_q, n_kv, q.shape[-1], v.shape[-1], *scale, q_rows=q_rows or n_q, **fields)
    return Run(job, q, k, v, place)


def random_run(config: EngineConfig, n_q, n_kv, dim, value_dim, rng, heads=None, group=1, **fields) -> Run:
    """Normally distributed data of the given shape; heads: None for arrays without a head axis."""
    q, kv = ((), ()) if heads is None else ((heads,), (heads // group,))
    shapes = ((*q, n_q, dim), (*kv, n_kv, dim), (*kv, n_kv, value_dim))
    return run_of(config, *(rng.standard_normal(shape) for shape in shapes), **fields)


def assert_exact(config: EngineConfig, runs, simulator: str) -> list:
    """Simulate the runs and compare output, m, l and every counter with golden; returns the results."""
    need(simulator)
    results = simulate(config, runs, simulator)
    assert len(results) == len(runs)
    for run, result in zip(runs, results, strict=True):
        assert_equal(config, run, result)
    return results


def assert_equal(config: EngineConfig, run: Run, result: EngineResult, stalled: bool = False) -> None:
    """What a run gave is what golden says; stalled: but for the counters that memory stalls change."""
    prediction = predict(config, run.job, run.q, run.k, run.v)
    golden = prediction.result
    for name, got, wanted in (
        ("output", result.output, golden.output),
        ("m", result.maximum, golden.maximum),
        ("l", result.total, golden.total),
    ):
        wrong = np.argwhere(got != wanted)
        assert not len(wrong), f"{name} differs first at {wrong[0].tolist()} of {len(wrong)}: {run.job}"
    if run.job.state:
        assert (result.state == np.stack([golden.maximum, golden.total])).all(), run.job
    for name, wanted in prediction.counters.items():
        if not (stalled and name in TIMED):
            assert result.counters[name] == wanted, f"{name} is {result.counters[name]}, not {wanted}: {run.job}"
    assert result.counters.keys() == prediction.counters.keys()
