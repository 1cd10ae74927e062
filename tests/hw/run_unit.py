"""Descriptors that are refused and such that are not, and the block that judges them, for its tests."""

from __future__ import annotations

from dataclasses import replace

from gen.bench import described
from golden import latency
from golden.config import EngineConfig
from golden.job import MAX_GROUP, MAX_HEADS, Job
from golden.layout import Layout, pack, refusal
from hw.ports import Counters, Descriptor, Status
from hw.run_control import run_control
from hw.run_plan import Plan
from hw.run_registers import Run
from hw.signals import bit, unsigned
from tests.hw.descriptors import named, random_job
from tests.hw.harness import run

WORDS = 4096


def limits(config: EngineConfig) -> dict[str, int]:
    """Largest legal values of fields, with what is refused on either side."""
    return {
        "n_q": config.max_keys, "n_kv": config.max_keys, "dim": config.max_dim, "value_dim": config.max_dim,
        "q_rows": config.max_rows, "heads": MAX_HEADS, "group": MAX_GROUP,
    }  # fmt: skip


def random_descriptor(config: EngineConfig, rng) -> tuple[Job, Layout]:
    """A job with packed operands, some of its fields changed: a little, to a limit, or to anything."""
    run_ = random_job(config, rng, 12)
    place = pack(config, run_)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        name = rng.choice([*vars(place)] * 2 + [*limits(config), "window", "q_position", "scale_shift"])
        if name in vars(place):
            step = rng.choice((1, -1, config.word_bytes, -config.word_bytes, 8 * config.word_bytes))
            anything = rng.choice((0, config.memory_bytes, config.memory_bytes - step, rng.getrandbits(32)))
            value = rng.choice((getattr(place, name) + step, anything, rng.randrange(WORDS) * config.word_bytes))
            place = replace(place, **{name: value & (1 << 32) - 1})
        elif name == "window":
            run_ = replace(run_, window=rng.choice((0, 1, (1 << 32) - 1)))
        elif name == "q_position":
            edge = config.max_keys + rng.randrange(2)
            run_ = replace(run_, q_position=rng.choice((edge, -edge, (1 << 31) - 1, -(1 << 31))))
        elif name == "scale_shift":
            run_ = replace(run_, scale_shift=rng.choice((47, 48, 63)))
        else:
            top = limits(config)[name]
            run_ = replace(run_, **{name: rng.choice((0, 1, top, top + 1, (1 << 16) - 1))})
    return run_, place


class Bench:
    """Gives descriptors to hw.run_control one after the other and ends each run at once."""

    OUTPUTS = ("busy", "walk", "begin_run", "status_done", "status_refusal")

    def __init__(self, config):
        self.config = config
        bits = (
            "reset", "start", "busy", "walk", "begin_run", "done", "scored", "valued", "last_output", "tile_scored",
            "under_way",
        )  # fmt: skip
        self.signals = {name: bit() for name in bits} | {
            "descriptor": Descriptor(), "run": Run(config), "plan": Plan(config), "status": Status(),
            "counters": Counters(), "out_of_range": unsigned(config.array_keys),
        }  # fmt: skip

    def judge(self, run_, place):
        """Refusal, and cycles from start to the verdict; None where the run begins and ends."""
        yield named("descriptor", described(run_, place)) | {"start": 1, "reset": 0}
        for cycle in range(1, 60):
            seen = yield {"start": 0}
            if seen["begin_run"]:
                yield {"done": 1}
                yield {"done": 0}
                seen = yield {}
                assert seen["status_done"] and not seen["busy"]
                return seen["status_refusal"], cycle
            if not seen["busy"]:
                assert not seen["status_done"]
                return seen["status_refusal"], cycle - 1
        raise AssertionError("no verdict")

    def simulate(self, backend, script, outputs=()):
        def stimulus():
            yield {"reset": 1}
            yield {"reset": 0}
            yield from script()

        outputs = (*self.OUTPUTS, *outputs)
        return run(run_control, self.signals, stimulus, outputs, backend, {"config": self.config})

    def check(self, descriptors, backend):
        """Every descriptor gets golden's verdict, in the cycle that golden.latency says."""

        def script():
            for run_, place in descriptors:
                found, cycle = yield from self.judge(run_, place)
                wanted = refusal(self.config, run_, place)
                assert found == wanted, f"{found} instead of {wanted!r}: {run_} {place}"
                assert cycle == latency.check(run_), run_

        self.simulate(backend, script)
