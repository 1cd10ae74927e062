"""Drives one block cycle by cycle, in MyHDL or, converted to Verilog, in Icarus.

    @BACKENDS
    def test_delay(backend):
        ports = {"d": unsigned(8), "q": unsigned(8)}
        trace = run(delay, ports, {"d": range(9)}, ["q"], backend, {"cycles": 2}, after=2)
        assert trace["q"][2:] == list(range(9))

A cycle lasts from one rising edge to the next. Inputs change at its falling edge, outputs are read just before the
rising edge that ends it. So a combinational output follows its input within the cycle (latency 0), and a register
shows in cycle t + 1 what its input was in cycle t (latency 1).

Ports are named as the block's arguments; the inner signals of a bundle by both names, `write_valid` for
`write.valid`. Blocks whose ports are lists of signals need a wrapper with packed vectors, since Verilog modules have no
such ports. A port that the stimulus does not mention is an output, or an input that stays at its initial value.
In Icarus, registers and memories without a value read as 0.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from myhdl import Cosimulation, Signal, Simulation, StopSimulation, ToVerilogWarning, instance
from myhdl import _block as myhdl_block
from myhdl import _simulator as myhdl_state
from myhdl import delay as wait
from myhdl._Signal import _Signal

from gen import icarus
from hw.signals import bit

BACKENDS = pytest.mark.parametrize("backend", ["myhdl", "icarus"])
TOP = "block_under_test"
REQUIRE = "FLASHTILE_REQUIRE_ICARUS"

Values = dict[str, int]
Stimulus = Generator[Mapping[str, int], Values, None]


def run(
    block: Callable,
    ports: Mapping[str, object],
    stimulus: Mapping[str, Sequence[int] | int] | Callable[[], Stimulus],
    outputs: Iterable[str],
    backend: str,
    parameters: Mapping[str, object] | None = None,
    after: int = 0,
) -> dict[str, list[int]]:
    """Simulate `block(clk, **ports, **parameters)` from time zero and return each output's value in every cycle.

    Args:
        block: a MyHDL block with the clock `clk`.
        ports: a signal (or bundle of signals) for each port but clk, made for this run.
        stimulus: either inputs by name, a value for each cycle (all of one length) or a constant; or a generator
            function that yields the inputs to change in a cycle and receives the outputs seen in it, to react to
            them: ``seen = yield {"push": 1}``. The run ends when it returns.
        outputs: names of the ports to record.
        backend: "myhdl" or "icarus". Where Icarus is missing, the test is skipped, or fails if
            FLASHTILE_REQUIRE_ICARUS is set.
        parameters: arguments of the block that are not signals.
        after: cycles that follow the stimulus, with the inputs as they are.
    """
    if backend == "icarus":
        require_icarus()
    steps = stimulus() if callable(stimulus) else columns(stimulus)
    # For every block and process, MyHDL inspects the whole call stack, source files included. A thread of its own
    # has a short one: that is ten times as fast as below pytest's frames.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run, block, ports, steps, outputs, backend, dict(parameters or {}), after).result()


def _run(block, ports, steps, outputs, backend, parameters, after):
    trace = {name: [] for name in outputs}
    with tempfile.TemporaryDirectory(prefix="flashtile-") as folder:
        clk, signals, design = _design(block, ports, parameters, backend, Path(folder))
        simulation = Simulation(design, _clocked(clk, signals, steps, trace, after))
        try:
            simulation.run(quiet=1)
        finally:
            if not simulation._finished:
                simulation.quit()
            myhdl_state._signals.clear()
    return trace


def columns(stimulus: Mapping[str, Sequence[int] | int]) -> Stimulus:
    """Inputs cycle by cycle, from a sequence or a constant for each."""
    constant = {name: value for name, value in stimulus.items() if not hasattr(value, "__len__")}
    varying = {name: value for name, value in stimulus.items() if name not in constant}
    if not varying:
        yield constant
        return
    for step, values in enumerate(zip(*varying.values(), strict=True)):
        cycle = dict(zip(varying, values, strict=True))
        yield cycle if step else constant | cycle


def flat(ports: Mapping[str, object]) -> dict[str, _Signal]:
    """Signals by the names that conversion gives them: those of a bundle behind its name."""
    signals = {}
    for name, port in ports.items():
        if isinstance(port, _Signal):
            signals[name] = port
        elif hasattr(port, "__dict__"):
            signals |= flat({f"{name}_{inner}": signal for inner, signal in vars(port).items()})
    return signals


def require_icarus() -> None:
    """Skip the test where Icarus is missing; fail it where the environment says that it must be there."""
    reason = icarus.missing()
    if reason and os.environ.get(REQUIRE):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def _design(block, ports, parameters, backend, folder):
    """Clock, signals by name, and the block on them."""
    clk = bit()
    if backend == "myhdl":
        return clk, flat(ports), block(clk=clk, **ports, **parameters)
    program = _compile(block, ports, parameters, folder)
    # Conversion has left its marks on the ports.
    signals = {name: Signal(signal.val) for name, signal in flat(ports).items()}
    command = ["vvp", "-M", str(icarus.vpi_module()), "-m", "myhdl", str(program)]
    return clk, signals, Cosimulation(command, clk=clk, **signals)


def _clocked(clk, signals, steps, trace, after):
    """The instance that drives clock and inputs and records the outputs."""

    @instance
    def drive():
        seen, left = None, after
        while True:
            try:
                inputs = steps.send(seen)
            except StopIteration:
                inputs, left = {}, left - 1
                if left < 0:
                    raise StopSimulation from None
            for name, value in inputs.items():
                signals[name].next = int(value)
            yield wait(5)
            seen = {name: int(signals[name]) for name in trace}
            for name, value in seen.items():
                trace[name].append(value)
            clk.next = True
            yield wait(5)
            clk.next = False

    return drive


def _compile(block, ports, parameters, folder):
    """Convert the block and compile it for vvp."""
    # MyHDL numbers instances across conversions; start again, as gen.verilog does.
    myhdl_block._inst_name_set.clear()
    myhdl_block._name_set.clear()
    design = block(clk=bit(), **ports, **parameters)
    with warnings.catch_warnings():
        # Edges of arrays and ends of pipelines. That nothing is left undriven stays an error.
        for message in ("Signal is driven but not read", "Output port is read internally", "Port is not used"):
            warnings.filterwarnings("ignore", message=message, category=ToVerilogWarning)
        design.convert(hdl="Verilog", path=str(folder), name=TOP, no_myhdl_header=True)
    program = folder / "block.vvp"
    command = ["iverilog", "-g2005", "-o", program, folder / f"{TOP}.v", folder / f"tb_{TOP}.v"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return program


def pack(lanes: Iterable[int], width: int) -> int:
    """Lanes of `width` bits as one vector, lane 0 in the low bits."""
    mask = (1 << width) - 1
    return sum((int(value) & mask) << index * width for index, value in enumerate(lanes))


def unpack(vector: int, width: int, lanes: int, signed: bool = False) -> list[int]:
    """The lanes of a vector, lane 0 from the low bits."""
    mask, sign = (1 << width) - 1, 1 << (width - 1)
    values = [vector >> index * width & mask for index in range(lanes)]
    return [(value ^ sign) - sign for value in values] if signed else values
