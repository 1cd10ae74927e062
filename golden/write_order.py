"""Cycle model of the writer: queued rows, written in the cycles that reads leave free."""

from __future__ import annotations


class WriteOrder:
    """When what the output queue holds is written.

    A word goes through a register slice of two words: it enters when the word two before it has left, and leaves, a
    cycle later at the earliest, when the memory port is free.

    Args:
        port: cycles [first, end) in which reads have the memory port, in order; may grow by intervals that are later
            than everything that has left so far.
        fences: gets the cycle in which each block's last row is in memory.

    Attributes:
        popped: per entry, the cycle in which its last word has left the queue. written: [first, end) of each entry's
        words in memory, as far as they have left the slice.
    """

    def __init__(self, port: list[tuple[int, int]], fences: list[int]):
        self.port, self.fences, self.interval = port, fences, 0
        self.popped: list[int] = []
        self.written: list[tuple[int, int]] = []
        self.advanced = 0
        self.entered: list[tuple[int, bool, bool]] = []  # of each word: the cycle, first and last of an entry
        self.left: list[int] = []
        self.fenced: set[int] = set()  # words after which a block is in memory
        self.first = 0

    def write(self, pushed: list[tuple[int, int, bool]], count: int) -> None:
        """Take entries (queued, words, last of a block) from the queue until `count` have left it."""
        while len(self.popped) < count:
            queued, words, fence = pushed[len(self.popped)]
            before = self.popped[-1] if self.popped else 0
            fetched = max(queued + 1, self.advanced)
            self.advanced = max(fetched + 1, before)
            cycle = self.advanced
            for word in range(words):
                number = len(self.entered)
                self.leave(number - 1)
                cycle = max(cycle, self.left[number - 2] if number > 1 else 0) + 1
                self.entered.append((cycle, word == 0, word == words - 1))
            self.popped.append(cycle)
            if fence:
                self.fenced.add(len(self.entered) - 1)

    def leave(self, count: int | None = None) -> None:
        """Let words leave for memory until `count` have (None: all that have entered)."""
        while len(self.left) < (len(self.entered) if count is None else count):
            number = len(self.left)
            entered, first, last = self.entered[number]
            cycle = self._free(max(entered, self.left[-1] if self.left else 0) + 1)
            self.left.append(cycle)
            if first:
                self.first = cycle
            if last:
                self.written.append((self.first, cycle + 1))
            if number in self.fenced:
                self.fences.append(cycle)

    def _free(self, cycle: int) -> int:
        """First cycle from `cycle` on in which no read has the port."""
        while self.interval < len(self.port) and self.port[self.interval][0] <= cycle:
            cycle = max(cycle, self.port[self.interval][1])
            self.interval += 1
        if self.interval and cycle < self.port[self.interval - 1][1]:
            cycle = self.port[self.interval - 1][1]
        return cycle
