"""Cycle model of the writer: queued rows, written in the cycles that reads leave free."""

from __future__ import annotations


class WriteOrder:
    """When what the output queue holds is written.

    Args:
        port: cycles [first, end) in which reads have the memory port, in order; may grow by intervals that are later
            than everything written so far.
        fences: gets the cycle in which each block's last row is in memory.

    Attributes:
        popped: per entry, the cycle in which its last word is taken. written: [first, end) of each.
    """

    def __init__(self, port: list[tuple[int, int]], fences: list[int]):
        self.port, self.fences, self.interval = port, fences, 0
        self.popped: list[int] = []
        self.written: list[tuple[int, int]] = []
        self.advanced = 0

    def write(self, pushed: list[tuple[int, int, bool]], count: int) -> None:
        """Write entries (queued, words, last of a block) until `count` have left the queue."""
        while len(self.popped) < count:
            queued, words, fence = pushed[len(self.popped)]
            before = self.popped[-1] if self.popped else 0
            fetched = max(queued + 1, self.advanced)
            self.advanced = max(fetched + 1, before)
            cycle = first = self.advanced
            for word in range(words):
                cycle = self._free(cycle + 1)
                if word == 0:
                    first = cycle
            self.popped.append(cycle)
            self.written.append((first, cycle + 1))
            if fence:
                self.fences.append(cycle)

    def _free(self, cycle: int) -> int:
        """First cycle from `cycle` on in which no read has the port."""
        while self.interval < len(self.port) and self.port[self.interval][0] <= cycle:
            cycle = max(cycle, self.port[self.interval][1])
            self.interval += 1
        if self.interval and cycle < self.port[self.interval - 1][1]:
            cycle = self.port[self.interval - 1][1]
        return cycle
