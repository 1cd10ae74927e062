"""Cycle model of the memory reads: when each load is requested and complete."""

from __future__ import annotations

from dataclasses import dataclass, field

from golden import latency
from golden.config import KEY_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS, EngineConfig
from golden.job import Job
from golden.schedule import Phase, Tile, load_order

DATA = 2  # last word on the memory port to "load complete", besides the memory's latency
WALK = 5  # last load of a tile planned to the next tile's first
SKIP = 2  # for each tile that the walk passes over


@dataclass
class LoadTimes:
    """Bursts in static order, each load as soon as a buffer is free; the memory port is theirs when they want it."""

    config: EngineConfig
    job: Job
    ready: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in "kqvs"})
    released: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in "kqvs"})
    port: list[tuple[int, int]] = field(default_factory=list)  # cycles [first, end) in which reads have the port
    loads: list[tuple[str, int, int]] = field(default_factory=list)  # operand, requested, complete
    fences: list[int] = field(default_factory=list)  # NAIVE: a block's S, P or O is in memory

    def __post_init__(self):
        slots = {"k": KEY_SLOTS, "q": QUERY_SLOTS, "v": VALUE_SLOTS, "s": SCRATCH_SLOTS}
        self.slots = slots if self.job.overlap else dict.fromkeys(slots, 1)
        self.order = list(load_order(self.config, self.job))
        self.next = 0
        self.planned, self.taken, self.last_burst = latency.check(self.job), 0, 0
        self.record = self.planned + 1  # the walker has the record of the next tile
        self.needed_fences = 0

    @property
    def fenced(self) -> bool:
        """Whether the next load waits for a fence that is not known yet."""
        return self.next < len(self.order) and self.needed_fences > len(self.fences)

    def step(self) -> bool:
        """Place the next load if a buffer for it is known to become free."""
        if self.next == len(self.order) or self.fenced:
            return False
        kind, tile = self.order[self.next]
        waits_for = len(self.ready[kind]) - self.slots[kind]
        if waits_for >= len(self.released[kind]):
            return False
        free = self.released[kind][waits_for] + 1 if waits_for >= 0 else 0
        if tile.first and self.needed_fences:
            free = max(free, self.fences[self.needed_fences - 1] + 1)
        rows = {"q": tile.rows, "s": tile.streamed}.get(kind, tile.keys)
        words = self._words(kind, tile)
        self.planned = max(self.planned + 1, self.taken + 1, free, self.record)
        self.taken = max(self.planned + 1, self.last_burst)
        first = max(self.taken + 1, self.port[-1][1] if self.port else 0)
        end = first + rows * words
        self.last_burst = end - words
        self.port.append((first, end))
        self.ready[kind].append(end - 1 + self.job.latency + DATA)
        operand = "p" if kind == "s" and tile.phase == Phase.VALUES else kind
        self.loads.append((operand, self.taken + 1, self.ready[kind][-1]))
        self.next += 1
        if self.next < len(self.order) and self.order[self.next][1] is not tile:
            self.record = self.planned + WALK + SKIP * self.order[self.next][1].skipped
            if tile.last and tile.phase in (Phase.SCORES, Phase.EXP, Phase.VALUES):
                self.needed_fences += 1
        return True

    def _words(self, kind: str, tile: Tile) -> int:
        if kind == "s":
            return -(-2 * tile.keys // self.config.word_bytes)
        return self.config.words(self.job.value_dim if kind == "v" else self.job.dim)
