"""Testbench of the engine: the same verbs on every simulator."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from gen.device import BenchError, Device
from golden.config import EngineConfig
from golden.job import Job
from golden.layout import Layout, Refusal, extents, layout
from golden.memory_image import memory_image, to_bytes, to_words, unpack_output, unpack_state, written_bytes
from golden.schedule import final_order
from hw.ports import Counters


@dataclass(frozen=True)
class Run:
    """One run: its job, raw int64 arrays q [heads, n_q, dim], k [kv_heads, n_kv, dim], v [kv_heads, n_kv, value_dim],
    or without the first axis for one head, and where they lie (None: as golden.layout.layout packs them)."""

    job: Job
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    place: Layout | None = None


@dataclass(frozen=True)
class EngineResult:
    """What the hardware did: raw output [heads, n_q, value_dim], m and l [heads, n_q] (0 for rows that saw no key),
    without the first axis where the run has none; state: (m, l) as written to memory, or None; counters."""

    output: np.ndarray
    maximum: np.ndarray
    total: np.ndarray
    state: np.ndarray | None
    counters: dict[str, int]


class Bench:
    """Drives a simulated engine_system. Cycles pass in every verb except counters, busy, set and get."""

    def __init__(self, config: EngineConfig, device: Device):
        self.config, self._device = config, device
        self.set, self.get, self.step, self.stall = device.set, device.get, device.step, device.stall
        self._counters = Counters().names()

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
        for name, value in described(job, place).items():
            self.set(f"descriptor_{name}", value)
        self.set("latency", job.latency)
        self.set("start", 1)
        self.step()
        self.set("start", 0)

    @property
    def refusal(self) -> Refusal:
        """Why the last start was refused, NONE if it was not."""
        return Refusal(self.get("status_refusal"))

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
        """Load a run's operands, run it within `limit` cycles, and read back what lies between the first and the last
        word that it writes."""
        config, job = self.config, run.job
        place = run.place or layout(config, job)
        before = memory_image(config, job, place, run.q, run.k, run.v)
        self._device.rows()
        self.load(0, to_words(before, config))
        self.start(job, place)
        self.wait(limit)
        if self.refusal:
            raise BenchError(f"the engine refused the descriptor: {self.refusal.name}")
        counters = self.counters()
        spans = [span for name, span in extents(config, job, place).items() if name in ("o", "state")]
        first, end = min(first for first, _ in spans), max(end for _, end in spans)
        after = before.copy()
        written = slice(first * config.word_bytes, end * config.word_bytes)
        after[written] = to_bytes(self.read_back(first, end - first), config)
        self._check_untouched(job, place, before, after)
        output = unpack_output(after, job, place)
        state = unpack_state(after, job, place) if job.state else None
        m_and_l = self._rows(job)
        if np.ndim(run.q) == 2:
            output, m_and_l, state = output[0], m_and_l[:, 0], state if state is None else state[:, 0]
        return EngineResult(output, *m_and_l, state, counters)

    def _check_untouched(self, job: Job, place: Layout, before: np.ndarray, after: np.ndarray) -> None:
        """Nothing has been written but O, (m, l) and the scratch area."""
        allowed = np.zeros(len(before), dtype=bool)
        allowed[written_bytes(job, place)] = True
        if job.naive:
            first, end = extents(self.config, job, place)["scratch"]
            allowed[first * self.config.word_bytes : end * self.config.word_bytes] = True
        wrong = np.flatnonzero((before != after) & ~allowed)
        if len(wrong):
            raise BenchError(f"the engine wrote to byte {wrong[0]}, where it has no operand to write")

    def _rows(self, job: Job) -> np.ndarray:
        """int64 [2, heads, n_q]: the m and l that came up."""
        rows = self._device.rows()
        if len(rows) != job.heads * job.n_q:
            raise BenchError(f"{len(rows)} rows became final, not {job.heads * job.n_q}")
        state = np.zeros((2, job.heads, job.n_q), dtype=np.int64)
        head, query = np.array(final_order(self.config, job)).T
        state[:, head, query] = rows.T
        return state


def described(job: Job, place: Layout) -> dict[str, int]:
    """The fields of hw.ports.Descriptor."""
    fields = {name: int(value or 0) for name, value in asdict(job).items() if name != "latency"}
    return fields | {"windowed": int(job.window is not None)} | asdict(place)
