"""Rows of S and P for memory, against golden's rounding and saturation."""

import random

import pytest

from golden import latency
from golden.formats import P_BITS, Z_BITS, half_up, saturate
from golden.naive import P_LIMIT, S_BITS, S_SHIFT
from hw.scratch_row import scratch_row
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, pack, run, unpack

KEPT = S_SHIFT - 1  # bits of z that are cut off before: one more than S has after the point is left
Z_LANE = Z_BITS - KEPT
TOP = 1 << S_BITS - 1  # in units of S


def check(rows, lanes, backend):
    """rows: (take_s, lanes of s20.9, visible lanes, lanes of UQ1.16)."""
    inputs = {
        "take_s": [take for take, *_ in rows], "z": [pack(z, Z_LANE) for _, z, _, _ in rows],
        "visible": [visible for _, _, visible, _ in rows], "p": [pack(p, P_BITS) for *_, p in rows],
    }  # fmt: skip
    ports = {
        "z": unsigned(lanes * Z_LANE), "take_s": bit(), "visible": unsigned(lanes), "p": unsigned(lanes * P_BITS),
        "lanes_out": unsigned(lanes * S_BITS), "out_of_range": unsigned(lanes),
    }  # fmt: skip
    trace = run(
        scratch_row, ports, inputs, ["lanes_out", "out_of_range"], backend, {"lanes": lanes}, after=latency.SCRATCH
    )
    for cycle, (take, z, visible, p) in enumerate(rows):
        exact = [int(half_up(value, 1)) for value in z]
        s = [int(saturate(value, S_BITS)) for value in exact]
        # What S is of the whole z: the bits below are of no importance.
        assert s == [int(saturate(half_up(value << KEPT, S_SHIFT), S_BITS)) for value in z]
        over = sum(1 << lane for lane in range(lanes) if exact[lane] != s[lane]) & visible
        stored = [value & (1 << S_BITS) - 1 for value in s] if take else [min(value, P_LIMIT) for value in p]
        assert unpack(trace["lanes_out"][cycle + latency.SCRATCH], S_BITS, lanes) == stored, cycle
        assert trace["out_of_range"][cycle + 1] == over, cycle


@BACKENDS
def test_around_both_ends_and_halves(backend):
    """The first values that are saturated, the last ones that are not, and every half; hidden, shown, and not taken."""
    z = [sign * value + step for value in (2 * TOP, 2 * TOP - 2, 0, 2, 255, 1 << 20) for sign in (1, -1)
         for step in range(-4, 5)]  # fmt: skip
    z += [(1 << Z_LANE - 1) - 1, (1 << Z_LANE - 1) - 2, -(1 << Z_LANE - 1), 1 - (1 << Z_LANE - 1)]
    check([(take, [value], shown, [5]) for value in z for take in (0, 1) for shown in (0, 1)], 1, backend)


@BACKENDS
def test_a_probability_of_one(backend):
    p = [0, 1, 2, (1 << 16) - 2, (1 << 16) - 1, 1 << 16]
    check([(0, [2 * TOP], 1, [value]) for value in p], 1, backend)


@BACKENDS
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_random_rows(lanes, backend):
    """Rows of S and of P in turn, without a gap; each lane for itself."""
    rng, rows = random.Random(lanes), []
    for _ in range(200):
        reach = rng.choice((4, TOP, 2 * TOP + 9, 1 << Z_LANE - 1))
        z = [rng.choice((rng.randrange(-reach, reach), 2 * TOP - 1, -2 * TOP - 2)) for _ in range(lanes)]
        p = [rng.choice((rng.randrange(1 << 16), 1 << 16)) for _ in range(lanes)]
        rows.append((rng.randrange(2), z, rng.getrandbits(lanes), p))
    check(rows, lanes, backend)
