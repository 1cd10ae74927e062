"""Descriptors with all fields at once: exact in output and in every counter, with stalls and resets, or refused."""

from dataclasses import replace

import numpy as np
import pytest

from gen.bench import described
from gen.simulate import EngineFault, play
from golden.config import NAMED, EngineConfig
from golden.cycles import cycles
from golden.job import MAX_GROUP, MAX_HEADS, Job, JobError
from golden.latency import check
from golden.layout import Layout, Refusal, layout, refusal
from hw.ports import Descriptor
from tests.engine_runs import assert_equal, need, random_run
from tests.random_descriptors import random_descriptor, shrink

TINY = NAMED["tiny"]
SLOWEST_STALLS = 250  # of 256 cycles


def play_seeds(config, seeds, stalled=False):
    """Run the descriptors of these seeds, one after the other; the first that fails is shrunk to a small one."""
    need("verilator")

    def one(bench, run, seed):
        if stalled:
            bench.stall(seed * 7 % SLOWEST_STALLS, seed * 13 % SLOWEST_STALLS, seed)
        limit = (200 if stalled else 2) * cycles(config, run.job).busy + 1000
        assert_equal(config, run, bench.run(run, limit), stalled)

    def all_of_them(bench):
        bench.restart()
        for seed in seeds:
            run = random_descriptor(config, seed)
            try:
                one(bench, run, seed)
            except (AssertionError, EngineFault) as error:
                return run, seed, error
        return None

    def fails(run, seed):
        try:
            play(config, lambda bench: (bench.restart(), one(bench, run, seed)), "verilator")
        except (AssertionError, EngineFault):
            return True
        except JobError:  # packed without gaps, it does not fit
            return False
        return False

    failed = play(config, all_of_them, "verilator")
    if failed:
        run, seed, error = failed
        smallest = shrink(run, lambda smaller: fails(smaller, seed)).job
        pytest.fail(f"seed {seed} of {config.name}: {error}\nsmallest that fails: {smallest}")


def test_random_descriptors():
    play_seeds(TINY, range(1000, 1120))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("tiny", 260), ("base", 80), ("q88", 70), ("lanes16", 70), ("wide", 20)])
def test_500_random_descriptors(name, count):
    play_seeds(NAMED[name], range(count))


def test_random_descriptors_behind_a_memory_that_stalls():
    play_seeds(TINY, range(2000, 2080), stalled=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("tiny", 260), ("base", 80), ("q88", 70), ("lanes16", 70), ("wide", 20)])
def test_500_random_descriptors_behind_a_memory_that_stalls(name, count):
    play_seeds(NAMED[name], range(5000, 5000 + count), stalled=True)


# Arrays that no named configuration has: rectangular both ways, words wider and narrower than a chunk or a row of S.
ARRAYS = [
    EngineConfig("wide8x16", "int8", 8, 16, 8, 32, 32, 256, 65536),
    EngineConfig("tall16x4", "q8.8", 16, 4, 8, 32, 16, 256, 65536),
    EngineConfig("lane1x2", "int8", 1, 2, 16, 8, 8, 64, 16384),
    EngineConfig("shared8x8", "int8", 8, 8, 8, 64, 32, 256, 65536, softmax_lanes=2),
    EngineConfig("one_lane", "q8.8", 4, 16, 4, 16, 16, 256, 65536, softmax_lanes=1),
    EngineConfig("short4x16", "int8", 4, 16, 2, 16, 4, 64, 16384),
]


def test_softmax_lanes_that_a_row_shares():
    config = replace(TINY, name="shared", softmax_lanes=2)
    play_seeds(config, range(60))
    play_seeds(config, range(60, 90), stalled=True)


@pytest.mark.slow
@pytest.mark.parametrize("config", ARRAYS, ids=lambda config: config.name)
def test_other_arrays(config):
    play_seeds(config, range(40))
    play_seeds(config, range(40, 60), stalled=True)


def test_stalls_cost_cycles():
    run = random_run(TINY, 12, 20, 5, 6, np.random.default_rng(0), q_rows=4)

    def script(bench):
        bench.restart()
        free = bench.run(run, 5000).counters
        bench.stall(100, 100, 1)
        held = bench.run(run, 50000).counters
        bench.stall(0, 0, 0)
        return free, held, bench.run(run, 5000).counters

    free, held, again = play(TINY, script, "verilator")
    assert held["busy"] > 1.2 * free["busy"] and again == free


MODES = {
    "group": {"heads": 4, "group": 2, "causal": True},
    "window": {"causal": True, "window": 5, "state": True},
    "naive": {"naive": True},
    "naive heads": {"naive": True, "heads": 2, "causal": True, "state": True},
}


@pytest.mark.parametrize("mode", MODES)
def test_reset_at_any_cycle(mode):
    """Reset at random cycles of every mode, the check of the descriptor included; the next run is exact."""
    need("verilator")
    rng = np.random.default_rng(3)
    run = random_run(TINY, 9, 14, 5, 6, rng, q_rows=4, **MODES[mode])
    place, busy = layout(TINY, run.job), cycles(TINY, run.job).busy
    cuts = [*range(1, 25), *(int(cut) for cut in rng.integers(25, busy, 60))]

    def script(bench):
        bench.restart()
        for cut in cuts:
            bench.start(run.job, place)
            bench.step(cut - 1)
            assert bench.busy
            bench.restart(1)
            assert not bench.busy and not bench.get("status_done")
            assert_equal(TINY, run, bench.run(run, 2 * busy))

    play(TINY, script, "verilator")


@pytest.mark.parametrize(
    ("simulator", "mode"), [("icarus", "naive heads"), ("icarus", "group"), ("myhdl", "naive heads")]
)
def test_modes_in_the_other_simulators(simulator, mode):
    need(simulator)
    run = random_run(TINY, 5, 9, 5, 3, np.random.default_rng(4), q_rows=4, **MODES[mode])
    play(TINY, lambda bench: (bench.restart(), assert_equal(TINY, run, bench.run(run, 5000))), simulator)


JOB = Job(6, 9, 5, 7, 40000, 15, 4)
PLACE = layout(TINY, JOB)


def faults(config) -> list[tuple[Refusal, Job, Layout]]:
    """A descriptor for each reason to refuse one, and both sides of most limits."""
    most, memory, word = config.max_keys, config.memory_bytes, config.word_bytes
    state, naive = replace(JOB, state=True), replace(JOB, naive=True)
    cases = [
        (Refusal.QUERIES, replace(JOB, n_q=0), PLACE), (Refusal.QUERIES, replace(JOB, n_q=most + 1), PLACE),
        (Refusal.KEYS, replace(JOB, n_kv=0), PLACE), (Refusal.KEYS, replace(JOB, n_kv=2**32 - 1), PLACE),
        (Refusal.DIM, replace(JOB, dim=0), PLACE), (Refusal.DIM, replace(JOB, dim=config.max_dim + 1), PLACE),
        (Refusal.VALUE_DIM, replace(JOB, value_dim=0), PLACE),
        (Refusal.VALUE_DIM, replace(JOB, value_dim=65535), PLACE),
        (Refusal.Q_ROWS, replace(JOB, q_rows=0), PLACE), (Refusal.Q_ROWS, replace(JOB, q_rows=64), PLACE),
        (Refusal.HEADS, replace(JOB, heads=0), PLACE), (Refusal.HEADS, replace(JOB, heads=MAX_HEADS + 1), PLACE),
        (Refusal.GROUP, replace(JOB, group=0), PLACE), (Refusal.GROUP, replace(JOB, heads=3, group=2), PLACE),
        (Refusal.GROUP, replace(JOB, heads=130, group=MAX_GROUP + 1), PLACE),
        (Refusal.WINDOW, replace(JOB, window=0), PLACE),
        (Refusal.POSITION, replace(JOB, q_position=most + 1), PLACE),
        (Refusal.POSITION, replace(JOB, q_position=-most - 1), PLACE),
        (Refusal.SCALE, replace(JOB, scale_shift=48), PLACE),
        (Refusal.MISALIGNED, JOB, replace(PLACE, k_address=PLACE.k_address + 1)),
        (Refusal.MISALIGNED, JOB, replace(PLACE, o_head_stride=word - 1)),
        (Refusal.STRIDE, JOB, replace(PLACE, q_stride=0)), (Refusal.STRIDE, JOB, replace(PLACE, o_stride=3 * word)),
        (Refusal.STRIDE, state, replace(PLACE, state_stride=word)),
        (Refusal.Q_MEMORY, JOB, replace(PLACE, q_address=memory)),
        (Refusal.Q_MEMORY, JOB, replace(PLACE, q_stride=2**32 - word)),
        (Refusal.K_MEMORY, JOB, replace(PLACE, k_address=memory - word)),
        (Refusal.K_MEMORY, replace(JOB, heads=2), replace(PLACE, k_head_stride=2**31)),
        (Refusal.V_MEMORY, JOB, replace(PLACE, v_address=2**32 - word)),
        (Refusal.V_MEMORY, JOB, replace(PLACE, v_stride=memory // 8)),
        (Refusal.O_MEMORY, JOB, replace(PLACE, o_address=memory - 4 * word * 6 + word)),
        (Refusal.STATE_MEMORY, state, replace(PLACE, state_address=memory - word)),
        (Refusal.SCRATCH_MEMORY, naive, replace(PLACE, scratch_address=memory - 3 * 4 * 2 * word + word)),
        (Refusal.OVERLAP, JOB, replace(PLACE, o_address=PLACE.o_address - word)),
        (Refusal.OVERLAP, JOB, replace(PLACE, o_address=0)),
        (Refusal.OVERLAP, JOB, replace(PLACE, q_address=PLACE.o_address + 23 * word)),
        (Refusal.OVERLAP, state, replace(PLACE, state_address=PLACE.o_address + 4)),
        (Refusal.OVERLAP, naive, replace(PLACE, scratch_address=PLACE.v_address)),
        (Refusal.NONE, JOB, replace(PLACE, o_address=memory - 4 * word * 6)),
        (Refusal.NONE, naive, replace(PLACE, scratch_address=memory - 3 * 4 * 2 * word)),
        (Refusal.NONE, JOB, replace(PLACE, state_address=1, scratch_address=3, state_stride=2**32 - 1)),
        (Refusal.NONE, replace(JOB, n_q=1), replace(PLACE, q_stride=2**31)),
    ]  # fmt: skip
    assert {code for code, _, _ in cases} == set(Refusal) - {Refusal.BUSY}
    return cases


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("myhdl", marks=pytest.mark.slow)])
def test_every_illegal_descriptor_is_refused(simulator):
    """With its own code, in fewer than 64 cycles and without a touch of the memory; the next run is exact."""
    need(simulator)
    good = random_run(TINY, 5, 6, 3, 4, np.random.default_rng(8))

    def script(bench):
        bench.restart()
        for code, job, place in faults(TINY):
            assert refusal(TINY, job, place) is code, (code, job, place)
            bench.start(job, place)
            bench.step(63)
            if code is Refusal.NONE:
                bench.wait(5000)
                assert bench.get("status_done") and bench.refusal is code
                continue
            assert not bench.busy and bench.refusal is code, (code, bench.refusal)
            assert not bench.get("status_done")
            counters = bench.counters()
            assert counters.pop("busy") < 40 and not any(counters.values())
            assert_equal(TINY, good, bench.run(good, 2000))
            assert bench.get("status_done") and bench.refusal is Refusal.NONE

    play(TINY, script, simulator)


def test_the_verdict_comes_when_golden_says():
    def script(bench):
        bench.restart()
        found = []
        for job, _ in jobs:
            bench.start(job, replace(layout(TINY, job), o_address=0))
            bench.wait(64)
            found.append((bench.refusal, bench.counters()["busy"]))
        return found

    jobs = [
        (job, check(job))
        for job in (JOB, replace(JOB, heads=2), replace(JOB, heads=6, group=3, state=True), replace(JOB, window=2),
                    replace(JOB, naive=True, state=True, heads=4, group=2, window=3))
    ]  # fmt: skip
    need("verilator")
    assert play(TINY, script, "verilator") == [(Refusal.OVERLAP, cycle) for _, cycle in jobs]


def test_random_faults_are_judged_as_golden_does():
    """Descriptors of any values at all: the lowest reason is reported; what is not refused is not run to its end."""
    rng = np.random.default_rng(11)
    need("verilator")

    widths = {name: len(getattr(Descriptor(), name)) for name in Descriptor().names()}

    def value(name, good):
        if name in ("causal", "windowed", "overlap", "naive", "state"):
            return int(rng.integers(2))
        if rng.random() < 0.9:
            return good
        value = int(rng.choice([0, 1, good + 1, good + 4, 255, 256, 257, 1024, 1025, 16384, 2**15, 2**16 - 1]))
        return value & ((1 << widths[name]) - 1)

    def script(bench):
        bench.restart()
        codes = set()
        for _ in range(600):
            fields = {name: value(name, good) for name, good in described(JOB, PLACE).items()}
            window = fields["window"] if fields.pop("windowed") else None
            job = Job(**{name: fields[name] for name in fields if hasattr(JOB, name)} | {"window": window})
            place = Layout(**{name: fields[name] for name in fields if hasattr(PLACE, name)})
            wanted = refusal(TINY, job, place)
            bench.start(job, place)
            bench.step(40)
            assert bench.busy == (wanted is Refusal.NONE), (wanted, job, place)
            assert bench.refusal is wanted, (wanted, bench.refusal, job, place)
            bench.restart(1)
            codes.add(wanted)
        return codes

    assert len(play(TINY, script, "verilator")) > 14


def test_a_start_while_busy_is_refused_and_changes_nothing():
    need("verilator")
    run = random_run(TINY, 6, 9, 4, 4, np.random.default_rng(2))
    place = layout(TINY, run.job)

    def script(bench):
        bench.restart()
        first = bench.run(run, 2000)
        bench.start(run.job, place)
        bench.step(30)
        bench.start(replace(run.job, n_q=1), place)
        assert bench.busy and bench.refusal is Refusal.BUSY
        bench.wait(2000)
        assert bench.refusal is Refusal.BUSY and bench.get("status_done")
        assert bench.counters() == first.counters
        assert_equal(TINY, run, bench.run(run, 2000))

    play(TINY, script, "verilator")
