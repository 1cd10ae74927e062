"""The tile walker, against golden.schedule.walk."""

import random

import pytest

from golden.config import NAMED
from golden.load_times import SKIP
from golden.load_times import WALK as LOADER_WALK
from golden.schedule import walk
from hw.run_plan import Plan
from hw.run_registers import Run
from hw.signals import bit, unsigned
from hw.tile_walker import TileRecord, tile_walker
from tests.hw.descriptors import job, named, plan_fields, random_job, run_fields, tile_record
from tests.hw.flow import CONFIGS, IDLE
from tests.hw.harness import BACKENDS, run

WALK = LOADER_WALK - 1  # from a start; from an advance, a cycle more
RUN = ("n_kv", "q_rows", "q_position", "causal", "windowed", "naive", "group")
PLAN = (
    "rows", "position_rows", "window_rows", "kv_heads", "block_queries", "block_members", "begin", "begin_rows",
)  # fmt: skip
RECORD = (*(f"tile_{name}" for name in TileRecord.FIELDS), "rows", "first")


def record(tile, end):
    """What the walker has to show for a tile, in the order of RECORD; end: it is the last one of all."""
    return *tile_record(tile, end), tile.rows, int(tile.first)


def ports(config):
    return {
        "reset": bit(), "start": bit(), "advance": bit(), "run": Run(config), "plan": Plan(config),
        "tile": TileRecord(config), "rows": unsigned(config.max_rows.bit_length()), "first": bit(), "valid": bit(),
        "coming_phase": unsigned(3), "coming_first": bit(), "skip": bit(), "next_head": bit(),
    }  # fmt: skip


class Script:
    """Jobs one after the other, cycle by cycle, and what the walker shows in each cycle."""

    def __init__(self, config, idle=False):
        self.config, self.idle, self.rng = config, idle, random.Random(1)
        self.inputs, self.shown, self.skips, self.heads = [], {}, [], []
        self.constant, self.unwatched = {}, {0}

    def cycle(self, **events):
        self.inputs.append(self.constant | {"reset": 0, "start": 0, "advance": 0} | events)

    def walk(self, run_, cut=1 << 30):
        """The tiles of a job, or the first `cut` of them and then a reset."""
        fields = run_fields(self.config, run_), plan_fields(self.config, run_)
        self.constant = named("run", {name: fields[0][name] for name in RUN})
        self.constant |= named("plan", {name: fields[1][name] for name in PLAN})
        if run_.window is None:  # then it is of no importance
            self.constant["plan_window_rows"] = self.rng.randrange(self.config.max_keys)
        tiles = walk(self.config, run_)
        tile = next(tiles)
        self.unwatched.add(len(self.inputs))
        self.cycle(start=1)
        for _ in range(cut):
            # WALK cycles after start or the cycle after advance, and SKIP more for each tile that is passed over.
            at = len(self.inputs) - 1
            self.skips += [at + 2 + SKIP * index for index in range(tile.skipped)]
            for _ in range(WALK + SKIP * tile.skipped - 1):
                self.cycle()
            following = next(tiles, None)
            shown = record(tile, following is None)
            waits = self.rng.randint(1, 3) if self.idle and self.rng.random() < 0.5 else 0
            for advance in (*[0] * waits, 1):
                self.shown[len(self.inputs)] = shown
                self.cycle(advance=advance)
            self.shown[len(self.inputs)] = shown
            if following is None or following.kv_head != tile.kv_head:
                self.heads.append(len(self.inputs))
            self.cycle()
            if following is None:
                # It goes on to a KV head that is not there, until the next start.
                self.unwatched.update(range(len(self.inputs), len(self.inputs) + 9))
                for _ in range(9):
                    self.cycle()
                return
            tile = following
        self.reset()

    def reset(self):
        self.unwatched.add(len(self.inputs))
        self.cycle(reset=1)

    def check(self, backend):
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[-1]}
        names = ("valid", "skip", "next_head", "coming_phase", "coming_first", *RECORD)
        trace = run(tile_walker, ports(self.config), inputs, names, backend, {"config": self.config})
        phase, first = RECORD.index("tile_phase"), RECORD.index("first")
        for cycle, shown in self.shown.items():
            assert tuple(trace[name][cycle] for name in RECORD) == shown, f"cycle {cycle}"
            coming = trace["coming_phase"][cycle - 1], trace["coming_first"][cycle - 1]
            assert coming == (shown[phase], shown[first]), f"cycle {cycle}"
        for name, cycles in (("valid", self.shown), ("skip", self.skips), ("next_head", self.heads)):
            found = [cycle for cycle, flag in enumerate(trace[name]) if flag and cycle not in self.unwatched]
            assert found == list(cycles), name


def check(config, jobs, backend, idle=False, cut=1 << 30):
    script = Script(config, idle)
    for each in jobs:
        script.walk(each, cut)
    script.check(backend)


@IDLE
@pytest.mark.parametrize("name", ["tiny", "base", "lanes16", "parts16"])
def test_random_descriptors(name, idle, backend):
    rng = random.Random(name)
    check(CONFIGS[name], [random_job(CONFIGS[name], rng) for _ in range(60)], backend, idle, cut=25)


@pytest.mark.slow
@BACKENDS
@pytest.mark.parametrize("name", sorted(CONFIGS.keys() - {"smallest", "banks16"}))
@pytest.mark.parametrize("seed", range(2))
def test_many_random_descriptors(name, seed, backend):
    rng = random.Random(seed)
    check(CONFIGS[name], [random_job(CONFIGS[name], rng, 90) for _ in range(120)], backend, cut=60)


@BACKENDS
@pytest.mark.parametrize("mask", [{}, {"causal": True}, {"window": 3}, {"window": 5, "causal": True}], ids=str)
def test_edges(mask, backend):
    """Single rows and keys, exact and ragged tiles and blocks, and positions around every boundary."""
    jobs = [
        job(n_q, n_kv, q_rows, q_position=position, **mask)
        for n_q, q_rows in ((1, 1), (9, 8), (12, 4))
        for n_kv in (1, 4, 5, 12)
        for position in (-40, -4, -3, -1, 0, 1, 3, 4, 11, 12, 100)
    ]
    check(NAMED["tiny"], jobs, backend)


@BACKENDS
@pytest.mark.parametrize("naive", [False, True])
def test_windows_and_groups(naive, backend):
    """A block that begins in the middle of a group, windows that leave whole tiles out, several KV heads."""
    jobs = [
        job(11, 23, q_rows, causal=causal, window=window, heads=2 * group, group=group, q_position=12, naive=naive)
        for group, q_rows in ((1, 3), (3, 2), (4, 7), (7, 14))
        for window in (None, 1, 4, 6)
        for causal in (False, True)
    ]
    check(NAMED["tiny"], jobs, backend, cut=30)


@BACKENDS
def test_the_largest_descriptors(backend):
    """Positions, lengths, windows, groups and heads at their limits: the widest diagonal, the most rows."""
    config, tiny = CONFIGS["parts16"], NAMED["tiny"]
    top = config.max_keys
    largest = [
        job(n_q, top, 1 + 3 * causal, causal=causal, q_position=position, window=window, heads=heads, group=group)
        for n_q in (1, top)
        for causal in (False, True)
        for position in (-top, top)
        for window in (None, 1, 2 * top)
        for heads, group in ((1, 1), (256, 64))
    ]
    check(config, largest, backend, cut=20)
    largest = [
        job(1024, 1024, 32, causal=True, q_position=position, window=window, heads=group, group=group)
        for position in (-1024, 0, 1024)
        for window in (None, 1, 2048)
        for group in (1, 64)
    ]
    check(tiny, largest, backend, cut=40)


@BACKENDS
@pytest.mark.parametrize("name", ["smallest", "banks16"])
def test_blocks_of_one_row_or_two(name, backend):
    rng = random.Random(name)
    check(CONFIGS[name], [random_job(CONFIGS[name], rng) for _ in range(60)], backend, cut=25)


@BACKENDS
def test_start_in_the_middle_of_a_run(backend):
    """A run that was cut off leaves nothing behind."""
    rng = random.Random(5)
    check(NAMED["tiny"], [random_job(NAMED["tiny"], rng) for _ in range(60)], backend, cut=2)


@BACKENDS
@pytest.mark.parametrize("wait", range(6))
def test_reset_while_a_record_is_on_its_way(wait, backend):
    """It never becomes valid; the next start is like the first one."""
    script, first = Script(NAMED["tiny"]), job(9, 30, 4)
    script.walk(first, cut=2)
    script.cycle(start=1)
    for passed in range(1, wait + 1):
        if passed >= WALK:
            script.shown[len(script.inputs)] = record(next(walk(script.config, first)), False)
        script.cycle()
    script.reset()
    for _ in range(8):
        script.cycle()
    script.walk(job(9, 9, 4, window=2, q_position=6))
    script.check(backend)
