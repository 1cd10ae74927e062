"""The delay in RAM."""

import random

import pytest

from hw.ring import ring
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run


@BACKENDS
@pytest.mark.parametrize("cycles", [3, 4, 5, 8, 9, 16, 17, 64])
def test_delays_by_that_many_cycles(cycles, backend):
    """From the first reset on, and again after another."""
    rng = random.Random(cycles)
    length = 3 * cycles + 40
    d = [rng.randint(0, 511) for _ in range(length)]
    resets = (0, length // 2)
    ports = {"reset": bit(), "d": unsigned(9), "q": unsigned(9)}
    columns = {"d": d, "reset": [int(t in resets) for t in range(length)]}
    trace = run(ring, ports, columns, ["q"], backend, {"cycles": cycles})
    for t in range(cycles + 1, length):
        if not any(t - cycles <= reset < t for reset in resets):
            assert trace["q"][t] == d[t - cycles], t


@pytest.mark.parametrize("cycles", [2, 65])
def test_other_lengths_are_refused(cycles):
    with pytest.raises(AssertionError, match=f"3 to 64 cycles, not {cycles}"):
        ring(bit(), bit(), unsigned(4), unsigned(4), cycles)
