"""The processing element."""

import numpy as np
import pytest

from hw.pe import pe
from hw.signals import bit, signed
from tests.hw.harness import BACKENDS, run

CYCLES = 400


def expected(columns, first_row):
    """act_out (from cycle 1 on), weight_out (from 1 on) and psum_out (from 3 on), from the contract."""
    waiting, active = 0, 0
    weights, sums = [], []
    for cycle, act in enumerate(columns["act_in"]):
        if columns["swap"][cycle]:
            active = waiting  # before this cycle's shift
        if columns["shift"][cycle]:
            waiting = columns["weight_in"][cycle]
        weights.append(waiting)
        due = cycle + 3
        psum = 0 if first_row else columns["psum_in"][due] if due < CYCLES else 0
        sums.append(psum + act * active)
    return columns["act_in"], weights, sums


def drive(columns, widths, first_row, backend):
    act, weight, psum = widths
    ports = {name: signed(act) for name in ("act_in", "act_out")}
    ports |= {name: signed(weight) for name in ("weight_in", "weight_out")}
    ports |= {"psum_out": signed(psum), "shift": bit(), "swap": bit()}
    parameters = {}
    if first_row:
        parameters["psum_in"] = None
        columns = {name: values for name, values in columns.items() if name != "psum_in"}
    else:
        ports["psum_in"] = signed(psum)
    return run(pe, ports, columns, ["act_out", "weight_out", "psum_out"], backend, parameters)


def check(columns, widths, first_row, backend):
    # The registers' values are known from the first shift and the first swap on.
    columns["shift"][0] = columns["swap"][1] = 1
    found = drive(columns, widths, first_row, backend)
    acts, weights, sums = expected(columns, first_row)
    assert found["act_out"][1:] == acts[:-1]
    assert found["weight_out"][1:] == weights[:-1]
    assert found["psum_out"][5:] == sums[1:-4]


def sides(bits):
    return [-(1 << (bits - 1)), (1 << (bits - 1)) - 1]


@BACKENDS
@pytest.mark.parametrize("first_row", [True, False])
@pytest.mark.parametrize("widths", [(8, 8, 18), (16, 16, 36), (18, 8, 28), (18, 16, 36)])
def test_random(widths, first_row, backend):
    rng = np.random.default_rng(sum(widths))
    act, weight, psum = widths
    # Sums of the rows above leave room for one product.
    bounds = {"act_in": act - 1, "weight_in": weight - 1, "psum_in": psum - 2}
    columns = {name: rng.integers(-(1 << b), 1 << b, CYCLES).tolist() for name, b in bounds.items()}
    columns |= {name: rng.integers(0, 2, CYCLES).tolist() for name in ("shift", "swap")}
    check(columns, widths, first_row, backend)


@BACKENDS
@pytest.mark.parametrize("first_row", [True, False])
@pytest.mark.parametrize("widths", [(8, 8, 18), (16, 16, 34), (18, 16, 36)])
def test_extremes(widths, first_row, backend):
    """Most negative times most negative is the only product that needs the top bit."""
    rng = np.random.default_rng(1)
    act, weight, psum = widths
    columns = {
        name: rng.choice(side, CYCLES).tolist()
        for name, side in (("act_in", sides(act)), ("weight_in", sides(weight)), ("psum_in", sides(psum - 1)))
    }
    columns |= {name: rng.integers(0, 2, CYCLES).tolist() for name in ("shift", "swap")}
    check(columns, widths, first_row, backend)


@BACKENDS
def test_swap_takes_the_weight_from_before_a_shift_in_the_same_cycle(backend):
    columns = {name: [0] * CYCLES for name in ("act_in", "weight_in", "psum_in", "shift", "swap")}
    columns["act_in"] = [1] * CYCLES
    columns["weight_in"][:6] = [11, 0, 22, 0, 0, 0]
    columns["shift"][2] = columns["swap"][2] = columns["swap"][5] = 1
    columns["shift"][0] = 1
    found = drive(columns, (8, 8, 18), False, backend)
    # 11 is active for the activations of cycles 2 to 4, and 22 from cycle 5 on, each seen four cycles later.
    assert found["psum_out"][6:13] == [11, 11, 11, 22, 22, 22, 22]
