"""The tile schedule as data: one walk that the controllers, the traffic model and the cycle model share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from golden.config import EngineConfig
from golden.job import Job


@dataclass(frozen=True)
class Tile:
    """One block of query rows against one tile of keys.

    Row numbers count from the block's first row. Rows first_row..rows-1 stream through the arrays; rows
    first_row..final_end-1 see no later tile, so their output leaves with this one.
    """

    block: int
    tile: int
    rows: int
    first_row: int
    final_end: int
    keys: int
    diagonal: int  # keys of this tile (and before) visible to row 0 under the causal mask, may be negative
    last: bool  # last tile of its block

    @property
    def streamed(self) -> int:
        return self.rows - self.first_row

    @property
    def finals(self) -> int:
        return self.final_end - self.first_row


def walk(config: EngineConfig, job: Job) -> Iterator[Tile]:
    """Tiles in the order in which they are computed: blocks of q_rows rows, then tiles of keys.

    Causal: tiles that no row of the block sees are skipped, except the first (a row that sees no key at all still
    has to produce its zeros), and rows stream only through tiles of which they see a key.
    """
    width = config.array_keys
    tiles = -(-job.n_kv // width)
    for block, start in enumerate(range(0, job.n_q, job.q_rows)):
        rows = min(job.q_rows, job.n_q - start)
        first_row = 0
        for tile in range(tiles):
            diagonal = job.q_position + start + 1 - tile * width
            if tile == tiles - 1:
                final_end = rows
            elif job.causal:
                final_end = min(max(width + 1 - diagonal, first_row), rows)
            else:
                final_end = first_row
            last = final_end == rows
            yield Tile(block, tile, rows, first_row, final_end, min(width, job.n_kv - tile * width), diagonal, last)
            if last:
                break
            first_row = final_end


def load_order(config: EngineConfig, job: Job) -> Iterator[tuple[str, Tile]]:
    """Memory reads in their static order: K of a block's first tile, its Q rows, V; then K, V of each further tile."""
    for tile in walk(config, job):
        yield "k", tile
        if tile.tile == 0:
            yield "q", tile
        yield "v", tile


def final_order(config: EngineConfig, job: Job) -> list[int]:
    """Query rows in the order in which the engine finishes them."""
    return [
        tile.block * job.q_rows + row
        for tile in walk(config, job)
        for row in range(tile.first_row, tile.final_end)
    ]
