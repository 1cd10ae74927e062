"""Everything that the hardware computes and counts for one run, predicted."""

from __future__ import annotations

from dataclasses import dataclass

from golden.config import EngineConfig
from golden.cycles import Cycles, cycles
from golden.flash import Attention, flash
from golden.job import Job
from golden.naive import naive
from golden.traffic import traffic

# Of golden.traffic, as the engine counts them.
MOVED = (
    "mm1_busy", "mm2_busy", "q_bytes", "k_bytes", "v_bytes", "s_read_bytes", "p_read_bytes", "o_bytes", "state_bytes",
    "s_write_bytes", "p_write_bytes", "tiles", "k_loads", "v_loads",
)  # fmt: skip
# What memory stalls change.
TIMED = ("busy", "compute", "memory_stall")


@dataclass(frozen=True)
class Prediction:
    """result: raw output, m and l; counters: by the names of hw.ports.Counters, and the memory's own byte counts; time:
    when what happens."""

    result: Attention
    counters: dict[str, int]
    time: Cycles


def attention(config: EngineConfig, job: Job, q, k, v) -> Attention:
    """Attention as the engine computes it with the job's schedule; arguments: see golden.flash.each_head."""
    return (naive if job.naive else flash)(config, job, q, k, v)


def predict(config: EngineConfig, job: Job, q, k, v) -> Prediction:
    """Run the golden model: datapath, traffic and cycles.

    Args:
        q, k, v: raw integer arrays, see golden.flash.each_head.

    Raises:
        JobError: the configuration cannot run the job.
    """
    job.check(config)
    result = attention(config, job, q, k, v)
    moved, time = traffic(config, job), cycles(config, job)
    counters = {name: getattr(time, name) for name in TIMED}
    counters |= {name: getattr(moved, name) for name in MOVED}
    counters |= {
        "saturations": result.saturations,
        "memory_read_bytes": moved.read,
        "memory_write_bytes": moved.written,
    }
    return Prediction(result, counters, time)
