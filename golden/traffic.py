"""Traffic model: payload bytes by operand and direction, tiles, K/V loads, and rows that each array takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from golden.config import EngineConfig
from golden.job import Job
from golden.layout import STATE_BYTES
from golden.schedule import Phase, walk


@dataclass(frozen=True)
class Traffic:
    """Bytes moved by a run, tiles computed, tiles of K and V loaded, and rows that entered each array."""

    q_bytes: int
    k_bytes: int
    v_bytes: int
    s_read_bytes: int
    p_read_bytes: int
    o_bytes: int
    state_bytes: int
    s_write_bytes: int
    p_write_bytes: int
    tiles: int
    k_loads: int
    v_loads: int
    mm1_busy: int
    mm2_busy: int

    @property
    def read(self) -> int:
        return self.q_bytes + self.k_bytes + self.v_bytes + self.s_read_bytes + self.p_read_bytes

    @property
    def written(self) -> int:
        return self.o_bytes + self.state_bytes + self.s_write_bytes + self.p_write_bytes

    @property
    def total(self) -> int:
        return self.read + self.written


def traffic(config: EngineConfig, job: Job) -> Traffic:
    """What a run moves: Q and O once, K and V once for each block of rows that sees them, (m, l) once.

    NAIVE moves two bytes for each entry of S and P besides: S is written, read for the maximum and read for exp; P is
    written and read.
    """
    scored = [tile for tile in walk(config, job) if tile.phase in (Phase.FLASH, Phase.SCORES)]
    valued = [tile for tile in walk(config, job) if tile.phase in (Phase.FLASH, Phase.VALUES)]
    entries = 2 * sum(tile.streamed * tile.keys for tile in scored) if job.naive else 0
    rows = job.heads * job.n_q
    return Traffic(
        q_bytes=rows * job.dim * config.element_bytes,
        k_bytes=sum(tile.keys for tile in scored) * job.dim * config.element_bytes,
        v_bytes=sum(tile.keys for tile in valued) * job.value_dim * config.element_bytes,
        s_read_bytes=2 * entries,
        p_read_bytes=entries,
        o_bytes=rows * job.value_dim * 2,
        state_bytes=rows * STATE_BYTES if job.state else 0,
        s_write_bytes=entries,
        p_write_bytes=entries,
        tiles=len(scored),
        k_loads=len(scored),
        v_loads=len(valued),
        mm1_busy=sum(tile.streamed for tile in scored) * config.chunks(job.dim),
        mm2_busy=sum(tile.streamed for tile in valued) * config.chunks(job.value_dim),
    )


def naive_bytes(config: EngineConfig, job: Job) -> int:
    """Bytes of the same run with the NAIVE schedule in blocks of C rows, as system B counts them."""
    return traffic(config, replace(job, q_rows=min(config.array_keys, config.max_rows), naive=True)).total
