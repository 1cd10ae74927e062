"""Testbench of the engine: the same verbs on every simulator."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from gen.device import BenchError, Device
from golden.config import EngineConfig
from golden.job import Job, Layout, layout
from golden.memory_image import memory_image, unpack_output
from golden.schedule import final_order
from hw.ports import Counters, Descriptor

UNTOUCHED = 0x5A5A  # every 16-bit lane of the output area before a run


@dataclass(frozen=True)
class Run:
    """One head: its job and raw int64 arrays q [n_q, dim], k [n_kv, dim], v [n_kv, value_dim]."""

    job: Job
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class EngineResult:
    """What the hardware did: raw output [n_q, value_dim], m and l [n_q] (0 for rows that saw no key), counters."""

    output: np.ndarray
    maximum: np.ndarray
    total: np.ndarray
    counters: dict[str, int]


class Bench:
    """Drives a simulated engine_system. Cycles pass in every verb except counters, busy, set and get."""

    def __init__(self, config: EngineConfig, device: Device):
        self.config, self._device = config, device
        self.set, self.get, self.step = device.set, device.get, device.step
        self._descriptor, self._counters = Descriptor(config).names(), Counters().names()
        self._untouched = sum(UNTOUCHED << bit for bit in range(0, config.word_bits, 16))

    @property
    def busy(self) -> bool:
        """Whether the engine works on a head."""
        return bool(self.get("busy"))

    def restart(self, cycles: int = 2) -> None:
        """Hold reset for some cycles."""
        self.set("reset", 1)
        self.step(cycles)
        self.set("reset", 0)

    def load(self, address: int, words: list[int]) -> None:
        """Write words to memory from a word address on, one a cycle."""
        self._device.load(address, words)

    def read_back(self, address: int, count: int) -> list[int]:
        """`count` memory words from an address on, one a cycle."""
        return self._device.read(address, count)

    def start(self, job: Job, place: Layout) -> None:
        """Set the descriptor and pulse start."""
        values = {
            "n_q": job.n_q, "n_kv": job.n_kv, "dim": job.dim, "value_dim": job.value_dim, "q_rows": job.q_rows,
            "q_position": job.q_position, "scale_mantissa": job.scale_mantissa, "scale_shift": job.scale_shift,
            "causal": job.causal, "overlap": job.overlap,
        }  # fmt: skip
        values |= {field.name: getattr(place, field.name) for field in fields(place) if field.name != "words"}
        for name in self._descriptor:
            self.set(f"descriptor_{name}", values[name])
        self.set("latency", job.latency)
        self.set("start", 1)
        self.step()
        self.set("start", 0)

    def wait(self, limit: int) -> None:
        """Wait until the engine is idle, at most `limit` cycles."""
        self._device.wait(limit)
        if self.busy:
            raise BenchError(f"the engine was still busy after {limit} cycles")

    def counters(self) -> dict[str, int]:
        """The engine's counters and the memory's own byte counts."""
        values = {name: self.get(f"counters_{name}") for name in self._counters}
        return values | {f"memory_{name}": self.get(name) for name in ("read_bytes", "write_bytes")}

    def run(self, run: Run, limit: int) -> EngineResult:
        """Load a head, run it within `limit` cycles, and read it back."""
        place = layout(self.config, run.job)
        self._device.rows()
        self.load(0, memory_image(self.config, place, run.q, run.k, run.v))
        output_words = run.job.n_q * place.o_stride
        self.load(place.o_address, [self._untouched] * output_words)
        self.start(run.job, place)
        self.wait(limit)
        counters = self.counters()
        words = self.read_back(place.o_address, output_words)
        output, padding = unpack_output(words, self.config, run.job, place)
        if (padding != UNTOUCHED).any():
            raise BenchError("the engine wrote beyond the value dimension of an output row")
        rows = self._device.rows()
        if len(rows) != run.job.n_q:
            raise BenchError(f"{len(rows)} rows became final, not {run.job.n_q}")
        state = np.zeros((2, run.job.n_q), dtype=np.int64)
        state[:, final_order(self.config, run.job)] = rows.T
        return EngineResult(output, *state, counters)
