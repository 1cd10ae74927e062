"""Simulators of the engine behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from myhdl import traceSignals

from gen import icarus, verilator
from gen.bench import Bench, EngineResult, Run
from gen.device import BenchError, Device, SteppedDevice
from gen.programs import SimulatorError
from gen.verilog import shallow, system
from golden.config import EngineConfig
from golden.cycles import cycles
from golden.layout import extents, layout

__all__ = [
    "SIMULATORS",
    "EngineFault",
    "EngineResult",
    "Run",
    "SimulatorError",
    "default_simulator",
    "play",
    "simulate",
]

SIMULATORS = ("verilator", "icarus", "myhdl")


class EngineFault(RuntimeError):
    """The simulated engine hung, wrote where it must not, or a signal left its range; one sentence."""


def default_simulator() -> str:
    """verilator where it can be used, else icarus, else myhdl."""
    if not verilator.missing():
        return "verilator"
    return "myhdl" if icarus.missing() else "icarus"


def simulate(
    config: EngineConfig,
    runs: Sequence[Run],
    simulator: str = "myhdl",
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
    trace: Path | None = None,
) -> list[EngineResult]:
    """Run heads one after the other on one instance of the engine.

    Args:
        simulator: one of SIMULATORS: the converted Verilog in Verilator or Icarus, or the MyHDL blocks themselves.
        progress: called now and then with simulated and expected cycles, both over all runs and with loading
            and reading back.
        notice: called with a sentence before something that takes long.
        trace: file for the waveform of all signals (VCD), or None. It is complete on return and after EngineFault.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the engine did not do its job.
        JobError: the configuration cannot run a head, or it does not fit into memory.
        OSError: the waveform cannot be written.
    """
    for run in runs:
        run.job.check(config)
    busy = [cycles(config, run.job).busy for run in runs]
    expected = sum(busy) + sum(_transfer(config, run) for run in runs)

    def script(bench: Bench) -> list[EngineResult]:
        bench.restart()
        # Twice what the cycle model says is not a cycle too few, but an engine that hangs.
        return [bench.run(run, 2 * count + 1000) for run, count in zip(runs, busy, strict=True)]

    return play(config, script, simulator, (lambda done: progress(done, expected)) if progress else None, notice, trace)


def play(
    config: EngineConfig,
    script: Callable[[Bench], Any],
    simulator: str = "myhdl",
    progress: Callable[[int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
    trace: Path | None = None,
) -> Any:
    """Simulate the engine under script(bench), from power-up to the script's end; returns what the script does.

    Args:
        progress: called now and then with the cycles so far. simulator, notice, trace: as for simulate.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the bench or MyHDL found a fault.
        OSError: the waveform cannot be written.
    """
    device = _device(config, simulator, notice, trace)
    device.progress = progress
    try:
        return script(Bench(config, device))
    except BenchError as error:
        raise EngineFault(f"the engine is at fault: {error}") from None
    finally:
        device.close()


def _device(config: EngineConfig, simulator: str, notice: Callable[[str], None], trace: Path | None) -> Device:
    if simulator == "verilator":
        return verilator.VerilatorDevice(config, trace, notice)
    if simulator == "icarus":
        return SteppedDevice(
            config, lambda clk, reset, ports: icarus.cosimulation(config, clk, reset, ports, notice, trace)
        )
    if simulator == "myhdl":
        return SteppedDevice(
            config, lambda clk, reset, ports: shallow(lambda: _traced(system(config, clk, reset, ports), trace))
        )
    raise SimulatorError(f"unknown simulator {simulator!r}; choose one of {', '.join(SIMULATORS)}")


def _traced(design, trace: Path | None):
    """The design, its signals traced into the file `trace` (.vcd) if there is one."""
    if trace is None:
        return design
    traceSignals.directory, traceSignals.filename = str(trace.parent), trace.stem
    traceSignals.tracebackup = False
    return traceSignals(design)


def _transfer(config: EngineConfig, run: Run) -> int:
    """Cycles that the bench takes to load a run and to read it back."""
    spans = extents(config, run.job, run.place or layout(config, run.job))
    written = [spans[name] for name in ("o", "state") if name in spans]
    return max(end for _, end in spans.values()) + max(end for _, end in written) - min(first for first, _ in written)
