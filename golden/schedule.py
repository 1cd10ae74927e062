"""The tile schedule as data: one walk that the controllers, the traffic model and the cycle model share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from golden.config import EngineConfig
from golden.job import Job


class Phase(IntEnum):
    """What a walk over the tiles of a block does. FLASH is one walk; NAIVE the four others, in this order."""

    FLASH = 0  # K, Q, V in; everything on chip
    SCORES = 1  # K, Q in; S out
    MAXIMUM = 2  # S in; row maxima stay
    EXP = 3  # S in; P out, in S's place
    VALUES = 4  # P, V in


NAIVE_PHASES = (Phase.SCORES, Phase.MAXIMUM, Phase.EXP, Phase.VALUES)


@dataclass(frozen=True)
class Tile:
    """One block of query rows of a KV head against one tile of its keys.

    Rows count from the block's first one. first_row..row_end-1 stream through; of them first_row..final_end-1 see no
    later tile, so that their output leaves with this one, and those from fresh_from on have seen none before.
    """

    phase: Phase
    kv_head: int
    block: int  # of the run
    start: int  # the block's first row, among those of its KV head
    tile: int
    rows: int
    first_row: int
    row_end: int
    final_end: int
    fresh_from: int
    keys: int
    diagonal: int  # keys of this tile (and before) up to the position of row first_row; may be negative
    member: int  # of its group of heads, row first_row
    first: bool  # first tile of its block in this phase
    last: bool  # last tile of its block in this phase
    skipped: int  # tiles before it that the walk passed over, because the window leaves them out

    @property
    def streamed(self) -> int:
        return self.row_end - self.first_row

    @property
    def again(self) -> int:
        """Rows that the tile before it had, too; for the block's first tile all."""
        return self.streamed if self.first else self.fresh_from - self.first_row

    @property
    def finals(self) -> int:
        return self.final_end - self.first_row


def walk(config: EngineConfig, job: Job) -> Iterator[Tile]:
    """Tiles in the order in which they are computed: KV heads, blocks of q_rows rows, (phases,) tiles of keys.

    Tiles that no row of the block sees are skipped, and rows stream only through tiles of which they see a key. A row
    that sees none at all still has to produce its zeros: it streams through the block's first tile or the last one.
    """
    phases = NAIVE_PHASES if job.naive else (Phase.FLASH,)
    block = 0
    for kv_head in range(job.kv_heads):
        for start in range(0, job.rows, job.q_rows):
            for phase in phases:
                yield from _block(config, job, phase, kv_head, block, start)
            block += 1


def first_tile(config: EngineConfig, job: Job) -> int:
    """The tile where a KV head's walk begins: that of the first key that query 0 sees."""
    if job.window is None:
        return 0
    tiles = -(-job.n_kv // config.array_keys)
    return min(max(job.q_position - job.window + 1, 0) // config.array_keys, tiles - 1)


def _block(config: EngineConfig, job: Job, phase: Phase, kv_head: int, block: int, start: int) -> Iterator[Tile]:
    width, group = config.array_keys, job.group
    tiles = -(-job.n_kv // width)
    rows = min(job.q_rows, job.rows - start)
    first_row = fresh_from = skipped = 0
    first = True
    # From where the block before began; a NAIVE phase begins where the one before it did.
    for tile in range(_begin(config, job, start - job.q_rows) if phase in (Phase.FLASH, Phase.SCORES) else 0, tiles):
        next_key = (tile + 1) * width
        row_end = final_end = rows
        if tile < tiles - 1:
            # Rows before it have positions before next_key; rows before it see keys before next_key.
            passed = (next_key - job.q_position) * group - start
            if job.window is not None:
                row_end = min(max(passed + (job.window - 1) * group, 0), rows)
            final_end = min(max(passed, first_row), rows) if job.causal else first_row
            if not row_end and first:
                skipped += phase in (Phase.FLASH, Phase.SCORES)
                continue
        query, member = divmod(start + first_row, group)
        last = final_end == rows
        yield Tile(
            phase, kv_head, block, start, tile, rows, first_row, row_end, final_end, fresh_from,
            keys=min(width, job.n_kv - tile * width), diagonal=job.q_position + query + 1 - tile * width, member=member,
            first=first, last=last, skipped=skipped,
        )  # fmt: skip
        if last:
            break
        first_row, fresh_from, first, skipped = final_end, row_end, False, 0


def _begin(config: EngineConfig, job: Job, start: int) -> int:
    """The first tile that a row sees, from which the walk of the next block sets out."""
    if job.window is None:
        return 0
    if start < 0:
        return first_tile(config, job)
    tiles = -(-job.n_kv // config.array_keys)
    low = job.q_position + start // job.group - job.window + 1
    return min(max(low, 0) // config.array_keys, tiles - 1)


def load_order(config: EngineConfig, job: Job) -> Iterator[tuple[str, Tile]]:
    """Memory reads in their static order.

    FLASH: K of a block's first tile, its Q rows, V; then K, V of each further tile. NAIVE: the same without V; S tile
    by tile, twice; then P, V of each tile ("s" stands for both).
    """
    for tile in walk(config, job):
        if tile.phase in (Phase.FLASH, Phase.SCORES):
            yield "k", tile
            if tile.first:
                yield "q", tile
        else:
            yield "s", tile
        if tile.phase in (Phase.FLASH, Phase.VALUES):
            yield "v", tile


def final_order(config: EngineConfig, job: Job) -> list[tuple[int, int]]:
    """(head, query) of each row, in the order in which the engine finishes them."""
    order = []
    for tile in walk(config, job):
        if tile.phase in (Phase.FLASH, Phase.VALUES):
            for row in range(tile.start + tile.first_row, tile.start + tile.final_end):
                query, member = divmod(row, job.group)
                order.append((tile.kv_head * job.group + member, query))
    return order
