"""Cycle model: when each load, pass and write of a run happens, exactly as the controllers in hw do it.

Times are cycles after the one in which start is accepted. Every controller acts as soon as what it waits for has
happened, so each time is the maximum of earlier ones plus the constants of golden.latency and of the handshakes.
Only memory writes are different: they take the cycles that reads leave free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from golden import latency
from golden.config import EngineConfig
from golden.job import Job
from golden.layout import state_words
from golden.load_times import LoadTimes
from golden.schedule import Phase, Tile, walk
from golden.write_order import WriteOrder

READ = 1  # pass decided to its first row being read
ROOM = 3  # rows leave a buffer to a pass that needs their room
SCORED = (Phase.FLASH, Phase.SCORES)
VALUED = (Phase.FLASH, Phase.VALUES)
STORED = (Phase.SCORES, Phase.EXP)


@dataclass(frozen=True)
class Cycles:
    """busy: start accepted to the cycle after the last write; compute: first row read for Q.K^T to last row normalised.

    memory_stall: cycles in which neither array takes a row while a load is under way. Intervals [first, end) of cycles:
    loads: (operand, first request, last word); mm1, mm2: passes; softmax: rows of a tile; writes: of an entry of the
    output queue.
    """

    busy: int
    compute: int
    memory_stall: int
    loads: list[tuple[str, int, int]]
    mm1: list[tuple[int, int]]
    softmax: list[tuple[int, int]]
    mm2: list[tuple[int, int]]
    writes: list[tuple[int, int]]


@dataclass
class _Weights:
    """When the weights of each pass of an array are complete: shifted in while the pass before runs."""

    config: EngineConfig
    chunks: int
    loader: LoadTimes
    kind: str
    complete: int | None = None  # weights of the next pass, once known
    read: int = -1  # last read of the weight feeder
    taken: int = -latency.ROW_LOOP  # the pass before was decided

    def prepare(self, tile: int, chunk: int) -> bool:
        """Work out when the next pass' weights are complete; False while their load is not placed.

        The feeder works ahead of the rows: a tile is released with its last chunk, whenever that pass may start.
        """
        ready = self.loader.ready[self.kind]
        if chunk:
            begin = self.taken
        elif tile < len(ready):
            # The feeder is busy until the chunk before is read, and the array until that is taken.
            begin = max(self.read + 1, self.taken, ready[tile] + 1)
        else:
            return False
        self.complete = self.read = begin + self.config.array_keys
        if chunk == self.chunks - 1:
            self.loader.released[self.kind].append(self.complete)
        return True


@dataclass
class _Passes:
    """Passes of rows one after the other, spaced by the loops of the rows' state."""

    go: int = -latency.ROW_LOOP
    cycles: int = 0

    def start(self, tile: Tile, chunk: int, earliest: int, row_cycles: int = 1) -> int:
        """Start a pass as early as it may; returns the cycle of its decision."""
        idle = latency.idle(tile.streamed if chunk else tile.again)
        self.go = max(earliest, self.go + self.cycles + idle)
        self.cycles = tile.streamed * row_cycles
        return self.go


class _Model:
    def __init__(self, config: EngineConfig, job: Job):
        self.config, self.job = config, job
        self.tiles = list(walk(config, job))
        self.valued = [tile for tile in self.tiles if tile.phase in VALUED]
        self.loader = LoadTimes(config, job)
        self.k = _Weights(config, config.chunks(job.dim), self.loader, "k")
        self.v = _Weights(config, config.chunks(job.value_dim), self.loader, "v")
        self.score_rows, self.value_rows = _Passes(), _Passes()
        self.popped = -latency.ROW_LOOP  # the last pass of the tile before was decided
        self.score_pass = self.value_pass = (0, 0)  # next tile and chunk
        self.scored = self.replayed = self.queries = 0  # tiles of K, of S and P, and blocks of Q used up
        self.p_written: list[int] = []  # per tile for P.V: its first p row may be read, and its 1/l is there in time
        self.p_freed: list[int] = []  # per tile for P.V: its p rows are being read for the last time
        self.p_rows = [0]  # rows streamed before each tile for P.V
        for tile in self.valued:
            self.p_rows.append(self.p_rows[-1] + tile.streamed)
        self.p_oldest = 0
        self.mm1: list[tuple[int, int]] = []
        self.mm1_rows: list[int] = []  # cycles in which a row enters Q.K^T
        self.mm2: list[tuple[int, int]] = []
        self.softmax: list[tuple[int, int]] = []
        self.pushed: list[tuple[int, int, bool]] = []  # queued, words, last of a block (NAIVE)
        self.writer = WriteOrder(self.loader.port, self.loader.fences)

    def step_scores(self, may_write: bool) -> bool:
        """One step of Q.K^T or of S and P: the next pass' weights, or the pass itself, if all it waits for is known.

        may_write: the output queue's progress may be computed for it.
        """
        index, chunk = self.score_pass
        if index == len(self.tiles):
            return False
        tile = self.tiles[index]
        scored = tile.phase in SCORED
        if scored:
            if self.k.complete is None:
                return self.k.prepare(self.scored, chunk)
            if self.queries >= len(self.loader.ready["q"]):
                return False
            earliest = max(self.k.complete, self.loader.ready["q"][self.queries] + 1)
        elif self.replayed < len(self.loader.ready["s"]):
            earliest = self.loader.ready["s"][self.replayed] + 1
        else:
            return False
        last = not scored or chunk == self.k.chunks - 1
        # What the next tile needs is worked out when the one before has gone.
        earliest = max(earliest, self.popped + 2)
        if last and tile.phase in VALUED:
            room = self._p_room()
            if room is None:
                return False
            earliest = max(earliest, room)
        if last and tile.phase in STORED:
            room = self._queue_room(tile.streamed, may_write)
            if room is None:
                return False
            earliest = max(earliest, room)
        apart = self.config.row_cycles if last else 1
        go = self.score_rows.start(tile, chunk, earliest, apart)
        first = go + READ
        if scored:
            self.k.taken, self.k.complete = go, None
            self.mm1.append((first, first + apart * tile.streamed))
            self.mm1_rows += range(*self.mm1[-1], apart)
        if last:
            self._finish_scores(tile, go, scored)
            self.popped = go
        self.score_pass = (index + 1, 0) if last else (index, chunk + 1)
        return True

    def _finish_scores(self, tile: Tile, go: int, scored: bool) -> None:
        first, apart = go + READ, self.config.row_cycles
        last = (tile.streamed - 1) * apart
        # A pass that takes a row a cycle is ahead of any load into its buffer, which is free at once.
        until_read = READ + last if apart > 1 else 0
        if scored:
            self.scored += 1
            if tile.last:
                self.queries += 1
                self.loader.released["q"].append(go + until_read)
        else:
            self.replayed += 1
            free = latency.replay_read(self.config) + (last if apart > 1 else 0)
            self.loader.released["s"].append(go + free)
        p = first + latency.row_to_p(self.config)
        self.softmax.append((p - latency.softmax(self.config), p + last + 1))
        if tile.phase in VALUED:
            # P.V takes a row a cycle: where they come more slowly, all of them must be there.
            self.p_written.append(p + latency.reciprocal_wait(self.config) + (last if apart > 1 else 0))
        if tile.phase in STORED:
            behind = latency.softmax(self.config) - latency.scale(self.config) if scored else 0  # S is stored, not p
            queued = p - behind + latency.SCRATCH
            words = -(-2 * tile.keys // self.config.word_bytes)
            ends = [tile.last and row == tile.streamed - 1 for row in range(tile.streamed)]
            self.pushed += [(queued + row * apart, words, end) for row, end in enumerate(ends)]

    def _p_room(self) -> int | None:
        """When the next tile's rows have room in the P buffer; None if that is not known."""
        earliest, index = 0, len(self.p_written)
        while self.p_rows[index + 1] - self.p_rows[self.p_oldest] > self.config.p_rows:
            if self.p_oldest == len(self.p_freed):
                return None
            earliest = self.p_freed[self.p_oldest] + ROOM
            self.p_oldest += 1
        return earliest

    def _queue_room(self, entries: int, may_write: bool) -> int | None:
        """When the output queue has room for so many entries more; None if that may not be worked out yet."""
        must_leave = len(self.pushed) + entries - self.config.output_rows
        if must_leave <= 0:
            return 0
        if must_leave > len(self.writer.popped) and not may_write:
            return None
        self.writer.write(self.pushed, must_leave)
        return self.writer.popped[must_leave - 1] + ROOM

    def step_values(self, may_write: bool) -> bool:
        """One step of P.V likewise."""
        index, chunk = self.value_pass
        if index == len(self.valued):
            return False
        if self.v.complete is None:
            return self.v.prepare(index, chunk)
        if index == len(self.p_written):
            return False
        tile = self.valued[index]
        room = self._queue_room(tile.finals, may_write) if tile.finals else 0
        if room is None:
            return False
        earliest = max(self.v.complete, self.p_written[index] + 1, room, self.value_rows.go + 2)
        go = self.value_rows.start(tile, chunk, earliest)
        self.v.taken, self.v.complete = go, None
        self.mm2.append((go + READ, go + READ + tile.streamed))
        last = chunk == self.v.chunks - 1
        if last:
            self.p_freed.append(go)
        elements = self.job.value_dim - chunk * self.config.array_depth
        words = self.config.output_words(min(elements, self.config.array_depth))
        if last and self.job.state:
            words += state_words(self.config)
        queued = go + READ + latency.FEED + latency.array(self.config) + latency.ACCUMULATE + latency.NORMALISE
        ends = [self.job.naive and last and tile.last and row == tile.finals - 1 for row in range(tile.finals)]
        self.pushed += [(queued + row, words, end) for row, end in enumerate(ends)]
        self.value_pass = (index + 1, 0) if last else (index, chunk + 1)
        return True

    def run(self) -> Cycles:
        while self.value_pass[0] < len(self.valued):
            # What is known without the output queue comes first, so that every read that precedes a write is placed.
            while self.loader.step() or self.step_scores(may_write=False) or self.step_values(may_write=False):
                pass
            if self.value_pass[0] == len(self.valued):
                break
            if not (self.step_values(may_write=True) or self.step_scores(may_write=True)):
                # Only a fence is left to wait for: all that is queued is written.
                self.writer.write(self.pushed, len(self.pushed))
                self.writer.leave()
        self.writer.write(self.pushed, len(self.pushed))
        self.writer.leave()
        busy, last_push = self.writer.left[-1] + 1, self.pushed[-1][0]
        first_row = self.mm1[0][0]
        waiting = _marked(((first, end) for _, first, end in self.loader.loads), busy)
        waiting &= ~_marked(self.mm2, busy)
        waiting[self.mm1_rows] = False
        return Cycles(
            busy, last_push - first_row + 1, int(waiting.sum()), self.loader.loads, self.mm1, self.softmax, self.mm2,
            self.writer.written,
        )  # fmt: skip


def _marked(intervals, busy: int) -> np.ndarray:
    """The cycles up to `busy` that lie in one of the intervals."""
    marked = np.zeros(busy + 1, dtype=bool)
    for first, end in intervals:
        marked[first:end] = True
    return marked


@lru_cache(maxsize=16)  # who simulates a run needs it, and who compares
def cycles(config: EngineConfig, job: Job) -> Cycles:
    """Busy and compute cycles of one run, exactly, and when each part of the engine works."""
    return _Model(config, job).run()
