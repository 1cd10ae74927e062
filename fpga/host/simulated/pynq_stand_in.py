"""What fpga.host.pynq_link needs of the package pynq, on a simulated ZUBoard."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fpga.host.errors import DeviceError
from fpga.host.simulated.process import Process, program
from fpga.zuboard import top as zuboard
from golden.config import EngineConfig

MAIN = Path(__file__).with_name("axi_main.cpp")
REGISTERS, REGISTER_BYTES = 0xA000_0000, 4096
MEMORY = 0x8_7000_0000  # where buffers lie: beyond 32 bit


class Buffer(np.ndarray):
    """Bytes in the processor's cache; what the device sees changes with flush, what the array sees with invalidate."""

    def __array_finalize__(self, _):
        self.shared, self.physical_address = None, None

    def flush(self) -> None:
        """Write the cache to memory."""
        self.shared[: self.nbytes] = self

    def invalidate(self) -> None:
        """Read memory anew."""
        self[:] = self.shared[: self.nbytes]

    def freebuffer(self) -> None:
        """Give the memory back: what the device reads or writes there from now on is somebody else's."""
        self.shared = None


class SimulatedPynq:
    """Stands in for the module pynq: Overlay, MMIO and allocate, for one device, which is a process.

    Args:
        latency, stalls, seed: of the memory, see axi_main.cpp.
        memory: bytes of memory that there are.

    Raises:
        ConfigError: the board cannot have this configuration. SimulatorError: it cannot be built.
    """

    def __init__(
        self, config: EngineConfig, latency: int = 20, stalls: int = 0, seed: int = 0,
        memory: int = 1 << 24, notice: Callable[[str], None] = lambda sentence: None,
    ):  # fmt: skip
        own = (Path(zuboard.__file__),)
        built = program(config, zuboard.TOP, lambda: zuboard.top_modules(config, clock_hz=0), MAIN, own, notice)
        with tempfile.TemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as file:
            file.truncate(memory)
            self._memory = np.frombuffer(mmap.mmap(file.fileno(), memory), dtype=np.uint8)
            command = (built, file.fileno(), memory, MEMORY, latency, stalls, seed)
            self.process = Process("the simulated ZUBoard", command, pass_fds=(file.fileno(),))

    def Overlay(self, bitstream: str):
        """Loads the bitstream; its name says nothing here."""
        kind = f"xilinx.com:module_ref:{zuboard.TOP}:1.0"
        cell = {"phys_addr": REGISTERS, "addr_range": REGISTER_BYTES, "type": kind}
        return type("Overlay", (), {"ip_dict": {"accelerator": cell}})

    def MMIO(self, base: int, size: int):
        """Registers from a physical address on."""
        if (base, size) != (REGISTERS, REGISTER_BYTES):
            raise DeviceError(f"the simulated ZUBoard has nothing at 0x{base:X}")
        return _Registers(self.process)

    def allocate(self, shape: tuple[int], dtype) -> Buffer:
        """All the memory that there is, or less."""
        if shape[0] > len(self._memory):
            raise MemoryError("Failed to allocate Memory!")
        buffer = np.full(shape, 0x5A, dtype=dtype).view(Buffer)
        buffer.shared, buffer.physical_address = self._memory, MEMORY
        return buffer


class _Registers:
    def __init__(self, process: Process):
        self._process = process

    def read(self, offset: int) -> int:
        data, response = (int(part, 16) for part in self._process.ask(f"r {offset:x}").split())
        return self._checked(offset, response) or data

    def write(self, offset: int, value: int) -> None:
        self._checked(offset, int(self._process.ask(f"w {offset:x} {value:x}"), 16))

    def _checked(self, offset: int, response: int) -> None:
        if response:  # where Linux sends SIGBUS
            raise DeviceError(f"register 0x{offset:X} is answered with {response}, an error")
