"""Simulators of the engine behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gen import icarus, verilator
from gen.bench import Bench, BenchError, Device, EngineResult, Run
from gen.myhdl_device import MyhdlDevice
from gen.simulators import SimulatorError
from gen.verilator import VerilatorDevice
from gen.verilog import shallow, system
from golden.config import EngineConfig
from golden.cycles import cycles
from golden.job import Job, layout

__all__ = [
    "SIMULATORS",
    "EngineFault",
    "EngineResult",
    "Run",
    "SimulatorError",
    "default_simulator",
    "missing",
    "play",
    "simulate",
]

SIMULATORS = ("verilator", "icarus", "myhdl")  # the fastest first


class EngineFault(RuntimeError):
    """The simulated engine hung, wrote where it must not, or a signal left its range; one sentence."""


def default_simulator() -> str:
    """The fastest simulator that can be used here."""
    return next((name for name in SIMULATORS if missing(name) is None), "myhdl")


def missing(simulator: str) -> str | None:
    """Why a simulator cannot be used here, in a sentence, or None."""
    return {"verilator": verilator.missing, "icarus": icarus.missing, "myhdl": lambda: None}[simulator]()


def simulate(
    config: EngineConfig,
    runs: Sequence[Run],
    simulator: str = "verilator",
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
    trace: Path | None = None,
) -> list[EngineResult]:
    """Run heads one after the other on one instance of the engine.

    Args:
        simulator: one of SIMULATORS: the generated Verilog in Verilator or Icarus, or the MyHDL blocks themselves.
        progress: called now and then with simulated and expected cycles, both over all runs and with loading
            and reading back.
        notice: called with a sentence before something that takes long. trace: file for a VCD waveform, or None.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the engine did not do its job.
        JobError: a head does not fit into memory.
    """
    busy = [cycles(config, run.job).busy for run in runs]
    expected = sum(busy) + sum(_transfer(config, run.job) for run in runs)
    results: list[EngineResult] = []

    def script(bench: Bench) -> None:
        bench.restart()
        for run, count in zip(runs, busy, strict=True):
            # Twice what the cycle model says is not a cycle too few, but an engine that hangs.
            results.append(bench.run(run, 2 * count + 1000))

    play(config, script, simulator, (lambda done: progress(done, expected)) if progress else None, notice, trace)
    return results


def play(
    config: EngineConfig,
    script: Callable[[Bench], None],
    simulator: str = "verilator",
    progress: Callable[[int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
    trace: Path | None = None,
) -> None:
    """Simulate the engine under a script of bench verbs, from power-up to the script's end.

    Args:
        script: called with the bench. progress: called now and then with the cycles so far.
        simulator, notice, trace: as for simulate.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the bench or MyHDL found a fault.
    """
    device = _device(config, simulator, notice, trace)
    try:
        script(Bench(config, device, progress))
    except BenchError as error:
        raise EngineFault(f"the engine is at fault: {error}") from None
    except ValueError as error:  # MyHDL's bounds check on a signal
        if simulator != "myhdl":
            raise
        raise EngineFault(f"the engine is at fault: a signal left its range ({error})") from None
    finally:
        device.close()


def _device(config, simulator, notice, trace) -> Device:
    if simulator == "verilator":
        return VerilatorDevice(config, trace, notice)
    if simulator == "icarus":
        return MyhdlDevice(config, lambda *signals: icarus.cosimulation(config, *signals, notice, trace))
    if simulator == "myhdl" and trace is None:
        return MyhdlDevice(config, lambda *signals: shallow(lambda: system(config, *signals)))
    if simulator == "myhdl":
        raise SimulatorError("simulator myhdl writes no waveform of the modules; use verilator or icarus with --trace")
    raise SimulatorError(f"unknown simulator {simulator!r}; choose one of {', '.join(SIMULATORS)}")


def _transfer(config: EngineConfig, job: Job) -> int:
    """Cycles that the bench takes to load a head and to read it back: words, and the output area once more."""
    place = layout(config, job)
    return place.words + job.n_q * place.o_stride
