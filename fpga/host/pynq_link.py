"""A board that runs PYNQ: registers through MMIO, and a physically contiguous buffer as the engine's memory."""

from __future__ import annotations

import importlib

import numpy as np

from fpga.host.errors import DeviceError
from fpga.host.link import Link
from fpga.host.registers import RunState, address, field
from golden.config import EngineConfig

TOP = "zuboard"  # the module of fpga/zuboard that block designs refer to
BUFFER_BYTES = 1 << 24  # of memory that is asked for, at most
LEAST_BYTES = 1 << 16  # worth trying
PAGE = 4096  # the memory's base is a multiple of it
STOP_SECONDS = 2.0  # that a run may take to come to its end on closing
MASK = 0xFFFFFFFF


class PynqLink(Link):
    """A link by the libraries of a PYNQ image, which must run as root.

    Args:
        bitstream: the .bit file, with the .hwh file of the same build beside it. pynq: stands in for the module.
        buffer_bytes: of memory, at most; less if so much contiguous memory is not to be had.

    Raises:
        DeviceError: pynq is missing, or the bitstream cannot be loaded or has no accelerator.
    """

    def __init__(self, bitstream: str, pynq=None, buffer_bytes: int = BUFFER_BYTES):
        self.name, self._most = bitstream or "the bitstream", buffer_bytes
        self._pynq = _module() if pynq is None else pynq
        self._buffer = None
        if not bitstream:
            raise DeviceError("the target pynq: has no bitstream; give pynq:FILE.bit")
        try:
            overlay = self._pynq.Overlay(bitstream)
        except PermissionError as error:
            raise self._not_root(error) from None
        except Exception as error:  # what PYNQ raises depends on its version
            raise DeviceError(
                f"cannot load {bitstream} ({_one_line(error)}); give the .bit file of `flashtile build zuboard`, with "
                "its .hwh file beside it, and run as root"
            ) from None
        place, size = _find(bitstream, overlay.ip_dict)
        try:
            self._registers = self._pynq.MMIO(place, size)
        except OSError as error:
            raise self._not_root(error) from None

    def read_registers(self, address: int, count: int) -> list[int]:
        return [int(self._registers.read(address + 4 * index)) & MASK for index in range(count)]

    def write_registers(self, address: int, values: list[int]) -> None:
        for index, value in enumerate(values):
            self._registers.write(address + 4 * index, int(value))

    def read_memory(self, address: int, size: int) -> bytes:
        return np.array(self._memory[address : address + size]).tobytes()

    def write_memory(self, address: int, data: bytes) -> None:
        self._memory[address : address + len(data)] = np.frombuffer(data, dtype=np.uint8)

    def start(self) -> None:
        self._memory.flush()
        self._command("start")

    def wait(self, seconds: float) -> RunState:
        state = super().wait(seconds)
        if self._buffer is not None:
            self._buffer.invalidate()
        return state

    def state(self) -> RunState:
        return RunState.of(*self.read_registers(address("status.busy"), 1))

    def reserve(self, config: EngineConfig) -> int:
        size, reason = min(config.memory_bytes, self._most), None
        while self._buffer is None and size >= min(LEAST_BYTES, config.memory_bytes):
            try:
                self._buffer = self._pynq.allocate(shape=(size,), dtype=np.uint8)
            except (MemoryError, RuntimeError, OSError) as error:
                size, reason = size // 2, error
        if self._buffer is None:
            raise DeviceError(
                f"there are not even {LEAST_BYTES:,} bytes of contiguous memory ({_one_line(reason)}); end other "
                "programs that use PYNQ, or restart the board"
            )
        base = int(self._buffer.physical_address)
        if base % PAGE:
            raise DeviceError(f"the buffer lies at 0x{base:X}, which is no multiple of {PAGE}; restart the board")
        self.write_registers(address("control.memory_base_low"), [base & MASK])
        self.write_registers(address("control.memory_base_high"), [base >> 32])
        return size

    def close(self) -> None:
        buffer, self._buffer = self._buffer, None
        if buffer is None:
            return
        try:
            if self.state().busy:
                self._command("soft_reset")
                super().wait(STOP_SECONDS)
        except DeviceError:
            return  # the engine may still write there: better lost than given to somebody else
        buffer.freebuffer()

    @property
    def _memory(self):
        if self._buffer is None:
            raise DeviceError(f"{self.name} has been closed; connect anew")
        return self._buffer

    def _command(self, name: str) -> None:
        place, low, _ = field(f"control.{name}")
        self.write_registers(place, [1 << low])

    def _not_root(self, error: Exception) -> DeviceError:
        return DeviceError(f"PYNQ may not use the device ({_one_line(error)}); run as root, with PYNQ's environment")


def _module():
    try:
        return importlib.import_module("pynq")
    except ImportError as error:
        raise DeviceError(
            f"the package pynq is missing ({error}); run this on a board with a PYNQ image, as root, with the image's "
            "Python"
        ) from None


def _find(bitstream: str, cells: dict) -> tuple[int, int]:
    """Physical address and size of the registers."""
    for name, cell in cells.items():
        if f":{TOP}:" in str(cell.get("type", "")) or TOP in name or "flashtile" in name:
            return int(cell["phys_addr"]), int(cell["addr_range"])
    there = ", ".join(cells) or "nothing"
    raise DeviceError(
        f"{bitstream} holds no flashtile accelerator (there is {there}); give the .bit file of `flashtile build "
        "zuboard`"
    )


def _one_line(error: Exception | None) -> str:
    return " ".join(str(error).split()) or type(error).__name__
