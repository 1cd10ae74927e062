"""What the tests of the control and memory blocks share: how a stream flows, and events by cycle."""

import pytest

from golden.config import NAMED, EngineConfig

IDLE = pytest.mark.parametrize("idle", [False, True], ids=["no_idle", "idle"])
BACK_PRESSURE = pytest.mark.parametrize("stalls", [False, True], ids=["no_stalls", "stalls"])

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


def at(cycles, length):
    """A one-bit signal that is set in the given cycles."""
    flags = [0] * length
    for cycle in cycles:
        flags[cycle] = 1
    return flags
