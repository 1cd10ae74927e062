"""A simulated ULX3S behind a pseudo-terminal, and the serial link to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fpga.host.serial_link import SerialLink
from fpga.host.simulated.process import Process, program
from gen.hierarchy import modules
from gen.register_map import register_map
from golden.config import EngineConfig
from hw.signals import bit
from hw.uart import uart_system

MAIN = Path(__file__).with_name("uart_main.cpp")
TOP = "uart_system"
CLOCKS = 8  # of a bit: fewer than on a board, for speed
# As slow as a slow machine with much else to do. The terminal itself has no speed.
BAUD, TIMEOUT, SETTLE = 19_200, 20.0, 0.3


class SimulatedUlx3s(SerialLink):
    """A SerialLink to a device of its own: all of a UART board but its PLL and pins.

    process: of the device. seed: of the values that registers and memories start with.

    Raises:
        SimulatorError: it cannot be built. DeviceError: it does not answer.
    """

    clock = 20_000  # cycles a second, likewise

    def __init__(
        self, config: EngineConfig, seed: int = 0, notice: Callable[[str], None] = lambda sentence: None
    ):
        built = program(config, TOP, lambda: _modules(config), MAIN, (Path(__file__),), notice)
        self.process = Process("the simulated ULX3S", (built, CLOCKS, seed))
        try:
            super().__init__(self.process.ask(""), BAUD, TIMEOUT, SETTLE)
        except BaseException:
            self.process.close()
            raise
        self.name = "sim:ulx3s"

    def close(self) -> None:
        super().close()
        self.process.close()


def _modules(config: EngineConfig):
    registers = register_map(config).registers
    arguments = {
        "clk": bit(), "reset": bit(), "rx": bit(), "tx": bit(), "busy": bit(), "fault": bit(), "config": config,
        "registers": registers, "clock_hz": CLOCKS, "baud": 1,
    }  # fmt: skip
    return modules(uart_system.uart_system, arguments, TOP)
