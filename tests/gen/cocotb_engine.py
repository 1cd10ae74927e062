"""cocotb bench of the generated `engine`: a memory in Python behind its ports, and a test vector.

cocotb loads this file into the simulator; tests/gen/test_cocotb.py starts it, with the core's folder in FLASHTILE_CORE.
"""

import json
import os
import random
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

CORE = Path(os.environ.get("FLASHTILE_CORE", "."))


class Memory:
    """Words behind the engine's read and write ports, which stall at random."""

    def __init__(self, dut, words: list[int], word_bytes: int, seed: int):
        self.dut, self.words, self.word_bytes = dut, words, word_bytes
        self._random = random.Random(seed)

    async def serve(self):
        """Serve for ever. The engine's outputs are those of just before each rising edge."""
        dut, answers = self.dut, deque()
        read_ready = write_ready = 0
        while True:
            dut.read_ready.value, dut.write_ready.value = read_ready, write_ready
            answer = answers.popleft() if answers and self._random.random() < 0.8 else None
            dut.read_data_valid.value = int(answer is not None)
            dut.read_data.value = answer or 0
            await ReadOnly()
            if read_ready and dut.read_valid.value == 1:
                first, size = int(dut.read_address.value), int(dut.read_bytes.value)
                answers.extend(self.words[first : first + -(-size // self.word_bytes)])
            if write_ready and dut.write_valid.value == 1:
                self._write(int(dut.write_address.value), int(dut.write_data.value), int(dut.write_strobe.value))
            await RisingEdge(dut.clk)
            read_ready, write_ready = int(self._random.random() < 0.7), int(self._random.random() < 0.7)

    def _write(self, address: int, data: int, strobe: int):
        for lane in range(self.word_bytes // 2):
            if strobe >> lane & 1:
                mask = 0xFFFF << 16 * lane
                self.words[address] = self.words[address] & ~mask | data & mask


def words(name: str) -> list[int]:
    return [int(line, 16) for line in (CORE / "vectors" / name).read_text().split()]


@cocotb.test()
async def vectors_behind_a_stalling_memory(dut):
    """Every word of memory is as promised, and every counter that stalls do not change."""
    word_bytes = json.loads((CORE / "config.json").read_text())["word_bytes"]
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.start.value = 0
    for path in sorted((CORE / "vectors").glob("*.json")):
        vector = json.loads(path.read_text())
        memory = Memory(dut, words(f"{path.stem}_before.hex"), word_bytes, seed=int(path.stem))
        serving = cocotb.start_soon(memory.serve())
        dut.reset.value = 1
        for _ in range(2):
            await RisingEdge(dut.clk)
        dut.reset.value = 0
        for name, value in vector["descriptor"].items():
            getattr(dut, f"descriptor_{name}").value = value
        dut.start.value = 1
        await RisingEdge(dut.clk)
        dut.start.value = 0
        await RisingEdge(dut.clk)
        while dut.busy.value == 1:
            await RisingEdge(dut.clk)
        serving.cancel()
        assert memory.words == words(f"{path.stem}_after.hex"), path.stem
        moved = [f"{operand}_bytes" for operand in ("q", "k", "v", "o", "state")]
        for name in (*moved, "mm1_busy", "mm2_busy", "tiles", "k_loads", "v_loads", "saturations"):
            assert int(getattr(dut, f"counters_{name}").value) == vector["counters"][name], (path.stem, name)
