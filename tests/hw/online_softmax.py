"""The online softmax of one row, tile by tile, from golden's pieces; checked against golden.flash and golden.naive."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from golden.flash import scores
from golden.formats import SHIFT_BITS, Z_FRACTION, half_up
from golden.job import Job
from golden.tables import exp2


@dataclass
class Row:
    """m, l and seen of one row, and what its last tile did."""

    maximum: int = 0
    total: int = 0
    seen: bool = False
    shift: int = 0
    fresh: bool = True

    def rise(self, ceiling: int | None) -> None:
        """m, shift and fresh for a tile whose largest visible z has this ceiling (None: no visible key)."""
        before, self.fresh = self.maximum, not self.seen
        if ceiling is not None:
            self.maximum = max(self.maximum, ceiling) if self.seen else ceiling
        self.shift = min(self.maximum - before, (1 << SHIFT_BITS) - 1) if self.seen else 0
        self.seen = self.seen or ceiling is not None

    def add(self, addend: int) -> None:
        """l, after `rise`."""
        self.total = (0 if self.fresh else int(half_up(self.total, self.shift))) + addend

    def tile(self, z, visible: int, again: bool | None = None) -> list[int]:
        """Probabilities of a tile's lanes; visible: a bit a lane; again: None, or m is known and
        stays, and l is summed up anew from the first tile (True) on."""
        shown = [value for lane, value in enumerate(z) if visible >> lane & 1]
        self.rise(-(-max(shown) >> Z_FRACTION) if shown and again is None else None)
        if again is not None:
            self.fresh = again
        top = self.maximum << Z_FRACTION
        p = [int(exp2(top - value)) if visible >> lane & 1 else 0 for lane, value in enumerate(z)]
        self.add(sum(p))
        return p

    def stored_tile(self, p, visible: int, start: bool) -> list[int]:
        """The same for probabilities that come back from memory; l is summed up anew from the first tile on."""
        self.rise(None)
        self.fresh = start
        p = [value * (visible >> lane & 1) for lane, value in enumerate(p)]
        self.add(sum(p))
        return p


def scaled(s, mantissa: int, scale_shift: int) -> tuple[list[int], list[bool]]:
    """z of the scores of a tile, and which of them had to be saturated."""
    z, over = scores(np.array([s]), np.eye(len(s), dtype=np.int64), Job(1, 1, 1, 1, mantissa, scale_shift, 1))
    return z[0].tolist(), over[0].tolist()


def visits(rows: int, count: int, gap: int, seed: int):
    """(cycle, row) of visits in which a row returns after `gap` cycles or more: as early as it may, or later."""
    rng = random.Random(seed)
    free = [0] * rows
    for cycle in range(count):
        ready = [row for row in range(rows) if free[row] <= cycle]
        if not ready or rng.random() < 0.1:
            continue
        # Mostly the rows that have just become free again, so that the shortest gap is common.
        row = max(ready, key=free.__getitem__) if rng.random() < 0.7 else rng.choice(ready)
        free[row] = cycle + gap
        yield cycle, row
