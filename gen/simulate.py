"""Simulators of the engine behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from myhdl import Simulation
from myhdl import _simulator as myhdl_state

from gen import icarus
from gen.bench import Bench, BenchError, EngineResult, Run, stimulus
from gen.icarus import SimulatorError
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
    "play",
    "simulate",
]

SIMULATORS = ("myhdl", "icarus")


class EngineFault(RuntimeError):
    """The simulated engine hung, wrote where it must not, or a signal left its range; one sentence."""


def default_simulator() -> str:
    """icarus where it can be used, else myhdl."""
    return "myhdl" if icarus.missing() else "icarus"


def simulate(
    config: EngineConfig,
    runs: Sequence[Run],
    simulator: str = "myhdl",
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
) -> list[EngineResult]:
    """Run heads one after the other on one instance of the engine.

    Args:
        simulator: one of SIMULATORS: the MyHDL blocks themselves, or the converted Verilog in Icarus.
        progress: called now and then with simulated and expected cycles, both over all runs and with loading
            and reading back.
        notice: called with a sentence before something that takes long.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the engine did not do its job.
        JobError: a head does not fit into memory.
    """
    busy = [cycles(config, run.job).busy for run in runs]
    expected = sum(busy) + sum(_transfer(config, run.job) for run in runs)
    results: list[EngineResult] = []

    def script(bench: Bench):
        yield bench.restart()
        for run, count in zip(runs, busy, strict=True):
            # Twice what the cycle model says is not a cycle too few, but an engine that hangs.
            yield bench.run(run, 2 * count + 1000, results)

    play(config, script, simulator, (lambda done: progress(done, expected)) if progress else None, notice)
    return results


def play(
    config: EngineConfig,
    script: Callable[[Bench], Generator],
    simulator: str = "myhdl",
    progress: Callable[[int], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Simulate the engine under a script of bench verbs, from power-up to the script's end.

    Args:
        script: given the bench, a generator that yields its verbs and clock edges.
        progress: called now and then with the cycles so far. simulator, notice: as for simulate.

    Raises:
        SimulatorError: the simulator cannot be used. EngineFault: the bench or MyHDL found a fault.
    """
    bench = Bench(config, progress)
    if simulator == "icarus":
        design = icarus.cosimulation(config, bench.clk, bench.reset, bench.ports, notice)
    elif simulator == "myhdl":
        design = shallow(lambda: system(config, bench.clk, bench.reset, bench.ports))
    else:
        raise SimulatorError(f"unknown simulator {simulator!r}; choose one of {', '.join(SIMULATORS)}")
    simulation = Simulation(design, *bench.clock(), stimulus(bench, script))
    try:
        simulation.run(quiet=1)
    except BenchError as error:
        raise EngineFault(f"the engine is at fault: {error}") from None
    except ValueError as error:  # MyHDL's bounds check on a signal
        raise EngineFault(f"the engine is at fault: a signal left its range ({error})") from None
    finally:
        if not simulation._finished:
            simulation.quit()
        # MyHDL remembers every signal ever made.
        myhdl_state._signals.clear()


def _transfer(config: EngineConfig, job: Job) -> int:
    """Cycles that the bench takes to load a head and to read it back: words, and the output area once more."""
    place = layout(config, job)
    return place.words + job.n_q * place.o_stride
