"""A simulation in MyHDL as a device of gen.bench: of the blocks themselves, or of a Cosimulation."""

from __future__ import annotations

from collections.abc import Callable

from myhdl import Signal, Simulation, always, delay
from myhdl import _simulator as myhdl_state

from gen.verilog import flat_ports
from golden.config import EngineConfig
from hw.engine_system import SystemPorts
from hw.signals import bit

HALF = 5  # time units from edge to edge


class MyhdlDevice:
    """engine_system on signals, stepped cycle by cycle; see gen.bench.Device.

    Raises:
        ValueError: from any verb: a signal left its range.
    """

    def __init__(self, config: EngineConfig, design: Callable):
        """design(clk, reset, ports): makes what is to be simulated on these signals, a block or a Cosimulation."""
        self._clk, reset, ports = bit(), Signal(bool(1)), SystemPorts(config)
        self._ports = flat_ports(ports) | {"reset": reset}
        self._simulation = Simulation(design(self._clk, reset, ports), self._clock())

    def _clock(self):
        clk = self._clk

        @always(delay(HALF))
        def toggle():
            clk.next = not clk

        return toggle

    def set(self, **ports: int) -> None:
        for name, value in ports.items():
            self._ports[name].next = value

    def get(self, port: str) -> int:
        return int(self._ports[port])

    def step(self, cycles: int = 1) -> None:
        self._simulation.run(2 * HALF * cycles, quiet=1)

    def load(self, address: int, words: list[int]) -> None:
        for offset, word in enumerate(words):
            self.set(host_write=1, host_address=address + offset, host_data=word)
            self.step()
        self.set(host_write=0)

    def read_back(self, address: int, count: int) -> list[int]:
        words = []
        for offset in range(count):
            self.set(host_address=address + offset)
            self.step()
            words.append(self.get("host_q"))
        return words

    def wait(self, limit: int) -> tuple[int, list[tuple[int, int]]]:
        cycles, rows = 0, []
        while cycles < limit and self.get("busy"):
            self.step()
            cycles += 1
            if self.get("debug_valid"):
                rows.append((self.get("debug_maximum"), self.get("debug_total")))
        return cycles, rows

    def close(self) -> None:
        if not self._simulation._finished:
            self._simulation.quit()
        # MyHDL remembers every signal ever made.
        myhdl_state._signals.clear()
