"""Who is busy when: the parts of the engine in one run, as slices of time that do not overlap on a track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from golden.config import EngineConfig
from golden.cycles import SCORED, VALUED, Cycles
from golden.job import Job
from golden.schedule import Phase, Tile, load_order, walk

TRACKS = ("DMA", "MM1", "softmax", "MM2", "store")


@dataclass(frozen=True)
class Slice:
    """One part at work in the cycles first..end-1; start is accepted in cycle 0, the last word in cycle `busy`.

    track: of TRACKS. kind: of a load, its operand ("k", "q", "v", "s" or "p"), else the track again. tile: what it
    works on; None for stores. chunk: of the head dimension; None where all chunks go together.
    """

    track: str
    kind: str
    first: int
    end: int
    tile: Tile | None = None
    chunk: int | None = None


def slices(config: EngineConfig, job: Job, time: Cycles) -> Iterator[Slice]:
    """The slices of a run in the order of TRACKS, each track in order of time.

    A load lasts from its first request, or from the end of the load before, to its last word; MM1 and MM2 take a row
    each cycle of a pass; softmax works on a tile from its first score, or the end of the tile before, to its last row
    of probabilities; a store lasts from a row's first word to its last.

    Args:
        time: golden.cycles.cycles(config, job).
    """
    tiles = list(walk(config, job))
    scored = [tile for tile in tiles if tile.phase in SCORED]
    valued = [tile for tile in tiles if tile.phase in VALUED]
    kinds = [(_operand(kind, tile), tile, None) for kind, tile in load_order(config, job)]
    yield from _track("DMA", kinds, [(first, end) for _, first, end in time.loads])
    yield from _track("MM1", _passes("MM1", scored, config.chunks(job.dim)), time.mm1)
    yield from _track("softmax", [("softmax", tile, None) for tile in tiles], time.softmax)
    yield from _track("MM2", _passes("MM2", valued, config.chunks(job.value_dim)), time.mm2)
    yield from _track("store", [("store", None, None)] * len(time.writes), time.writes)


def _operand(kind: str, tile: Tile) -> str:
    return "p" if kind == "s" and tile.phase == Phase.VALUES else kind


def _passes(kind: str, tiles: Iterable[Tile], chunks: int) -> list[tuple]:
    return [(kind, tile, chunk) for tile in tiles for chunk in range(chunks)]


def _track(track: str, what: list[tuple], intervals: list[tuple[int, int]]) -> Iterator[Slice]:
    """Slices in which each begins when the one before has ended, so that pipelined work is counted once."""
    free = 0
    for (kind, tile, chunk), (first, end) in zip(what, intervals, strict=True):
        yield Slice(track, kind, max(first, free), end, tile, chunk)
        free = end


def occupied(parts: Iterable[Slice]) -> dict[str, int]:
    """Cycles in which each track is busy."""
    cycles = dict.fromkeys(TRACKS, 0)
    for part in parts:
        cycles[part.track] += part.end - part.first
    return cycles
