"""Cycle model: when each load, pass and write of a run happens, exactly as the controllers in hw do it.

Times are cycles after the one in which start is accepted. Every controller acts as soon as what it waits for has
happened, so each time is the maximum of earlier ones plus the constants of golden.latency and of the handshakes.
Only memory writes are different: they take the cycles that reads leave free.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from golden import latency
from golden.config import KEY_SLOTS, QUERY_SLOTS, VALUE_SLOTS, EngineConfig
from golden.job import Job
from golden.schedule import Tile, load_order, walk

FIRST_PLAN = 2  # start to the loader's first decision: descriptor latched, walker loaded
DATA = 2  # last word on the memory port to "load complete", besides the memory's latency
READ = 1  # pass decided to its first row being read


@dataclass(frozen=True)
class Cycles:
    """busy: start accepted to last write accepted; compute: first row read for Q.K^T to last row normalised."""

    busy: int
    compute: int


@dataclass
class _Loader:
    """Bursts in static order, each load as soon as a buffer is free; the memory port is theirs when they want it."""

    config: EngineConfig
    job: Job
    ready: dict[str, list[int]] = field(default_factory=lambda: {"k": [], "q": [], "v": []})
    released: dict[str, list[int]] = field(default_factory=lambda: {"k": [], "q": [], "v": []})
    port: list[tuple[int, int]] = field(default_factory=list)  # cycles [first, end) in which reads have the port

    def __post_init__(self):
        slots = {"k": KEY_SLOTS, "q": QUERY_SLOTS, "v": VALUE_SLOTS}
        self.slots = slots if self.job.overlap else dict.fromkeys(slots, 1)
        self.loads = list(load_order(self.config, self.job))
        self.next = 0
        self.planned, self.taken, self.last_burst = FIRST_PLAN - 1, 0, 0

    def step(self) -> bool:
        """Place the next load if a buffer for it is known to become free."""
        if self.next == len(self.loads):
            return False
        kind, tile = self.loads[self.next]
        waits_for = len(self.ready[kind]) - self.slots[kind]
        if waits_for >= len(self.released[kind]):
            return False
        free = self.released[kind][waits_for] + 1 if waits_for >= 0 else 0
        rows = tile.rows if kind == "q" else tile.keys
        words = self.config.words(self.job.value_dim if kind == "v" else self.job.dim)
        self.planned = max(self.planned + 1, self.taken, free)
        self.taken = max(self.planned + 1, self.last_burst)
        first = max(self.taken + 1, self.port[-1][1] if self.port else 0)
        end = first + rows * words
        self.last_burst = end - words
        self.port.append((first, end))
        self.ready[kind].append(end - 1 + self.job.latency + DATA)
        self.next += 1
        return True


@dataclass
class _Array:
    """Passes of one systolic array: weights shifted in while the pass before runs, rows spaced by the state loops."""

    config: EngineConfig
    chunks: int
    loader: _Loader
    kind: str
    complete: int | None = None  # weights of the next pass, once known
    read: int = -1  # last read of the weight feeder
    go: int = -latency.ROW_LOOP  # decision to start a pass
    rows: int = 0  # of that pass

    def prepare(self, tile: int, chunk: int) -> bool:
        """Work out when the next pass' weights are complete; False while their load is not placed.

        The feeder works ahead of the rows: a tile is released with its last chunk, whenever that pass may start.
        """
        ready = self.loader.ready[self.kind]
        if chunk:
            begin = self.go
        elif tile < len(ready):
            # The feeder is busy until the chunk before is read, and the array until that is taken.
            begin = max(self.read + 1, self.go, ready[tile] + 1)
        else:
            return False
        self.complete = self.read = begin + self.config.array_keys
        if chunk == self.chunks - 1:
            self.loader.released[self.kind].append(self.complete)
        return True

    def start(self, tile: Tile, earliest: int) -> int:
        """Start the pass whose weights are known; returns the cycle of its decision."""
        spaced = self.go + self.rows + max(0, latency.ROW_LOOP - tile.streamed)
        self.go = max(self.complete, earliest, spaced)
        self.rows, self.complete = tile.streamed, None
        return self.go


class _Model:
    def __init__(self, config: EngineConfig, job: Job):
        self.config, self.job = config, job
        self.tiles = list(walk(config, job))
        self.loader = _Loader(config, job)
        self.scores = _Array(config, config.chunks(job.dim), self.loader, "k")
        self.values = _Array(config, config.chunks(job.value_dim), self.loader, "v")
        self.score_pass = self.value_pass = (0, 0)  # next tile and chunk
        self.p_written: list[int] = []  # per tile: its first p row may be read, and its 1/l will be there in time
        self.p_freed: list[int] = []  # per tile: its p rows are being read for the last time
        self.p_rows = [0]  # rows streamed before each tile
        for tile in self.tiles:
            self.p_rows.append(self.p_rows[-1] + tile.streamed)
        self.p_oldest = 0
        self.first_row = None
        self.pushed: list[tuple[int, int]] = []  # per finished chunk: cycle queued, words
        self.writer = _Writer(self.loader.port)

    def step_scores(self) -> bool:
        """One step of Q.K^T: the next pass' weights, or the pass itself, if everything it waits for is known."""
        index, chunk = self.score_pass
        if index == len(self.tiles):
            return False
        if self.scores.complete is None:
            return self.scores.prepare(index, chunk)
        tile = self.tiles[index]
        if tile.block >= len(self.loader.ready["q"]):
            return False
        earliest = self.loader.ready["q"][tile.block] + 1
        last = chunk == self.scores.chunks - 1
        if last:
            while self.p_rows[index + 1] - self.p_rows[self.p_oldest] > self.config.p_rows:
                if self.p_oldest == len(self.p_freed):
                    return False
                earliest = max(earliest, self.p_freed[self.p_oldest] + 1)
                self.p_oldest += 1
        go = self.scores.start(tile, earliest)
        if self.first_row is None:
            self.first_row = go + READ
        if last:
            if tile.last:
                self.loader.released["q"].append(go)
            written = go + READ + latency.row_to_p(self.config)
            self.p_written.append(written + latency.reciprocal_wait(self.config))
        self.score_pass = (index + 1, 0) if last else (index, chunk + 1)
        return True

    def step_values(self, may_write: bool) -> bool:
        """One step of P.V likewise; may_write: the output queue's progress may be computed for it."""
        index, chunk = self.value_pass
        if index == len(self.tiles):
            return False
        if self.values.complete is None:
            return self.values.prepare(index, chunk)
        if index == len(self.p_written):
            return False
        tile = self.tiles[index]
        earliest = self.p_written[index] + 1
        must_leave = len(self.pushed) + tile.finals - self.config.output_rows
        if must_leave > 0:
            if must_leave > len(self.writer.popped) and not may_write:
                return False
            self.writer.write(self.pushed, must_leave)
            earliest = max(earliest, self.writer.popped[must_leave - 1] + 1)
        go = self.values.start(tile, earliest)
        last = chunk == self.values.chunks - 1
        if last:
            self.p_freed.append(go)
        elements = self.job.value_dim - chunk * self.config.array_depth
        words = self.config.output_words(min(elements, self.config.array_depth))
        queued = go + READ + latency.FEED + latency.array(self.config) + latency.ACCUMULATE + latency.NORMALISE
        self.pushed += [(queued + row, words) for row in range(tile.finals)]
        self.value_pass = (index + 1, 0) if last else (index, chunk + 1)
        return True

    def run(self) -> Cycles:
        while self.value_pass[0] < len(self.tiles):
            # What is known without the output queue comes first, so that every read that precedes a write is placed.
            while self.loader.step() or self.step_scores() or self.step_values(may_write=False):
                pass
            if self.value_pass[0] < len(self.tiles):
                self.step_values(may_write=True)
        self.writer.write(self.pushed, len(self.pushed))
        return Cycles(busy=self.writer.popped[-1], compute=self.pushed[-1][0] - self.first_row + 1)


class _Writer:
    """Queued chunks of output rows, written in the cycles that reads leave free."""

    def __init__(self, port: list[tuple[int, int]]):
        self.port, self.interval = port, 0
        self.popped: list[int] = []  # per chunk: its last word is taken
        self.advanced = 0

    def write(self, pushed: list[tuple[int, int]], count: int) -> None:
        """Write chunks until `count` have left the queue."""
        while len(self.popped) < count:
            queued, words = pushed[len(self.popped)]
            before = self.popped[-1] if self.popped else 0
            fetched = max(queued + 1, self.advanced)
            self.advanced = max(fetched + 1, before)
            cycle = self.advanced
            for _ in range(words):
                cycle = self._free(cycle + 1)
            self.popped.append(cycle)

    def _free(self, cycle: int) -> int:
        """First cycle from `cycle` on in which no read has the port."""
        while self.interval < len(self.port) and self.port[self.interval][0] <= cycle:
            cycle = max(cycle, self.port[self.interval][1])
            self.interval += 1
        if self.interval and cycle < self.port[self.interval - 1][1]:
            cycle = self.port[self.interval - 1][1]
        return cycle


def cycles(config: EngineConfig, job: Job) -> Cycles:
    """Busy and compute cycles of one run, exactly."""
    return _Model(config, job).run()
