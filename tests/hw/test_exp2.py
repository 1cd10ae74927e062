"""The exp2 unit over every input, against the golden table and against 2**-x itself."""

import numpy as np
import pytest
from myhdl import block

from golden import latency
from golden.formats import EXP2_ZERO, MAX_BITS, P_BITS, P_FRACTION, Z_BITS, Z_FRACTION
from golden.tables import exp2 as golden_exp2
from hw.exp2 import exp2
from hw.signals import bit, join, signed, split, to_signed, unsigned
from tests.hw.harness import BACKENDS, pack, run, unpack

END = 20 << Z_FRACTION  # p is 0 from 18 on
LANES = 16


@block
def exp2_lanes(clk, maximum, z, visible, p):
    """Units side by side, to get through all inputs in fewer cycles."""
    values = [unsigned(P_BITS) for _ in range(LANES)]
    instances = [join(values, p)]
    for part, value in zip(split(z, LANES), values, strict=True):
        lane = signed(Z_BITS)
        instances += [to_signed(part, lane), exp2(clk, maximum, lane, visible, value)]
    return instances


def p_of(maximum, z, visible, backend):
    """p for each m, z and visibility, given together and taken when the latency says."""
    ports = {"maximum": signed(MAX_BITS), "z": signed(Z_BITS), "visible": bit(), "p": unsigned(P_BITS)}
    columns = {"maximum": [*maximum, 0], "z": [*z, 0], "visible": [0, *visible]}  # visible is due a cycle later
    found = run(exp2, ports, columns, ["p"], backend, after=latency.EXP2 - 1)
    return found["p"][latency.EXP2 :]


def check(x, p):
    assert (p == golden_exp2(x)).all()
    assert np.abs(p - np.exp2(P_FRACTION - x / (1 << Z_FRACTION))).max() < 1


@pytest.mark.slow
def test_every_input_in_myhdl():
    x = np.random.default_rng(0).permutation(END)
    maximum = np.random.default_rng(1).integers(-500, 500, END)
    z = (maximum << Z_FRACTION) - x
    check(x, np.array(p_of(maximum.tolist(), z.tolist(), [1] * END, "myhdl")))


def test_every_input_in_icarus():
    x = np.random.default_rng(0).permutation(END).reshape(-1, LANES)
    maximum = np.random.default_rng(1).integers(-500, 500, len(x))
    z = (maximum[:, None] << Z_FRACTION) - x
    ports = {"maximum": signed(MAX_BITS), "z": unsigned(LANES * Z_BITS), "visible": bit()}
    ports["p"] = unsigned(LANES * P_BITS)
    columns = {"maximum": maximum.tolist(), "z": [pack(row, Z_BITS) for row in z.tolist()], "visible": 1}
    found = run(exp2_lanes, ports, columns, ["p"], "icarus", after=latency.EXP2)
    p = [unpack(lanes, P_BITS, LANES) for lanes in found["p"][latency.EXP2 :]]
    check(x, np.array(p))


@BACKENDS
def test_hidden_lanes_give_zero(backend):
    """Hidden lanes, whose x may be anything, negative too, among visible ones with an x of 0."""
    rng = np.random.default_rng(2)
    visible = rng.integers(0, 2, 400).tolist()
    maximum = rng.integers(-(1 << 19), 1 << 19, 400).tolist()
    low, high = -(1 << (Z_BITS - 1)), (1 << (Z_BITS - 1)) - 1
    z = [m << Z_FRACTION if shown else int(rng.integers(low, high)) for m, shown in zip(maximum, visible, strict=True)]
    assert p_of(maximum, z, visible, backend) == [shown << P_FRACTION for shown in visible]


@BACKENDS
def test_large_x_gives_zero(backend):
    """Beyond the exhaustive range, at the powers of two that a narrower x would drop, and at the ends of m and z."""
    bottom = -(1 << 31)
    whole = [EXP2_ZERO, 20, 31, 32, 33, 63, 64, 96, 127, 128, 1 << 10, 1 << 15, 1 << 18, (1 << 19) - 1]
    x = [(k << Z_FRACTION) + f for k in whole for f in (0, 1, 4095)]
    x += [1 << power for power in range(17, 32)]
    maximum = [0 if value < 1 << 31 else 1 for value in x] + [1 << 19, 1 << 19, (1 << 19) - 1]
    z = [(m << Z_FRACTION) - value for m, value in zip(maximum, x, strict=False)] + [bottom, bottom + 1, bottom]
    assert p_of(maximum, z, [1] * len(z), backend) == [0] * len(z)


@BACKENDS
@pytest.mark.parametrize("maximum", [-(1 << 19), -1, 0, 1, (1 << 19) - 1, 1 << 19])
def test_ends_of_the_maximum(maximum, backend):
    """The largest maximum is one that only the ceiling of a saturated z reaches."""
    rng = np.random.default_rng(3)
    x = np.array([0, 1, 2, 4095, 4096, 4097, *rng.integers(0, END, 60)])
    z = (maximum << Z_FRACTION) - x
    inside = (z >= -(1 << 31)) & (z < 1 << 31)
    x, z = x[inside], z[inside]
    p = p_of([maximum] * len(x), z.tolist(), [1] * len(x), backend)
    check(x, np.array(p))
