"""The tile walker, against golden.schedule.walk."""

import random

import pytest

from golden.config import NAMED
from golden.job import Job
from golden.schedule import walk
from hw.signals import bit, signed, unsigned
from hw.tile_walker import TileRecord, tile_walker
from tests.hw.flow import CONFIGS, IDLE
from tests.hw.harness import BACKENDS, run

FIELDS = TileRecord.FIELDS


def job(n_q, n_kv, q_rows, causal=False, q_position=0):
    return Job(n_q, n_kv, 1, 1, 1 << 15, 10, q_rows, causal, q_position)


def records(config, run_):
    """What the walker has to show for each tile, in the order of TileRecord.FIELDS, and the rows of its block."""
    tiles = list(walk(config, run_))
    return [
        (
            tile.streamed, tile.finals, tile.first_row, tile.final_end, tile.diagonal, tile.keys,
            int(tile.tile == 0), int(tile.last), int(tile is tiles[-1]), tile.rows,
        )
        for tile in tiles
    ]  # fmt: skip


def ports(config):
    length = config.max_keys.bit_length()
    return {
        "start": bit(), "advance": bit(), "n_q": unsigned(length), "n_kv": unsigned(length),
        "q_rows": unsigned(config.max_rows.bit_length()), "q_position": signed(length + 1), "causal": bit(),
        "tile": TileRecord(config), "rows": unsigned(config.max_rows.bit_length()),
    }  # fmt: skip


def check(config, jobs, backend, idle=False, cut=None):
    """Walk the jobs one after the other; cut: start the next one after that many tiles."""
    rng = random.Random(len(jobs))
    inputs, expected = [], []
    for run_ in jobs:
        names = ("n_q", "n_kv", "q_rows", "q_position", "causal")
        descriptor = {name: int(getattr(run_, name)) for name in names}
        inputs.append(descriptor | {"start": 1, "advance": 0})
        expected.append(None)
        for record in records(config, run_)[:cut]:
            waits = rng.randint(1, 3) if idle and rng.random() < 0.5 else 0
            for advance in (*[0] * waits, 1):
                inputs.append(descriptor | {"start": 0, "advance": advance})
                expected.append(record)
    names = [*(f"tile_{name}" for name in FIELDS), "rows"]
    columns = {name: [values[name] for values in inputs] for name in inputs[0]}
    trace = run(tile_walker, ports(config), columns, names, backend, {"config": config})
    found = list(zip(*(trace[name] for name in names), strict=True))
    for cycle, record in enumerate(expected):
        assert record is None or found[cycle] == record, f"cycle {cycle}"


def draw(config, rng):
    n_q, n_kv = (rng.randint(1, min(limit, config.max_keys)) for limit in (40, 90))
    reach = config.max_keys
    position = rng.choice([0, max(-reach, n_kv - n_q), rng.randint(-50, 100), rng.choice([-reach, reach])])
    position = min(max(position, -reach), reach)
    return job(n_q, n_kv, rng.randint(1, config.max_rows), rng.random() < 0.7, position)


@IDLE
@pytest.mark.parametrize("name", ["tiny", "base", "wide", "lanes16", "smallest"])
def test_random_descriptors(name, idle, backend):
    rng = random.Random(name)
    check(CONFIGS[name], [draw(CONFIGS[name], rng) for _ in range(40)], backend, idle)


@BACKENDS
@pytest.mark.parametrize("causal", [False, True])
def test_edges(causal, backend):
    """Single rows and keys, exact and ragged tiles and blocks, and positions around every boundary."""
    config = NAMED["tiny"]
    jobs = [
        job(n_q, n_kv, q_rows, causal, position)
        for n_q, q_rows in ((1, 1), (1, 32), (8, 8), (9, 8), (12, 12), (33, 32))
        for n_kv in (1, 4, 5, 12)
        for position in (-40, -4, -3, -1, 0, 1, 3, 4, 11, 12, 100)
    ]
    check(config, jobs, backend)


@BACKENDS
def test_the_largest_descriptor(backend):
    """Positions and lengths at their limits: the widest diagonal that there is."""
    config = CONFIGS["smallest"]
    top = config.max_keys
    jobs = [job(n, top, 1, causal, p) for n in (1, top) for causal in (False, True) for p in (-top, top)]
    check(config, jobs, backend)
    tiny = NAMED["tiny"]
    check(tiny, [job(1024, 1024, 32, True, position) for position in (-1024, 0, 1024)], backend, cut=300)


@BACKENDS
def test_start_in_the_middle_of_a_run(backend):
    """A run that was cut off (by reset) leaves nothing behind."""
    rng = random.Random(5)
    check(NAMED["tiny"], [draw(NAMED["tiny"], rng) for _ in range(40)], backend, cut=2)
