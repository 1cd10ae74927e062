"""A simulated ZUBoard behind the link that PYNQ boards have."""

from __future__ import annotations

from collections.abc import Callable

from fpga.host.pynq_link import PynqLink
from fpga.host.simulated.pynq_stand_in import SimulatedPynq
from golden.config import EngineConfig


class SimulatedZuboard(PynqLink):
    """A PynqLink to a device of its own; arguments: see SimulatedPynq."""

    clock = 20_000  # cycles a second, on a slow machine with much else to do

    def __init__(self, config: EngineConfig, notice: Callable[[str], None] = lambda _: None, **memory):
        self.pynq = SimulatedPynq(config, notice=notice, **memory)
        try:
            super().__init__("sim:zuboard", self.pynq)
        except BaseException:
            self.pynq.process.close()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.pynq.process.close()
