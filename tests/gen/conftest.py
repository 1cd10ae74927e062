"""A command line whose simulation is replaced by golden's prediction."""

import json

import numpy as np
import pytest

from gen import cli
from gen.simulate import EngineResult
from golden.predict import predict


def engine(config, runs, simulator, progress=None, notice=None, trace=None):
    """Stands in for the simulation: an engine that does what golden predicts."""
    results = []
    for run in runs:
        prediction = predict(config, run.job, run.q, run.k, run.v)
        result = prediction.result
        results.append(EngineResult(result.output, result.maximum, result.total, None, dict(prediction.counters)))
    return results


@pytest.fixture
def quick(monkeypatch):
    """Let the command line use :func:`engine`; returns it."""
    monkeypatch.setattr(cli, "simulate", engine)
    return engine


@pytest.fixture
def run(capsys, quick):
    """Run a command line; returns (exit code, stdout, stderr)."""

    def command(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def report(run):
    """Run with --json; returns (exit code, object)."""

    def command(*arguments):
        code, out, err = run(*arguments, "--json")
        assert err == ""
        return code, json.loads(out)

    return command


@pytest.fixture
def refuse(run, monkeypatch):
    """Run with bad input; returns the sentence. Nothing may be simulated or printed to standard output."""

    def simulated(*_):
        raise AssertionError("simulated in spite of bad input")

    def command(*arguments):
        monkeypatch.setattr(cli, "simulate", simulated)
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("flashtile: error: ") and err.endswith("\n") and err.count("\n") == 1
        return err.removeprefix("flashtile: error: ").rstrip("\n")

    return command


@pytest.fixture
def save():
    """Save q, k and v of the given shapes, or the arrays given instead; returns the path."""

    def arrays_to(path, shapes=((5, 4), (7, 4), (7, 3)), **arrays):
        rng = np.random.default_rng(0)
        np.savez(path, **({name: rng.normal(size=shape) for name, shape in zip("qkv", shapes, strict=True)} | arrays))
        return path

    return arrays_to
