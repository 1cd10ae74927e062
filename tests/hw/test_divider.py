"""The serial divider, over every dividend and divisor."""

import random

import pytest

from hw.divider import divider
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run


def divide(pairs, bits, divisor_bits, backend, extra=0):
    """(quotient, remainder) of each pair in the cycle after its last step, and before its first one."""
    columns = {"load": [], "step": [], "dividend": [], "divisor": []}
    for dividend, divisor in pairs:
        columns["load"] += [1, *[0] * (bits + extra)]
        columns["step"] += [0, *[0] * extra, *[1] * bits]
        columns["dividend"] += [dividend] + [(1 << bits) - 1 - dividend] * (bits + extra)  # it is taken once
        columns["divisor"] += [divisor] * (bits + extra + 1)
    ports = {
        "load": bit(), "step": bit(), "dividend": unsigned(bits), "divisor": unsigned(divisor_bits),
        "quotient": unsigned(bits), "remainder": unsigned(divisor_bits),
    }  # fmt: skip
    trace = run(divider, ports, columns, ["quotient", "remainder"], backend, after=1)
    found = list(zip(trace["quotient"], trace["remainder"], strict=True))
    length = bits + extra + 1
    return found[length::length], found[1 : len(found) - 1 : length]


@BACKENDS
@pytest.mark.parametrize("bits, divisor_bits", [(4, 3), (3, 4), (2, 1), (5, 2)])
def test_every_pair(bits, divisor_bits, backend):
    pairs = [(dividend, divisor) for dividend in range(1 << bits) for divisor in range(1, 1 << divisor_bits)]
    after, before = divide(pairs, bits, divisor_bits, backend)
    assert after == [divmod(*pair) for pair in pairs]
    assert before == [(dividend, 0) for dividend, _ in pairs]  # as for a divisor of 1


@BACKENDS
@pytest.mark.parametrize("extra", [0, 3])
def test_heads_and_groups(extra, backend):
    """The widths of the engine, the largest values, and cycles without a step."""
    rng = random.Random(extra)
    pairs = [(256, 64), (256, 1), (256, 3), (1, 64), (63, 64), (64, 64), (65, 64), (511, 127), (0, 1)]
    pairs += [(rng.randrange(512), rng.randint(1, 127)) for _ in range(60)]
    assert divide(pairs, 9, 7, backend, extra)[0] == [divmod(*pair) for pair in pairs]


@BACKENDS
def test_a_load_in_the_middle(backend):
    """It begins anew; a step with the load counts for nothing."""
    columns = {"load": [1, 0, 0, 1, 0, 0, 0, 0], "step": [1] * 8, "dividend": 13, "divisor": 4}
    ports = {
        "load": bit(), "step": bit(), "dividend": unsigned(4), "divisor": unsigned(3), "quotient": unsigned(4),
        "remainder": unsigned(3),
    }  # fmt: skip
    trace = run(divider, ports, columns, ["quotient", "remainder"], backend, after=1)
    assert (trace["quotient"][8], trace["remainder"][8]) == (3, 1)
