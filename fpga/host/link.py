"""The way to a device: what serial ports, PYNQ and simulations have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from fpga.host.errors import DeviceBusy
from fpga.host.registers import RunState
from golden.config import EngineConfig

LONGEST_PAUSE = 0.02  # seconds between looks at a run


class Link(ABC):
    """Registers and memory of one device, and a run's start and end.

    Addresses are in bytes: of registers multiples of 4, of memory multiples of the memory word, as are sizes; memory
    counts from the engine's address 0. Every verb raises DeviceError within a bounded time if it cannot be done.

    name: what messages call the device. clock: least cycles of the engine a second, if the identity does not say.
    """

    name: str
    clock = 1e6

    @abstractmethod
    def read_registers(self, address: int, count: int) -> list[int]:
        """`count` registers from a byte address on, 32 bits each."""

    @abstractmethod
    def write_registers(self, address: int, values: list[int]) -> None:
        """Write registers from a byte address on."""

    @abstractmethod
    def read_memory(self, address: int, size: int) -> bytes:
        """`size` bytes of memory."""

    @abstractmethod
    def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes to memory."""

    @abstractmethod
    def start(self) -> None:
        """Run the descriptor."""

    @abstractmethod
    def state(self) -> RunState:
        """How the run is going."""

    @abstractmethod
    def close(self) -> None:
        """Give the device back; more than once does no harm."""

    def reserve(self, config: EngineConfig) -> int:
        """Get memory for an engine of this configuration; returns how many bytes there are."""
        return config.memory_bytes

    def wait(self, seconds: float) -> RunState:
        """Wait until no run is under way; returns how the last one ended.

        Raises:
            DeviceBusy: it still is after so many seconds.
        """
        end, pause = time.monotonic() + seconds, LONGEST_PAUSE / 64
        while True:
            state = self.state()
            if not state.busy:
                return state
            if time.monotonic() > end:
                raise DeviceBusy(
                    f"{self.name} is still busy after {seconds:.1f} s; wait for its run to end, or reset() it"
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
