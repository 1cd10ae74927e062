"""The package pynq on a board whose engine is golden: a stand-in with a cache that must be flushed and invalidated."""

import numpy as np

from fpga.host.registers import address

BASE = 0x8_4000_0000
CELL = {"phys_addr": 0xA000_0000, "addr_range": 4096, "type": "xilinx.com:module_ref:zuboard:1.0"}


class CachedBuffer(np.ndarray):
    """What the processor sees of the board's memory, as in pynq.buffer.PynqBuffer."""

    def __array_finalize__(self, _):
        self.board, self.physical_address, self.freed = None, None, 0

    def flush(self):
        self.board.memory[: self.nbytes] = self

    def invalidate(self):
        self[:] = self.board.memory[: self.nbytes]

    def freebuffer(self):
        self.freed += 1


class GoldenPynq:
    """cells: of the block design. largest: buffer that can be had. base: its physical address. buffers: all there were.

    refusal: raised by Overlay; mmio_refusal: by MMIO.
    """

    def __init__(self, board, cells=None, largest=1 << 30, base=BASE):
        self.board, self.largest, self.base, self.buffers = board, largest, base, []
        self.cells = {"ps": {"type": "xilinx.com:ip:zynq_ultra_ps_e:3.5"}, "x": CELL} if cells is None else cells
        self.refusal = self.mmio_refusal = None

    def Overlay(self, bitstream):
        if self.refusal:
            raise self.refusal
        return type("Overlay", (), {"ip_dict": self.cells})

    def MMIO(self, base, size):
        if self.mmio_refusal:
            raise self.mmio_refusal
        assert (base, size) == (CELL["phys_addr"], CELL["addr_range"])
        return self

    def read(self, offset):
        return np.uint32(self.board.registers[offset // 4])

    def write(self, offset, value):
        assert type(value) is int  # as PYNQ insists
        if offset == address("control.start") and value & 1:
            low, high = (self.board.registers[address(f"control.memory_base_{half}") // 4] for half in ("low", "high"))
            assert high << 32 | low == self.base
        self.board.write(offset, value)

    def allocate(self, shape, dtype):
        if shape[0] > self.largest:
            raise RuntimeError("Failed to allocate\nmemory!")
        buffer = np.zeros(shape, dtype=dtype).view(CachedBuffer)
        buffer.board, buffer.physical_address = self.board, self.base
        self.buffers.append(buffer)
        return buffer
