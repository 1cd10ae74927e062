"""Simulated devices: engine_system behind its ports, whatever simulates it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from myhdl import CosimulationError, Signal, Simulation, always, delay
from myhdl import _simulator as myhdl_state

from gen.programs import SimulatorError
from gen.verilog import flat_ports
from golden.config import EngineConfig
from hw.engine_system import SystemPorts
from hw.signals import bit

PROGRESS_CYCLES = 64  # between calls of progress, where Python steps every cycle
HALF_PERIOD = 5  # nanoseconds


class BenchError(RuntimeError):
    """The engine did something no run may do: it hung, or wrote where it must not."""


class Device(ABC):
    """One engine_system under simulation, from power-up to close.

    Ports go by their names in the Verilog. They are driven and sampled at the falling clock edge, where a cycle ends.
    Each falling edge at which debug_valid is set leaves a row (m, l), to be taken with `rows`. `progress`, if there is
    one, is called now and then with the cycles so far.
    """

    progress: Callable[[int], None] | None = None

    @abstractmethod
    def set(self, name: str, value: int) -> None:
        """Drive a port, from now on."""

    @abstractmethod
    def get(self, name: str) -> int:
        """The value of a port."""

    @abstractmethod
    def stall(self, reads: int, writes: int, seed: int) -> None:
        """From now on, hold back memory reads and writes in so many of 256 cycles, at random."""

    @abstractmethod
    def step(self, cycles: int = 1) -> None:
        """Let some cycles pass."""

    @abstractmethod
    def load(self, address: int, words: Sequence[int]) -> None:
        """Write words to memory from a word address on, one a cycle, while the engine is idle."""

    @abstractmethod
    def read(self, address: int, count: int) -> list[int]:
        """`count` memory words from an address on, one a cycle, while the engine is idle."""

    @abstractmethod
    def wait(self, limit: int) -> None:
        """Let cycles pass until the engine is idle, at most `limit`."""

    @abstractmethod
    def rows(self) -> np.ndarray:
        """int64 [rows, 2]: the (m, l) that came up since the last call, in order."""

    @abstractmethod
    def close(self) -> None:
        """End the simulation; completes its waveform.

        Raises:
            OSError: the waveform could not be written.
        """


class SteppedDevice(Device):
    """A device that MyHDL steps: its own blocks, or a Cosimulation.

    Args:
        design: given clk, reset and the ports, what is to be simulated.
    """

    def __init__(self, config: EngineConfig, design: Callable):
        self._clk, reset, ports = bit(), Signal(bool(1)), SystemPorts(config)
        self._signals = {"reset": reset} | flat_ports(ports)
        self._rows: list[tuple[int, int]] = []
        self._stall: tuple[Random, int, int] | None = None
        self._cycle = 0
        self._simulation = None
        try:
            self._simulation = Simulation(design(self._clk, reset, ports), self._clock())
        except BaseException:
            self.close()
            raise

    def _clock(self):
        @always(delay(HALF_PERIOD))
        def toggle():
            self._clk.next = not self._clk

        return toggle

    def set(self, name: str, value: int) -> None:
        self._signals[name].next = value

    def get(self, name: str) -> int:
        return int(self._signals[name])

    def stall(self, reads: int, writes: int, seed: int) -> None:
        self._stall = (Random(seed), reads, writes) if reads or writes else None
        self.set("stall", 0)

    def step(self, cycles: int = 1) -> None:
        for _ in range(cycles):
            if self._stall is not None:
                random, reads, writes = self._stall
                self.set("stall", (random.randrange(256) < reads) | (random.randrange(256) < writes) << 1)
            try:
                self._simulation.run(2 * HALF_PERIOD, quiet=1)
            except ValueError as error:  # MyHDL's bounds check on a signal
                raise BenchError(f"a signal left its range ({error})") from None
            except (CosimulationError, BrokenPipeError):
                raise SimulatorError("the simulator's process ended before the simulation; run it again") from None
            if self.get("debug_valid"):
                self._rows.append((self.get("debug_maximum"), self.get("debug_total")))
            self._cycle += 1
            if self.progress is not None and self._cycle % PROGRESS_CYCLES == 0:
                self.progress(self._cycle)

    def load(self, address: int, words: Sequence[int]) -> None:
        self.set("host_write", 1)
        for offset, word in enumerate(words):
            self.set("host_address", address + offset)
            self.set("host_data", word)
            self.step()
        self.set("host_write", 0)

    def read(self, address: int, count: int) -> list[int]:
        words = []
        for offset in range(count):
            self.set("host_address", address + offset)
            self.step()
            words.append(self.get("host_q"))
        return words

    def wait(self, limit: int) -> None:
        for _ in range(limit):
            if not self.get("busy"):
                return
            self.step()

    def rows(self) -> np.ndarray:
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 2)
        self._rows.clear()
        return rows

    def close(self) -> None:
        if self._simulation is not None and not self._simulation._finished:
            self._simulation.quit()
        # MyHDL remembers every signal ever made.
        myhdl_state._signals.clear()
