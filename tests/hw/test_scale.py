"""Score to z, against golden.flash.scores."""

import numpy as np
import pytest

from golden import latency
from golden.flash import scores
from golden.formats import SCALE_BITS, SCALE_SHIFT_MAX, SHIFT_BITS, Z_BITS
from golden.job import Job
from hw.scale import scale
from hw.signals import bit, signed, unsigned
from tests.hw.harness import BACKENDS, run

MANTISSAS = [0, 1, 1 << 15, (1 << 16) - 1]


def check(bits, runs, backend):
    """Scores of each run of (mantissa, shift, scores), which keeps its scale until its last z is out."""
    # A cycle before the first run: in Icarus, inputs that stay 0 arrive only with the first clock edge.
    s, mantissa, shift = [-1], [1], [1]
    for run_mantissa, run_shift, run_scores in runs:
        length = len(run_scores) + latency.SCALE
        s += [*run_scores, *[0] * latency.SCALE]
        mantissa += [run_mantissa] * length
        shift += [run_shift] * length
    ports = {
        "s": signed(bits), "mantissa": unsigned(SCALE_BITS), "shift": unsigned(SHIFT_BITS),
        "z": signed(Z_BITS), "saturated": bit(),
    }  # fmt: skip
    columns = {"s": s, "mantissa": mantissa, "shift": shift}
    found = run(scale, ports, columns, ["z", "saturated"], backend)
    start, clamped = latency.SCALE + 1, set()
    for run_mantissa, run_shift, run_scores in runs:
        job = Job(len(run_scores), 1, 1, 1, run_mantissa, run_shift, q_rows=1)
        z, over = scores(np.array(run_scores)[:, None], np.array([[1]]), job)
        window = slice(start, start + len(run_scores))
        assert found["z"][window] == z[:, 0].tolist(), (run_mantissa, run_shift)
        assert found["saturated"][window] == over[:, 0].tolist(), (run_mantissa, run_shift)
        clamped |= set(z[over].tolist())
        start += len(run_scores) + latency.SCALE
    return clamped


def extremes(bits):
    """The ends of the range of scores, and of the part that the first multiplier takes."""
    top = 1 << (bits - 2)
    values = [0, 1, -1, top, top - 1, -top, 1 << 16, (1 << 17) - 1, 1 << 17, -(1 << 17), -(1 << 17) - 1, top // 3]
    return [max(-top, min(top, value)) for value in values]


# With no score beyond the first multiplier, with multiples of the mantissa besides, and with a second multiplier.
@BACKENDS
@pytest.mark.parametrize("bits", [18, 19, 20, 22, 23, 36, 37])
def test_every_shift(bits, backend):
    rng = np.random.default_rng(bits)
    runs = []
    for shift in range(SCALE_SHIFT_MAX + 1):
        for mantissa in (MANTISSAS[shift % 2], MANTISSAS[2 + shift % 2], int(rng.integers(1 << SCALE_BITS))):
            noise = rng.integers(-(1 << (bits - 2)), 1 << (bits - 2), 4).tolist()
            runs.append((mantissa, shift, [*extremes(bits), *noise]))
    clamped = check(bits, runs, backend)
    # A score of 18 bits times a 16-bit mantissa reaches beyond 32 bits.
    if bits >= 18:
        assert clamped == {-(1 << 31), (1 << 31) - 1}


@BACKENDS
@pytest.mark.parametrize("bits", [1, 2, 16])
def test_narrow_scores_never_saturate(bits, backend):
    ends = [-(1 << (bits - 1)), (1 << (bits - 1)) - 1, 0]
    runs = [(mantissa, shift, ends) for mantissa in MANTISSAS for shift in (0, 1, 15, 16, 31, 47)]
    assert not check(bits, runs, backend)


@BACKENDS
@pytest.mark.parametrize("shift", [0, 1, 4])
def test_ends_of_the_range(shift, backend):
    """The last products that fit z and the first that do not, around the rounding of each."""
    around = range(-3, 4)
    runs = []
    for mantissa in (1, 3, 5):
        limit = ((1 << 31) << shift) // mantissa
        half = (1 << shift) // (2 * mantissa)
        values = [sign * limit + side * half + step for sign in (-1, 1) for side in (-1, 0, 1) for step in around]
        runs.append((mantissa, shift, values))
    assert check(40, runs, backend) == {-(1 << 31), (1 << 31) - 1}


@BACKENDS
def test_ties_round_up(backend):
    assert not check(20, [(1 << 10, 11, list(range(-9, 10))), (3, 1, list(range(-9, 10)))], backend)
