"""Which keys of a tile a row sees, exhaustively over small limits, windows and tiles."""

import random
from itertools import product

import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import visible_keys as golden_keys
from hw.signals import bit, signed, unsigned
from hw.tile_walker import position_bits
from hw.visible_keys import visible_keys
from tests.hw.descriptors import job
from tests.hw.harness import BACKENDS, run

LATENCY = 3


def shown(lanes, causal, windowed, window, limit, keys):
    """A bit for each key: before the limit, and not before the window's first one."""
    return sum(
        1 << key
        for key in range(lanes)
        if key < keys and (not causal or key < limit) and (not windowed or key >= limit - window)
    )


def check(lanes, limit_bits, window_bits, cases, backend):
    names = ("causal", "windowed", "window", "limit", "keys")
    ports = {
        "causal": bit(), "windowed": bit(), "window": unsigned(window_bits), "limit": signed(limit_bits),
        "keys": unsigned(lanes.bit_length()), "visible": unsigned(lanes),
    }  # fmt: skip
    inputs = dict(zip(names, (list(column) for column in zip(*cases, strict=True)), strict=True))
    found = run(visible_keys, ports, inputs, ["visible"], backend, after=LATENCY)["visible"][LATENCY:]
    for case, bits in zip(cases, found, strict=True):
        assert bits == shown(lanes, *case), case


@BACKENDS
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_every_small_case(lanes, backend):
    windows, limits = range(lanes + 4), range(-lanes - 2, 2 * lanes + 5)
    check(lanes, 8, 6, list(product((0, 1), (0, 1), windows, limits, range(1, lanes + 1))), backend)


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "base", "wide"])
def test_extremes(name, backend):
    """The widths of the engine: limits and windows at their ends, and random ones."""
    config, rng = NAMED[name], random.Random(name)
    lanes, limit_bits, window_bits = config.array_keys, position_bits(config), config.max_keys.bit_length() + 1
    top = 1 << limit_bits - 1
    ends = [0, 1, lanes, config.max_keys, 2 * config.max_keys - 1, 2 * config.max_keys]
    limits = [-top, -top + 1, -1, 0, 1, lanes - 1, lanes, lanes + 1, top - 2, top - 1, *ends]
    cases = list(product((0, 1), (0, 1), ends, limits, (1, lanes)))
    for _ in range(300):
        window = rng.randint(0, 2 * config.max_keys)
        limit = max(-top, min(window + rng.randint(-2, lanes + 2), top - 1))
        cases.append((rng.randrange(2), 1, window, limit, rng.randint(1, lanes)))
    check(lanes, limit_bits, window_bits, cases, backend)


@pytest.mark.parametrize("fields", [{}, {"causal": True}, {"window": 5}, {"causal": True, "window": 3}], ids=str)
def test_the_model_agrees_with_golden(fields):
    """limit: keys of the tile and before, up to the row's position."""
    run_, lanes = job(30, 22, q_position=-3, **fields), 4
    golden = golden_keys(run_)
    window = fields.get("window", 0)
    for query in range(run_.n_q):
        for start in range(0, run_.n_kv, lanes):
            limit, keys = run_.q_position + query + 1 - start, min(lanes, run_.n_kv - start)
            bits = shown(lanes, "causal" in fields, "window" in fields, window, limit, keys)
            assert [bits >> key & 1 for key in range(keys)] == np.asarray(golden[query, start : start + keys]).tolist()
