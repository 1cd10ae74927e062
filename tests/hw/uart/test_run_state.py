"""How runs begin and end, beside a model of the engine."""

import pytest

from golden.layout import Refusal
from hw.ports import Control, RunStatus, Status
from hw.signals import bit
from hw.uart.run_state import SETTLE, SOFT_RESET, run_state
from tests.hw.harness import BACKENDS, run

FIELDS = "busy", "done", "interrupt", "error", "refusal"
OUTPUTS = ["engine_start", "engine_reset", *(f"status_{field}" for field in FIELDS)]
IDLE = (0, 0, 0, 0, 0)
REFUSED = int(Refusal.KEYS)


class World:
    """The block and an engine that is busy for `cycles` a run, and then done, or refuses with `refusal`."""

    def __init__(self, cycles=6, refusal=0):
        self.cycles, self.refusal, self.left, self.starts, self.resets = cycles, refusal, 0, 0, 0
        self.engine = {"engine_busy": 0, "engine_status_done": 0, "engine_status_refusal": 0}

    def ports(self):
        names = ("reset", "engine_start", "engine_reset", "engine_busy")
        bundles = {"control": Control(), "engine_status": Status(), "status": RunStatus()}
        return {name: bit() for name in names} | bundles

    def step(self, seen, **control):
        """Inputs of a cycle, given what was seen in the last one."""
        if seen and seen["engine_reset"]:
            self.left, self.resets = 0, self.resets + 1
            self.engine = {"engine_busy": 0, "engine_status_done": 0, "engine_status_refusal": 0}
        elif seen and seen["engine_start"]:
            assert not self.left
            self.left, self.starts = self.cycles, self.starts + 1
            self.engine = {"engine_busy": 1, "engine_status_done": 0, "engine_status_refusal": 0}
        elif self.left:
            self.left -= 1
            if not self.left:
                done = int(not self.refusal)
                self.engine = {
                    "engine_busy": 0, "engine_status_done": done, "engine_status_refusal": self.refusal,
                }  # fmt: skip
        names = "start", "soft_reset", "clear_interrupt"
        return {f"control_{name}": control.pop(name, 0) for name in names} | {"reset": 0} | control | self.engine


def state(seen):
    return tuple(seen[f"status_{field}"] for field in FIELDS)


def play(backend, script, **engine):
    world = World(**engine)

    def stimulus():
        seen = yield world.step(None, reset=1)
        yield from script(world, seen)

    run(run_state, world.ports(), stimulus, OUTPUTS, backend)
    return world


@BACKENDS
@pytest.mark.parametrize("cycles", [1, 2, 9])
@pytest.mark.parametrize("refusal", [0, REFUSED])
def test_runs(cycles, refusal, backend):
    """busy from the cycle after start to two after the engine's last; the end sets done or the refusal."""

    def script(world, seen):
        end = (0, int(not refusal), 1, 0, refusal)
        seen = yield world.step(seen)
        seen = yield world.step(seen)
        for number in range(3):
            assert state(seen) == (IDLE if number == 0 else end)
            seen = yield world.step(seen, start=1)
            for _ in range(cycles + 3):
                seen = yield world.step(seen)
                assert state(seen) == (1, 0, int(number > 0), 0, 0)
            seen = yield world.step(seen)
            assert state(seen) == end
            seen = yield world.step(seen)
        yield world.step(seen, clear_interrupt=1)
        seen = yield world.step(seen)
        assert state(seen) == (*end[:2], 0, *end[3:])

    assert play(backend, script, cycles=cycles, refusal=refusal).starts == 3


@BACKENDS
@pytest.mark.parametrize("late", range(1, 9))
def test_a_start_while_busy(late, backend):
    """Is refused, in every cycle of a run, which goes on; the next start takes the refusal back."""

    def script(world, seen):
        seen = yield world.step(seen, reset=0)
        seen = yield world.step(seen, start=1)
        for cycle in range(1, 14):
            seen = yield world.step(seen, start=int(cycle == late))
        assert state(seen) == (0, 1, 1, 0, Refusal.BUSY) and world.starts == 1
        seen = yield world.step(seen, start=1)
        seen = yield world.step(seen)
        assert state(seen) == (1, 0, 1, 0, 0)

    play(backend, script)


@BACKENDS
@pytest.mark.parametrize("late", range(1, 9))
def test_soft_reset_in_a_run(late, backend):
    """Ends it in every cycle of a run, with an error and an interrupt; the next run is like any other."""

    def script(world, seen):
        seen = yield world.step(seen)
        seen = yield world.step(seen, start=1)
        for cycle in range(1, late + 1):
            seen = yield world.step(seen, soft_reset=int(cycle == late))
        for _ in range(SETTLE):
            seen = yield world.step(seen)
            assert state(seen) == (1, 0, 1, SOFT_RESET, 0) and seen["engine_reset"]
        seen = yield world.step(seen)
        assert state(seen) == (0, 0, 1, SOFT_RESET, 0) and not seen["engine_reset"]
        seen = yield world.step(seen, start=1)
        for _ in range(10):
            seen = yield world.step(seen)
        assert state(seen) == (0, 1, 1, 0, 0) and world.starts >= 1 + (late > 1)

    play(backend, script)


@BACKENDS
@pytest.mark.parametrize("refusal", [0, REFUSED])
def test_soft_reset_while_idle(refusal, backend):
    """Clears done and refusal, ends no run, and leaves the interrupt; twice in a row is like once."""

    def script(world, seen):
        seen = yield world.step(seen)
        for runs in (0, 1):
            for cycle in range(12 * runs):
                seen = yield world.step(seen, start=int(cycle == 0), clear_interrupt=int(cycle == 11))
            for gap in (0, 2):
                seen = yield world.step(seen, soft_reset=1)
                for _ in range(gap):
                    seen = yield world.step(seen)
                seen = yield world.step(seen, soft_reset=1)
                for _ in range(SETTLE):
                    seen = yield world.step(seen)
                    assert state(seen) == (1, 0, 0, 0, 0) and seen["engine_reset"]
                seen = yield world.step(seen)
                assert state(seen) == IDLE and not seen["engine_reset"]

    play(backend, script, refusal=refusal)


@BACKENDS
def test_a_start_in_a_soft_reset(backend):
    """Is refused as one while busy; and the code of the run that was broken off stays through a second reset."""

    def script(world, seen):
        seen = yield world.step(seen)
        seen = yield world.step(seen, start=1)
        seen = yield world.step(seen)
        seen = yield world.step(seen, soft_reset=1)
        seen = yield world.step(seen, start=1)
        seen = yield world.step(seen, soft_reset=1)
        for _ in range(SETTLE + 1):
            seen = yield world.step(seen)
        assert state(seen) == (0, 0, 1, SOFT_RESET, Refusal.BUSY) and world.starts <= 1

    play(backend, script)


@BACKENDS
def test_reset(backend):
    """Clears everything, and holds the engine in reset for a cycle more."""

    def script(world, seen):
        seen = yield world.step(seen)
        assert seen["engine_reset"]
        for late in range(1, 12):
            seen = yield world.step(seen, start=1)
            for _ in range(late):
                seen = yield world.step(seen)
            seen = yield world.step(seen, reset=1)
            seen = yield world.step(seen)
            assert state(seen) == IDLE and seen["engine_reset"] and not seen["engine_start"]
            seen = yield world.step(seen)
            assert state(seen) == IDLE and not seen["engine_reset"]

    play(backend, script)
