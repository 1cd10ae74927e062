"""The ring buffer of probability rows."""

import random

import pytest

from golden import latency
from golden.formats import P_BITS, SHIFT_BITS
from hw.p_buffer import p_buffer
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import CONFIGS, IDLE
from tests.hw.harness import pack, run, unpack

# The companions of a row, and the names under which they come out.
COMPANIONS = ("row", "shift", "fresh", "row_final", "last_final")
READ = ("act_row", "act_shift", "act_fresh", "act_final", "act_last_final")


def ports(config):
    lanes, rows, index = config.array_keys, index_bits(config.max_rows), index_bits(config.p_rows)
    signals = {"reset": bit(), "write": bit(), "p": unsigned(lanes * P_BITS), "act": unsigned(lanes * (P_BITS + 1))}
    signals |= {"write_index": unsigned(index), "read_index": unsigned(index)}
    for names in (COMPANIONS, READ):
        for name, width in zip(names, (rows, SHIFT_BITS, None, None, None), strict=True):
            signals[name] = unsigned(width) if width else bit()
    return signals


def random_row(rng, config):
    """A row of p, 0 and 1.0 among its lanes, and its companions."""
    lanes = [rng.choice((0, 1, (1 << P_BITS) - 1, 1 << 16, rng.getrandbits(P_BITS))) for _ in range(config.array_keys)]
    companions = (rng.randrange(config.max_rows), rng.getrandbits(SHIFT_BITS), *(rng.getrandbits(1) for _ in range(3)))
    return lanes, dict(zip(COMPANIONS, companions, strict=True))


def script(config, cycles, idle, resets):
    """Inputs, and what act and its companions (None: not written yet) and write_index must be cycle by cycle."""
    rng, depth = random.Random(cycles), config.p_rows
    rows, index = [None] * depth, 0
    inputs, expected, indices = [], [], []
    for cycle in range(cycles):
        lanes, companions = random_row(rng, config)
        write = int(not idle or rng.random() < 0.5)
        read_index = rng.choice([slot for slot in range(depth) if slot != index])
        reset = int(cycle in resets)
        inputs.append({"reset": reset, "write": write, "p": pack(lanes, P_BITS), "read_index": read_index} | companions)
        expected.append(rows[read_index])
        indices.append(index)
        if write:
            rows[index] = (lanes, companions)
        index = 0 if reset else (index + write) % depth
    return {name: [values[name] for values in inputs] for name in inputs[0]}, expected, indices


@IDLE
@pytest.mark.parametrize("name", ["tiny", "lanes16", "smallest"])
def test_reads_any_row_while_rows_are_written(name, idle, backend):
    """Three times round the ring, with a reset in the middle: rows go on from index 0."""
    config = CONFIGS[name]
    cycles = 6 * config.p_rows + 60
    inputs, expected, indices = script(config, cycles, idle, (0, cycles // 2))
    outputs = ["write_index", "act", *READ]
    trace = run(p_buffer, ports(config), inputs, outputs, backend, {"config": config}, after=latency.FEED)
    assert trace["write_index"][1:cycles] == indices[1:]
    seen = 0
    for cycle, row in enumerate(expected):
        if row is None:
            continue
        lanes, companions = row
        assert unpack(trace["act"][cycle + latency.FEED], P_BITS + 1, config.array_keys, signed=True) == lanes
        assert [trace[name][cycle + latency.FEED] for name in READ] == list(companions.values())
        seen += 1
    assert seen > cycles // 3
