"""Runs of the whole engine for tests: random and extreme heads, and the comparison with golden."""

import math
import os

import numpy as np
import pytest

from gen import icarus, verilator
from gen.simulate import Run, simulate
from golden.config import EngineConfig
from golden.job import Job, encode_scale
from golden.predict import predict
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
    factor = q_step * k_step * LOG2E / math.sqrt(q.shape[1])
    return raw_run(q, k, v, encode_scale(factor), **fields)


def raw_run(q, k, v, scale=(40000, 20), q_rows=None, **fields) -> Run:
    """The run of raw integer arrays; scale: (mantissa, shift)."""
    q, k, v = (np.asarray(array, dtype=np.int64) for array in (q, k, v))
    if fields.get("causal"):
        fields.setdefault("q_position", len(k) - len(q))
    job = Job(len(q), len(k), q.shape[1], v.shape[1], *scale, q_rows=q_rows or len(q), **fields)
    return Run(job, q, k, v)


def random_run(config: EngineConfig, n_q, n_kv, dim, value_dim, rng, **fields) -> Run:
    """Normally distributed data of the given shape."""
    shapes = ((n_q, dim), (n_kv, dim), (n_kv, value_dim))
    return run_of(config, *(rng.standard_normal(shape) for shape in shapes), **fields)


def assert_exact(config: EngineConfig, runs, simulator: str) -> list:
    """Simulate the runs and compare output, m, l and every counter with golden; returns the results."""
    need(simulator)
    results = simulate(config, runs, simulator)
    assert len(results) == len(runs)
    for run, result in zip(runs, results, strict=True):
        prediction = predict(config, run.job, run.q, run.k, run.v)
        golden = prediction.result
        assert result.counters == prediction.counters, run.job
        for name, got, wanted in (
            ("output", result.output, golden.output),
            ("m", result.maximum, golden.maximum),
            ("l", result.total, golden.total),
        ):
            wrong = np.argwhere(got != wanted)
            assert not len(wrong), f"{name} differs first at {wrong[0].tolist()} of {len(wrong)}: {run.job}"
    return results
