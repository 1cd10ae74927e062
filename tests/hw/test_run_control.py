"""Start, the verdict, the end of a run, and what is counted meanwhile."""

import random
from dataclasses import replace

import pytest

from gen.bench import described
from golden import latency
from golden.config import NAMED
from golden.layout import Refusal, pack
from hw.run_registers import Run
from tests.hw.descriptors import job, named, plan_fields, run_fields
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS
from tests.hw.run_unit import Bench

TINY = NAMED["tiny"]
EVENTS = ("scored", "valued", "last_output", "tile_scored", "under_way")
COUNTERS = ("busy", "compute", "mm1_busy", "mm2_busy", "memory_stall", "tiles", "saturations")
COUNTED = tuple(f"counters_{name}" for name in COUNTERS)


def given(run_, config=TINY):
    return named("descriptor", described(run_, pack(config, run_)))


class Counts:
    """What a run has to count, cycle by cycle, a cycle late."""

    def __init__(self):
        self.values, self.computing, self.saturated = dict.fromkeys(COUNTERS, 0), False, 0
        self.late = dict.fromkeys(EVENTS, 0)

    def step(self, now, out_of_range):
        values, events, self.late = self.values, self.late, now
        values["busy"] += 1
        values["compute"] += self.computing or events["scored"]
        values["mm1_busy"] += events["scored"]
        values["mm2_busy"] += events["valued"]
        values["memory_stall"] += events["under_way"] and not events["scored"] and not events["valued"]
        values["tiles"] += events["tile_scored"]
        values["saturations"] += self.saturated
        self.saturated = out_of_range.bit_count()
        if events["scored"]:
            self.computing = True
        elif events["last_output"]:
            self.computing = False


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "wide", "smallest"])
def test_counters(name, backend):
    """From the cycle after start to the one after done, in run after run; they stay until the next start."""
    config = CONFIGS[name]
    bench, rng = Bench(config), random.Random(name)
    nothing = dict.fromkeys((*EVENTS, "out_of_range"), 0)
    full = (1 << config.array_keys) - 1

    def script():
        for length in (0, 1, 40, 7):
            run_ = job(2, 2, state=length == 40, heads=2)
            yield given(run_, config) | {"start": 1} | nothing
            counts, begin = Counts(), latency.check(run_)
            for cycle in range(1, begin + length + 3):
                events = {name: int(cycle > begin and rng.random() < 0.4) for name in EVENTS}
                out_of_range = rng.choice((0, full, rng.randint(0, full))) if cycle > begin else 0
                done = int(cycle == begin + length + 1)
                seen = yield events | {"out_of_range": out_of_range, "start": 0, "done": done}
                assert seen["busy"] and not seen["status_done"]
                assert {name: seen[f"counters_{name}"] for name in COUNTERS} == counts.values, cycle
                counts.step(events, out_of_range)
            for _ in range(4):
                seen = yield dict.fromkeys(EVENTS, 1) | {"done": 0, "out_of_range": full, "last_output": 1, "scored": 0}
                assert not seen["busy"] and seen["status_done"]
                assert {name: seen[f"counters_{name}"] for name in COUNTERS} == counts.values
            yield nothing
            yield nothing

    bench.simulate(backend, script, COUNTED)


@BACKENDS
def test_the_verdict_comes_when_golden_says(backend):
    """begin_run once, golden.latency.check after start; walk before it; run and plan are complete then."""
    bench = Bench(TINY)
    runs = [
        job(2, 3), job(4, 9, 2, heads=6, group=3, window=4, q_position=8, naive=True, state=True), job(3, 5, window=2),
        job(3, 3, heads=4), job(1, 1, naive=True),
    ]  # fmt: skip
    fields = [f"plan_{name}" for name in plan_fields(TINY, runs[0])]
    held = vars(Run(TINY))
    fields += [f"run_{name}" for name in held]

    def script():
        for run_ in runs:
            yield given(run_) | {"start": 1}
            wanted = named("plan", plan_fields(TINY, run_, pack(TINY, run_)))
            given_fields = run_fields(TINY, run_, pack(TINY, run_)).items()
            wanted |= named("run", {name: value for name, value in given_fields if name in held})
            if run_.window is None:
                wanted.pop("plan_window_rows")
            for cycle in range(1, latency.check(run_) + 1):
                seen = yield {"start": 0}
                assert seen["begin_run"] == (cycle == latency.check(run_))
                assert seen["walk"] == (cycle == latency.check(run_) - 4)
            assert {name: seen[name] for name in wanted} == wanted
            yield {"done": 1}
            yield {"done": 0}

    bench.simulate(backend, script, fields)


@BACKENDS
def test_start_while_busy(backend):
    """It changes nothing but the refusal, before the verdict and after it; the next start clears that."""
    bench, run_ = Bench(TINY), job(5, 6, 2, dim=3)
    other = given(replace(run_, n_q=7, dim=9))

    def script():
        for wait in (1, 4, 20):
            seen = yield given(run_) | {"start": 1}
            for cycle in range(1, 25):
                seen = yield other | {"start": int(cycle == wait)}
                assert seen["busy"] and not seen["status_done"] and seen["run_n_q"] == 5
                assert seen["status_refusal"] == (Refusal.BUSY if cycle > wait else 0)
                assert seen["begin_run"] == (cycle == latency.check(run_))
            yield {"done": 1}
            seen = yield {"done": 0}
            assert seen["busy"] and not seen["status_done"]
            seen = yield {}
            assert seen["status_done"] and not seen["busy"] and seen["status_refusal"] == Refusal.BUSY
        yield given(run_) | {"start": 1}
        seen = yield {"start": 0}
        assert seen["status_refusal"] == 0 and not seen["status_done"]

    bench.simulate(backend, script, ("run_n_q",))


@BACKENDS
def test_a_refused_run_and_the_next_one(backend):
    """Refused runs do not begin and are not done; the next descriptor is judged on its own."""
    bench, good, bad = Bench(TINY), job(5, 6, 2), job(5, 6, 2, dim=17)

    def script():
        for run_, wanted in ((good, 0), (bad, Refusal.DIM), (bad, Refusal.DIM), (good, 0), (bad, Refusal.DIM)):
            found, _ = yield from bench.judge(run_, pack(TINY, run_))
            assert found == wanted

    bench.simulate(backend, script)


@BACKENDS
@pytest.mark.parametrize("cut", [0, 1, 4, 7, 8, 9, 15])
def test_reset(cut, backend):
    """It ends whatever there is, with start in its own cycle, too, and no verdict comes afterwards."""
    bench, run_ = Bench(TINY), job(5, 6, 2, state=True)

    def script():
        yield given(run_) | {"start": 1}
        for _ in range(cut):
            yield {"start": 0, "scored": 1}
        yield {"start": 1, "reset": 1, "scored": 0}
        for _ in range(30):
            seen = yield {"start": 0, "reset": 0}
            assert not any(seen[name] for name in (*bench.OUTPUTS, *COUNTED))
        found, cycle = yield from bench.judge(run_, pack(TINY, run_))
        assert (found, cycle) == (0, latency.check(run_))

    bench.simulate(backend, script, COUNTED)
