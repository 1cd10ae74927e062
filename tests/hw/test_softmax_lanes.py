"""Scale and exp2 of a row by a unit for each score, or by fewer that it shares: the same values, later."""

import random
from dataclasses import replace

import pytest
from myhdl import block

from golden import latency
from golden.config import NAMED
from golden.formats import MAX_BITS, P_BITS, Z_BITS, Z_FRACTION
from golden.tables import exp2
from hw.signals import bit, join, signed, split, to_signed, unsigned
from hw.softmax_lanes import exp2_lanes, scale_lanes
from tests.hw.harness import BACKENDS, pack, run, unpack
from tests.hw.online_softmax import scaled

TINY = NAMED["tiny"]
SHARES = pytest.mark.parametrize("lanes", [1, 2, 4])
BITS = TINY.score_bits
ROWS = 25


@block
def packed_scale(clk, valid, s, mantissa, shift, z, over, config):
    z_list, over_list = [signed(Z_BITS) for _ in range(4)], [bit() for _ in range(4)]
    units = scale_lanes(clk, valid, s, mantissa, shift, z_list, over_list, config)
    return units, join(z_list, z), join(over_list, over)


@block
def packed_exp2(clk, valid, maximum, z, visible, p, config):
    z_list, p_list = [signed(Z_BITS) for _ in range(4)], [unsigned(P_BITS) for _ in range(4)]
    casts = [to_signed(lane, value) for lane, value in zip(split(z, 4), z_list, strict=True)]
    return casts, exp2_lanes(clk, valid, maximum, z_list, visible, p_list, config), join(p_list, p)


def spaced(config, rows, idle):
    """Rows as far apart as the units take them; what comes between them is of no importance."""
    rng = random.Random(0)
    for row in rows:
        yield 1, row
        for _ in range(config.row_cycles - 1):
            yield 0, idle(rng)


@SHARES
@BACKENDS
def test_scale(lanes, backend):
    config, rng = replace(TINY, softmax_lanes=lanes), random.Random(lanes)
    ends = [-(1 << BITS - 2), 1 << BITS - 2]  # see hw.scale

    def draw(rng):
        return [rng.choice([*ends, 0, rng.randint(*ends)]) for _ in range(4)]

    rows = [draw(rng) for _ in range(ROWS)]
    steps = list(spaced(config, rows, draw))
    ports = {
        "valid": bit(), "s": unsigned(4 * BITS), "mantissa": unsigned(16), "shift": unsigned(6),
        "z": unsigned(4 * Z_BITS), "over": unsigned(4),
    }  # fmt: skip
    inputs = {"valid": [valid for valid, _ in steps], "s": [pack(row, BITS) for _, row in steps]}
    at = latency.scale(config)
    constants = {"mantissa": 65535, "shift": 1}
    trace = run(packed_scale, ports, inputs | constants, ["z", "over"], backend, {"config": config}, after=at)
    for index, row in enumerate(rows):
        z, over = scaled(row, 65535, 1)
        cycle = index * config.row_cycles + at
        assert unpack(trace["z"][cycle], Z_BITS, 4, True) == z
        assert unpack(trace["over"][cycle], 1, 4) == over


@SHARES
@BACKENDS
def test_exp2(lanes, backend):
    config, rng = replace(TINY, softmax_lanes=lanes), random.Random(lanes)

    def draw(rng):
        """m, z of each lane, which lanes are visible."""
        maximum = rng.choice([-(1 << MAX_BITS - 2), 1 << MAX_BITS - 2, rng.randint(-300, 300)])
        top = min(maximum << Z_FRACTION, (1 << Z_BITS - 1) - 1)
        z = [max(top - rng.choice([0, 1, rng.randrange(20 << 12)]), -1 << 31) for _ in range(4)]
        return maximum, z, rng.randrange(16)

    rows = [draw(rng) for _ in range(ROWS)]
    steps = list(spaced(config, rows, draw))
    ports = {
        "valid": bit(), "maximum": signed(MAX_BITS), "z": unsigned(4 * Z_BITS), "visible": unsigned(4),
        "p": unsigned(4 * P_BITS),
    }  # fmt: skip
    inputs = {
        "valid": [valid for valid, _ in steps], "maximum": [row[0] for _, row in steps],
        "z": [pack(row[1], Z_BITS) for _, row in steps], "visible": [row[2] for _, row in steps],
    }  # fmt: skip
    at = latency.EXP2 + latency.shared(config)
    trace = run(packed_exp2, ports, inputs, ["p"], backend, {"config": config}, after=at)
    for index, (maximum, z, visible) in enumerate(rows):
        wanted = [
            int(exp2((maximum << Z_FRACTION) - value)) if visible >> lane & 1 else 0 for lane, value in enumerate(z)
        ]
        assert unpack(trace["p"][index * config.row_cycles + at], P_BITS, 4) == wanted
