"""Everything that the hardware computes and counts for one head, predicted."""

from __future__ import annotations

from dataclasses import dataclass

from golden.config import EngineConfig
from golden.cycles import cycles
from golden.flash import FlashResult, flash
from golden.job import Job
from golden.traffic import flash_traffic


@dataclass(frozen=True)
class Prediction:
    """result: raw output, m and l; counters: by the names of hw.ports.Counters, and the memory's own byte counts."""

    result: FlashResult
    counters: dict[str, int]


def predict(config: EngineConfig, job: Job, q, k, v) -> Prediction:
    """Run the golden model: datapath, traffic and cycles.

    Args:
        q, k, v: raw integer arrays [n_q, dim], [n_kv, dim], [n_kv, value_dim].

    Raises:
        JobError: the configuration cannot run the job.
    """
    job.check(config)
    result = flash(config, job, q, k, v)
    traffic, time = flash_traffic(config, job), cycles(config, job)
    return Prediction(
        result,
        {
            "busy": time.busy,
            "compute": time.compute,
            "q_bytes": traffic.q_bytes,
            "k_bytes": traffic.k_bytes,
            "v_bytes": traffic.v_bytes,
            "o_bytes": traffic.o_bytes,
            "tiles": traffic.tiles,
            "k_loads": traffic.tiles,
            "v_loads": traffic.tiles,
            "saturated": int(result.saturated),
            "memory_read_bytes": traffic.read,
            "memory_write_bytes": traffic.written,
        },
    )
