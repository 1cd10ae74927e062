"""Watches an AXI4 master under cocotb, cycle by cycle, for what the protocol demands of it."""

from __future__ import annotations

from collections import deque

from cocotb.triggers import RisingEdge

PAYLOAD = {
    "aw": ("awaddr", "awlen", "awsize", "awburst", "awid", "awcache", "awprot"),
    "w": ("wdata", "wstrb", "wlast"),
    "ar": ("araddr", "arlen", "arsize", "arburst", "arid", "arcache", "arprot"),
}
RESET_CYCLES = 3  # until every valid is low
PAGE = 4096


class Monitor:
    """Checks valid and payload until ready, bursts against pages and the memory, WLAST, and what may come when.

    reads, writes: (address, beats) of each burst offered; beats: [read, written]; unanswered: beats still to come on R,
    bursts still to be answered on B, beats promised on AW and not yet sent, all 0 when the bus is idle; depth: the most
    bursts that were under way at once, reads and writes.
    """

    def __init__(self, dut, word_bytes: int, base: int, memory_bytes: int):
        self.dut, self.word_bytes, self.memory = dut, word_bytes, range(base, base + memory_bytes)
        self._signals = {
            channel: [getattr(dut, f"m_axi_{name}") for name in names] for channel, names in PAYLOAD.items()
        }
        self._valid = {name: getattr(dut, f"m_axi_{name}valid") for name in ("aw", "w", "b", "ar", "r")}
        self._ready = {name: getattr(dut, f"m_axi_{name}ready") for name in ("aw", "w", "b", "ar", "r")}
        self.reads, self.writes, self.beats, self.depth = [], [], [0, 0], [0, 0]
        self.forget()
        self._reset = 0

    def forget(self) -> None:
        """Nothing is under way: reset."""
        self._waiting = {}  # payload by channel that waits for its ready
        self._reads, self._to_send, self._to_answer = deque(), deque(), deque()
        self._closed = 0  # write bursts whose last beat has been sent and not answered

    @property
    def unanswered(self) -> tuple[int, int, int]:
        return sum(self._reads), len(self._to_answer), sum(self._to_send)

    async def watch(self) -> None:
        """Watch for ever."""
        dut = self.dut
        while True:
            await RisingEdge(dut.aclk)
            if dut.aresetn.value != 1:
                self._reset += 1
                self.forget()
                if self._reset > RESET_CYCLES:
                    valid = [name for name in PAYLOAD if self._valid[name].value != 0]
                    assert not valid, f"{valid} valid in reset"
                continue
            self._reset = 0
            for name in ("ar", "aw", "w"):
                self._offered(name)
            if self._valid["r"].value == 1 and self._ready["r"].value == 1:
                assert self._reads, "a beat on R that no burst asked for"
                self.beats[0] += 1
                self._reads[0] -= 1
                last = int(dut.m_axi_rlast.value)
                assert last == (self._reads[0] == 0)
                if last:
                    self._reads.popleft()
            if self._valid["b"].value == 1 and self._ready["b"].value == 1:
                assert self._closed, "an answer on B before the last beat"
                self._closed -= 1
                self._to_answer.popleft()

    def _offered(self, name: str) -> None:
        """A cycle of AR, AW or W."""
        valid = self._valid[name].value
        assert valid.is_resolvable, f"{name}valid is {valid}"
        if valid != 1:
            assert name not in self._waiting, f"{name}valid fell before ready"
            return
        payload = [signal.value for signal in self._signals[name]]
        assert all(value.is_resolvable for value in payload[:1] if name != "w"), f"{name} offers {payload}"
        fresh = name not in self._waiting
        assert fresh or self._waiting[name] == payload, f"{name} changed before ready: {self._waiting[name]}, {payload}"
        self._waiting[name] = payload
        if fresh and name != "w":
            self._begins(name, *map(int, payload))
        if name == "w" and fresh:
            assert self._to_send, "a beat on W that no burst has promised"
        if self._ready[name].value == 1:
            del self._waiting[name]
            if name == "w":
                self.beats[1] += 1
                self._to_send[0] -= 1
                assert int(payload[2]) == (self._to_send[0] == 0), "WLAST in the wrong place"
                if self._to_send[0] == 0:
                    self._to_send.popleft()
                    self._closed += 1

    def _begins(self, name, address, length, size, burst, *constants) -> None:
        """A burst is offered."""
        beats = length + 1
        end = address + beats * self.word_bytes
        assert 1 << size == self.word_bytes and burst == 1 and constants == (0, 3, 0)
        assert address % self.word_bytes == 0
        assert address // PAGE == (end - 1) // PAGE, f"{name} crosses a page: {address:#x}, {beats} beats"
        assert address in self.memory and end - 1 in self.memory, f"{name} outside the memory: {address:#x}"
        if name == "ar":
            for first, last in self._to_answer:
                assert end <= first or last <= address, f"read at {address:#x} of what is still being written"
            self._reads.append(beats)
            self.reads.append((address, beats))
            self.depth[0] = max(self.depth[0], len(self._reads))
        else:
            self._to_send.append(beats)
            self._to_answer.append((address, end))
            self.writes.append((address, beats))
            self.depth[1] = max(self.depth[1], len(self._to_answer))
