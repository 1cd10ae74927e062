"""Products and quotients of a descriptor, against plain arithmetic."""

import random

import pytest

from gen.bench import described
from golden import latency
from golden.config import NAMED
from golden.layout import Layout
from hw.ports import OPERANDS, Descriptor
from hw.run_plan import ENDS, Plan, product_bits, run_plan
from hw.run_registers import Faults, Run
from hw.signals import bit, unsigned
from tests.hw.descriptors import job, named, plan_fields, random_job, random_place, run_fields
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, flat, run

STRIDES = [f"{operand}_{kind}" for operand in OPERANDS[:-1] for kind in ("stride", "head_stride")]
LAST = ("k_begin", "v_begin")  # of the plan, complete three cycles after the rest


def ports(config):
    run_ = Run(config)
    return {name: bit() for name in ("reset", "load", "far_product", "walk", "judge")} | {
        "descriptor": Descriptor(), "run": run_, "faults": Faults(config), "plan": Plan(config), "ends": unsigned(ENDS),
        "product": unsigned(product_bits(config)), "remainder": unsigned(len(run_.group)),
    }  # fmt: skip


def products(config, run_, fields, far):
    """(number, product, far) in the order in which they come: rows of each operand, heads of each, scratch."""
    rows = {name: (run_.n_kv if name in "kv" else run_.n_q) - 1 for name in OPERANDS[:-1]}
    heads = {name: (run_.kv_heads if name in "kv" else run_.heads) - 1 for name in OPERANDS[:-1]}
    made = []
    for first, kind, factors in ((0, "stride", rows), (5, "head_stride", heads)):
        for index, (name, factor) in enumerate(factors.items()):
            if (name != "state" or run_.state) and (kind == "stride" or run_.heads > 1):
                stride = f"{name}_{kind}"
                made.append((first + index, factor * fields[stride], int(bool(far[f"{stride}_far"] and factor))))
    if run_.naive:
        made.append((10, -(-run_.n_kv // config.array_keys) * run_.q_rows, 0))
    return made


class Script:
    def __init__(self, config, seed=0):
        self.config, self.rng, self.signals = config, random.Random(seed), ports(config)
        self.inputs, self.runs, self.watched = [], [], flat(self.signals)

    def cycle(self, load=0, reset=0, **fields):
        before = self.inputs[-1] if self.inputs else dict.fromkeys(self.names(), 0)
        self.inputs.append(before | {"load": load, "reset": reset} | fields)

    def names(self):
        return [name for name in self.watched if name.startswith(("descriptor_", "run_", "faults_"))]

    def add(self, run_, place: Layout, cut=None):
        """Load a descriptor; the registers have it from the next cycle on. cut: reset after that many cycles."""
        fields = run_fields(self.config, run_, place)
        far = {f"{stride}_far": int(self.rng.random() < 0.2) for stride in STRIDES}
        self.cycle(load=1, **named("descriptor", described(run_, place)))
        begun, check = len(self.inputs) - 1, latency.check(run_) - 1
        held = named("run", fields) | named("faults", fields | far)
        held = {name: value for name, value in held.items() if name in self.watched}
        for _ in range(check + 2 if cut is None else cut):
            self.cycle(**held)
        if cut is None:
            plan = plan_fields(self.config, run_, place)
            if run_.window is None:
                plan.pop("window_rows")
            self.runs.append((begun, begun + check, plan, products(self.config, run_, fields, far), run_))
        else:
            self.cycle(reset=1)

    def check(self, backend):
        config = self.config
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        outputs = ("ends", "product", "far_product", "remainder", "walk", "judge")
        outputs += tuple(name for name in self.watched if name.startswith("plan_"))
        trace = run(run_plan, self.signals, inputs, outputs, backend, {"config": config})
        verdicts = [judge for _, judge, *_ in self.runs]
        assert [cycle for cycle, flag in enumerate(trace["judge"]) if flag] == verdicts
        assert [cycle for cycle, flag in enumerate(trace["walk"]) if flag] == [cycle - 3 for cycle in verdicts]
        for begun, judge, plan, wanted, run_ in self.runs:
            for name, value in plan.items():
                for cycle in (judge - 3, judge - 2, judge - 1, judge, judge + 2):
                    if cycle >= judge or name not in LAST:
                        assert trace[f"plan_{name}"][cycle] == value, (name, run_)
            assert trace["remainder"][judge] == run_.heads % run_.group
            ends = [cycle for cycle in range(begun, judge + 1) if trace["ends"][cycle]]
            found = [(trace["ends"][cycle], trace["product"][cycle], trace["far_product"][cycle]) for cycle in ends]
            assert found == [(1 << number, product, far) for number, product, far in wanted], run_
            assert ends[-1] <= judge - 2


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "base", "lanes16", "smallest"])
def test_random_jobs(name, backend):
    """Masks, heads and groups decide which products there are, and so how long it takes."""
    script = Script(CONFIGS[name], seed=len(name))
    for _ in range(80):
        script.add(random_job(script.config, script.rng), random_place(script.config, script.rng))
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "wide", "smallest"])
def test_the_largest_factors(name, backend):
    """Rows, heads, groups, strides and windows at their limits."""
    config = CONFIGS[name]
    script, top, far = Script(config), config.max_keys, config.memory_bytes - config.word_bytes
    place = Layout(*[0] * 4, *[far] * 4, *[far] * 4, state_stride=far, state_head_stride=far)
    for position in (-top, top):
        for window in (None, 1, 2 * top, 2 * top + 1):
            for heads, group in ((1, 1), (256, 1), (256, 64), (64, 64)):
                fields = {"q_position": position, "window": window, "heads": heads, "group": group}
                script.add(job(top, top, config.max_rows, state=True, naive=True, **fields), place)
    script.check(backend)


@BACKENDS
def test_every_group(backend):
    script = Script(NAMED["tiny"])
    for group in (*range(1, 65, 7), 63, 64):
        for heads in (group, 2 * group, 256 // group * group):
            script.add(job(3, 4, 32, heads=heads, group=group, q_position=-2, window=5), Layout(*[4] * 8))
    script.check(backend)


@BACKENDS
def test_where_the_walk_begins(backend):
    """The tile of the first key that query 0 sees, from before all keys to behind the last one."""
    config = NAMED["tiny"]
    script = Script(config)
    for position in (*range(-3, 26), 1024):
        for window in (1, 4, 9):
            script.add(job(1, 18, q_position=position, window=window), Layout(*[0] * 4, 4, 12, 20, 4))
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("cut", [0, 1, 5, 9, 12, 14])
def test_reset_in_the_middle(cut, backend):
    """No verdict follows, and the next descriptor is judged as ever."""
    script = Script(NAMED["tiny"])
    script.add(job(3, 4, heads=2, group=2, window=3), Layout(*[4] * 8), cut=cut)
    for _ in range(30):
        script.cycle()
    script.add(job(3, 4, state=True), Layout(*[8] * 8))
    script.check(backend)
