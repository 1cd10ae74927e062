"""What the tests of the control and memory blocks share: how a stream flows, and configurations."""

from itertools import product

import pytest

from golden.config import NAMED, EngineConfig


def _flows(*names):
    """Both backends, each with and without what is named. Icarus: the liveliest, the others slow."""
    cases = []
    for backend in ("myhdl", "icarus"):
        for case in product((False, True), repeat=len(names)):
            marks = pytest.mark.slow if backend == "icarus" and not all(case) else ()
            words = [name if flag else f"no_{name}" for name, flag in zip(names, case, strict=True)]
            cases.append(pytest.param(backend, *case, marks=marks, id="-".join((backend, *words))))
    return pytest.mark.parametrize(("backend", *names), cases)


IDLE = _flows("idle")
FLOWS = _flows("idle", "stalls")

CONFIGS = NAMED | {
    # Nothing that could be halved; chunks of sixteen words; sixteen chunks in a word.
    "smallest": EngineConfig("smallest", "int8", 1, 1, 2, 1, 1, 16, 256),
    "banks16": EngineConfig("banks16", "q8.8", 16, 2, 2, 16, 2, 16, 256),
    "parts16": EngineConfig("parts16", "int8", 1, 2, 16, 32, 4, 16, 4096),
}


def either(rng, sometimes, chance=0.5):
    """Always 1, or with `sometimes` in that share of the cycles only."""
    return int(not sometimes or rng.random() < chance)


def cycles_of(flags):
    """The cycles in which a one-bit signal is set."""
    return [cycle for cycle, flag in enumerate(flags) if flag]
