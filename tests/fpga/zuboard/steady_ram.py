"""Memory with one latency behind an AXI4 master, as quick as the bus: for counting cycles."""

from __future__ import annotations

from collections import deque

from cocotb.triggers import RisingEdge


class SteadyRam:
    """Takes every burst and every beat at once; the first beat of a read comes `latency` cycles after its burst was
    taken, or right behind the one before, and so does the answer to a write after its last beat.

    Args:
        latency: cycles, at least 1. outstanding: read bursts that it holds; then ARREADY falls.
    """

    def __init__(self, dut, base: int, size: int, word_bytes: int, latency: int, outstanding: int = 16):
        self._dut, self._base, self._word_bytes = dut, base, word_bytes
        self._latency, self._outstanding = latency, outstanding
        self._memory = bytearray(size)

    def read(self, address: int, length: int) -> bytes:
        first = address - self._base
        return bytes(self._memory[first : first + length])

    def write(self, address: int, data: bytes) -> None:
        first = address - self._base
        self._memory[first : first + len(data)] = data

    async def serve(self) -> None:
        """Serve for ever."""
        dut, word = self._dut, self._word_bytes
        reads, writes, answers = deque(), deque(), deque()
        now = open_reads = 0
        arready = 1
        dut.m_axi_rid.value = dut.m_axi_bid.value = dut.m_axi_rresp.value = dut.m_axi_bresp.value = 0
        dut.m_axi_awready.value = dut.m_axi_wready.value = dut.m_axi_arready.value = 1
        dut.m_axi_rvalid.value = dut.m_axi_bvalid.value = 0
        while True:
            await RisingEdge(dut.aclk)
            now += 1
            if arready and dut.m_axi_arvalid.value == 1:
                address, beats = int(dut.m_axi_araddr.value), int(dut.m_axi_arlen.value) + 1
                open_reads += 1
                for beat in range(beats):
                    reads.append((now + self._latency - 1, address + beat * word, beat == beats - 1))
            if dut.m_axi_awvalid.value == 1:
                address = int(dut.m_axi_awaddr.value)
                writes.extend(address + beat * word for beat in range(int(dut.m_axi_awlen.value) + 1))
            if dut.m_axi_wvalid.value == 1:
                self._store(writes.popleft(), int(dut.m_axi_wdata.value), int(dut.m_axi_wstrb.value))
                if dut.m_axi_wlast.value == 1:
                    answers.append(now + self._latency - 1)
            valid = bool(reads) and reads[0][0] <= now
            if valid:
                _, address, last = reads.popleft()
                open_reads -= last
                dut.m_axi_rdata.value = int.from_bytes(self.read(address, word), "little")
                dut.m_axi_rlast.value = int(last)
            dut.m_axi_rvalid.value = int(valid)
            answered = bool(answers) and answers[0] <= now
            if answered:
                answers.popleft()
            dut.m_axi_bvalid.value = int(answered)
            arready = int(open_reads < self._outstanding)
            dut.m_axi_arready.value = arready

    def _store(self, address: int, data: int, strobe: int) -> None:
        for byte in range(self._word_bytes):
            if strobe >> byte & 1:
                self._memory[address - self._base + byte] = data >> 8 * byte & 0xFF
