"""The supervisor between registers, an engine and a bus, all of them scripted."""

import pytest

from golden.layout import Refusal
from hw.axi.axi_ports import BusState
from hw.axi.run_supervisor import SETTLE, run_supervisor
from hw.ports import Control, RunStatus, Status
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run

STATUS = "busy", "done", "error", "refusal", "interrupt"
OUTPUTS = [*(f"status_{name}" for name in STATUS), "engine_start", "engine_reset", "base", "ordered", "interrupt"]
SETTLED = {"read_state_drained": 1, "write_state_drained": 1}


class Script:
    """What happens cycle by cycle; what is not mentioned stays, pulses last a cycle."""

    PULSES = ("control_start", "control_soft_reset", "control_clear_interrupt", "read_state_failed",
              "write_state_failed")  # fmt: skip

    def __init__(self):
        self.cycles = [dict.fromkeys(self.PULSES, 0) | SETTLED | {"reset": 1}, {"reset": 0}]

    def at(self, wait=0, **inputs):
        """After `wait` cycles, a cycle with these inputs; returns its number."""
        self.cycles += [{} for _ in range(wait)]
        self.cycles.append(inputs)
        return len(self.cycles) - 1

    def begin(self, **inputs):
        """Start, and the engine takes it."""
        cycle = self.at(control_start=1, **inputs)
        self.at()  # engine_start is seen here; the status is that of the run before
        self.at(engine_busy=1, engine_status_done=0, engine_status_refusal=0)
        return cycle

    def finish(self, wait=0):
        return self.at(wait, engine_busy=0, engine_status_done=1)

    def play(self, backend, after=12):
        names = list(dict.fromkeys(name for cycle in self.cycles for name in cycle))
        held, columns = dict.fromkeys(names, 0), {name: [] for name in names}
        for cycle in self.cycles + [{}] * after:
            held |= dict.fromkeys(self.PULSES, 0) | cycle
            for name in columns:
                columns[name].append(held.get(name, 0))
        ports = {
            "reset": bit(), "control": Control(), "naive": bit(), "engine_start": bit(), "engine_reset": bit(),
            "engine_busy": bit(), "engine_status": Status(), "base": unsigned(40), "ordered": bit(),
            "read_state": BusState(), "write_state": BusState(), "status": RunStatus(), "interrupt": bit(),
        }  # fmt: skip
        return Trace(run(run_supervisor, ports, columns, OUTPUTS, backend))


class Trace(dict):
    def status(self, cycle=-1):
        """busy, done, error, refusal, interrupt."""
        return tuple(self[f"status_{name}"][cycle] for name in STATUS)

    def rises(self, name):
        values = self[name]
        return [cycle for cycle in range(1, len(values)) if values[cycle] and not values[cycle - 1]]


@BACKENDS
def test_a_good_run(backend):
    """Done when the bus has drained, not before; the start is one pulse."""
    script = Script()
    start = script.begin(control_interrupt_enable=1)
    end = script.finish(5)
    drained = None
    script.cycles[end] |= {"write_state_drained": 0}
    drained = script.at(6, write_state_drained=1)
    trace = script.play(backend)
    assert trace["engine_start"][start : start + 4] == [0, 1, 0, 0] and sum(trace["engine_start"][2:]) == 1
    assert [trace.status(cycle)[0] for cycle in (start, start + 1, drained, drained + 1)] == [0, 1, 1, 0]
    assert trace.status(drained) == (1, 0, 0, 0, 0) and trace.status(drained + 1) == (0, 1, 0, 0, 1)
    assert trace.rises("interrupt") == [drained + 2] and not any(trace["engine_reset"][2:])


@BACKENDS
def test_both_have_to_drain(backend):
    for name in ("read_state_drained", "write_state_drained"):
        script = Script()
        script.begin(**{name: 0})
        script.finish(3)
        script.at(10)
        assert script.play(backend).status() == (1, 0, 0, 0, 0)


@BACKENDS
@pytest.mark.parametrize(
    "kind, decode, error", [("read", 0, 1), ("read", 1, 2), ("write", 0, 3), ("write", 1, 4), (None, 0, 5)]
)
@pytest.mark.parametrize("drain", [False, True])
def test_broken_off(kind, decode, error, drain, backend):
    """Reset until the bus has drained, and for some cycles at least; also while the last writes are awaited."""
    script = Script()
    script.begin(control_interrupt_enable=1, write_state_drained=0)
    if drain:
        script.finish(3)
    cause = {f"{kind}_state_failed": 1, f"{kind}_state_decode": decode} if kind else {"control_soft_reset": 1}
    broken = script.at(4, **cause)
    # Not the first cause: does not count.
    script.at(2, write_state_failed=1, write_state_decode=1, control_soft_reset=1)
    drained = script.at(8, write_state_drained=1)
    trace = script.play(backend)
    assert trace["engine_reset"][2:].index(1) + 2 == broken + 1
    assert trace["engine_reset"][broken + 1 : drained + 2] == [1] * (drained - broken) + [0]
    assert trace.status(drained) == (1, 0, 0, 0, 0) and trace.status(drained + 1) == (0, 0, error, 0, 1)
    assert trace.rises("interrupt") == [drained + 2]


@BACKENDS
def test_reads_before_writes_before_the_soft_reset(backend):
    for names, error in ((("read", "write"), 1), (("write",), 3)):
        script = Script()
        script.begin()
        script.at(4, control_soft_reset=1, **{f"{name}_state_failed": 1 for name in names})
        trace = script.play(backend)
        assert trace.status() == (0, 0, error, 0, 1)
        assert sum(trace["engine_reset"][2:]) > SETTLE


@BACKENDS
def test_the_run_after_a_broken_one(backend):
    script = Script()
    script.begin()
    script.at(3, read_state_failed=1)
    script.at(1, engine_busy=0)
    again = script.at(10, control_start=1, control_clear_interrupt=1)
    script.at(engine_busy=0)
    script.at(engine_busy=1)
    script.finish(4)
    trace = script.play(backend)
    assert trace.status(again) == (0, 0, 1, 0, 1) and trace.status(again + 1) == (1, 0, 0, 0, 0)
    assert trace.status() == (0, 1, 0, 0, 1) and sum(trace["engine_start"][2:]) == 2


@BACKENDS
def test_a_refused_descriptor(backend):
    """Ends at once, without done."""
    script = Script()
    script.begin()
    end = script.at(5, engine_busy=0, engine_status_refusal=7)
    trace = script.play(backend)
    assert trace.status(end) == (1, 0, 0, 0, 0) and trace.status(end + 1) == (0, 0, 0, 7, 1)


@BACKENDS
@pytest.mark.parametrize("when", ["run", "drain", "stop"])
def test_a_start_while_busy(when, backend):
    """Changes refusal and nothing else, at any time of a run."""
    script = Script()
    script.begin(control_memory_base_low=0x5000, naive=1, write_state_drained=0)
    if when == "drain":
        script.finish(2)
    if when == "stop":
        script.at(2, control_soft_reset=1)
    start = script.at(3, control_start=1, control_memory_base_low=0x9000, naive=0)
    trace = script.play(backend)
    assert trace.status(start + 1) == (1, 0, 0, Refusal.BUSY, 0) == trace.status()
    assert (trace["base"][-1], trace["ordered"][-1]) == (0x5000, 1) and sum(trace["engine_start"][2:]) == 1


@BACKENDS
def test_a_soft_reset_while_idle(backend):
    """Resets the engine, clears the status, and ends no run; a start with it is refused."""
    script = Script()
    script.begin()
    script.finish(2)
    script.at(5, control_soft_reset=1, control_clear_interrupt=1)
    both = script.at(12, control_soft_reset=1, control_start=1)
    trace = script.play(backend)
    assert trace.status(both) == (0, 0, 0, 0, 0)
    assert trace.status(both + 1) == (1, 0, 0, Refusal.BUSY, 0) and trace.status() == (0, 0, 0, Refusal.BUSY, 0)
    assert sum(trace["engine_start"][2:]) == 1 and len(trace.rises("engine_reset")) == 2 + (
        1 if trace["engine_reset"][0] == 0 else 0
    )


@BACKENDS
def test_the_interrupt(backend):
    """Cleared by a command, unless a run ends in that cycle; the line only while enabled."""
    script = Script()
    script.begin()
    script.finish(2)
    enable = script.at(5, control_interrupt_enable=1)
    clear = script.at(3, control_clear_interrupt=1)
    script.begin()
    script.finish(2)
    script.at(control_clear_interrupt=1)
    trace = script.play(backend)
    assert trace["status_interrupt"][enable] == 1
    assert trace.rises("interrupt")[0] == enable + 1
    assert trace["status_interrupt"][clear + 1] == 0 and trace["interrupt"][clear + 2] == 0
    assert trace.status() == (0, 1, 0, 0, 1) and trace["interrupt"][-1] == 1


@BACKENDS
@pytest.mark.parametrize(
    "low, high, base",
    [(0x7000, 0xFF, 0xFF_0000_7000), (0xFFFFF000, 0, 0xFFFF_F000), (0x7800, 0, None), (1, 0, None), (0, 0x100, None),
     (0, 0x80000000, None)],
)  # fmt: skip
def test_the_base(low, high, base, backend):
    """Of the run, as it was at its start; one that the bus cannot express is not decoded."""
    script = Script()
    script.begin(control_memory_base_low=low, control_memory_base_high=high)
    script.at(control_memory_base_low=0, control_memory_base_high=0)
    script.finish(5)
    trace = script.play(backend)
    if base is None:
        assert trace.status() == (0, 0, 2, 0, 1) and not any(trace["engine_start"][2:])
    else:
        assert trace.status() == (0, 1, 0, 0, 1) and trace["base"][-1] == base


@BACKENDS
@pytest.mark.parametrize("moment", range(2, 16, 3))
def test_reset(moment, backend):
    """At any time; the engine is in reset, too, and afterwards all is idle."""
    script = Script()
    script.begin()
    script.at(3, write_state_failed=1)
    script.at(12)
    script.cycles[moment] = script.cycles[moment] | {"reset": 1}
    script.cycles[moment + 1] = script.cycles[moment + 1] | {"reset": 0}
    for cycle in script.cycles[moment + 1 :]:
        cycle.pop("write_state_failed", None)
        cycle.pop("control_start", None)
    trace = script.play(backend)
    assert trace["engine_reset"][moment + 1] == 1
    assert trace.status() == (0, 0, 0, 0, 0) and trace["engine_reset"][-1] == 0
