"""Traffic model: payload bytes by operand and direction, tiles, and K/V loads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from golden.config import EngineConfig
from golden.job import Job
from golden.schedule import walk


@dataclass(frozen=True)
class Traffic:
    """Bytes moved for one head, and how many tiles were computed (each loads K and V once)."""

    q_bytes: int
    k_bytes: int
    v_bytes: int
    o_bytes: int
    tiles: int

    @property
    def read(self) -> int:
        return self.q_bytes + self.k_bytes + self.v_bytes

    @property
    def written(self) -> int:
        return self.o_bytes

    @property
    def total(self) -> int:
        return self.read + self.written


def flash_traffic(config: EngineConfig, job: Job) -> Traffic:
    """FLASH: Q once, O once, K and V once for each block of query rows that sees them."""
    tiles = list(walk(config, job))
    keys = sum(tile.keys for tile in tiles)
    return Traffic(
        q_bytes=job.n_q * job.dim * config.element_bytes,
        k_bytes=keys * job.dim * config.element_bytes,
        v_bytes=keys * job.value_dim * config.element_bytes,
        o_bytes=job.n_q * job.value_dim * 2,
        tiles=len(tiles),
    )


def naive_bytes(config: EngineConfig, job: Job) -> int:
    """The three-pass schedule: besides Q, K, V and O in blocks of C rows, each score travels five times.

    S is written, read for maximum and sum, read again for exp; P is written and read: two bytes each time.
    """
    blocks = replace(job, q_rows=config.array_keys)
    entries = sum(tile.rows * tile.keys for tile in walk(config, blocks))
    return flash_traffic(config, blocks).total + 5 * 2 * entries
