"""Testbench of the engine: the same verbs whatever simulates it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from golden.config import EngineConfig
from golden.job import Job, Layout, layout
from golden.memory_image import memory_image, unpack_output
from golden.schedule import final_order
from hw.ports import Counters

UNTOUCHED = 0x5A5A  # every 16-bit lane of the output area before a run
CHUNK = 20_000  # cycles between looks at the clock and at Ctrl-C


class BenchError(RuntimeError):
    """The engine did something no run may do: it hung, or wrote where it must not."""


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


class Device(Protocol):
    """A simulated engine_system, clocked by who uses it. Ports are driven and sampled at the falling clock edge.

    Ports have the names that conversion gives them, `descriptor_n_q`. A word is a non-negative integer.
    """

    def set(self, **ports: int) -> None:
        """Drive ports from here on."""

    def get(self, port: str) -> int:
        """The value of a port now."""

    def step(self, cycles: int = 1) -> None:
        """Let cycles pass."""

    def load(self, address: int, words: list[int]) -> None:
        """Write words through the host port from a word address on, one a cycle."""

    def read_back(self, address: int, count: int) -> list[int]:
        """Read words through the host port, one a cycle."""

    def wait(self, limit: int) -> tuple[int, list[tuple[int, int]]]:
        """Step until busy is low, at most `limit` cycles; returns the cycles, and (m, l) of rows that became final."""

    def close(self) -> None:
        """End the simulation; a trace is complete afterwards."""


class Bench:
    """Drives engine_system through its ports, by verbs that return when they are done.

    config: of the engine. rows: (m, l) of each row that became final since the last start. cycle: cycles so far.
    """

    def __init__(self, config: EngineConfig, device: Device, progress: Callable[[int], None] | None = None):
        self.config, self.device, self._progress = config, device, progress
        self.cycle = 0
        self.rows: list[tuple[int, int]] = []
        self._untouched = sum(UNTOUCHED << bit for bit in range(0, config.word_bits, 16))

    def _passed(self, cycles: int) -> None:
        self.cycle += cycles
        if self._progress is not None:
            self._progress(self.cycle)

    def set(self, **ports: int) -> None:
        """Drive ports by name."""
        self.device.set(**ports)

    def get(self, port: str) -> int:
        """The value of a port."""
        return self.device.get(port)

    def step(self, cycles: int = 1) -> None:
        """Let cycles pass."""
        self.device.step(cycles)
        self._passed(cycles)

    def restart(self, cycles: int = 2) -> None:
        """Hold reset for some cycles."""
        self.set(reset=1)
        self.step(cycles)
        self.set(reset=0)

    def load(self, address: int, words: list[int]) -> None:
        """Write words to memory from a word address on, one a cycle."""
        for first in range(0, len(words), CHUNK):
            chunk = words[first : first + CHUNK]
            self.device.load(address + first, chunk)
            self._passed(len(chunk))

    def read_back(self, address: int, count: int) -> list[int]:
        """`count` memory words from an address on."""
        words = []
        for first in range(0, count, CHUNK):
            chunk = min(CHUNK, count - first)
            words += self.device.read_back(address + first, chunk)
            self._passed(chunk)
        return words

    def start(self, job: Job, place: Layout) -> None:
        """Set the descriptor and pulse start."""
        values = {
            "n_q": job.n_q, "n_kv": job.n_kv, "dim": job.dim, "value_dim": job.value_dim, "q_rows": job.q_rows,
            "q_position": job.q_position, "scale_mantissa": job.scale_mantissa, "scale_shift": job.scale_shift,
            "causal": int(job.causal), "overlap": int(job.overlap),
        }  # fmt: skip
        values |= {field.name: getattr(place, field.name) for field in fields(place) if field.name != "words"}
        self.rows.clear()
        self.set(start=1, latency=job.latency, **{f"descriptor_{name}": value for name, value in values.items()})
        self.step()
        self.set(start=0)

    def wait(self, limit: int) -> None:
        """Wait until the engine is idle, at most `limit` cycles."""
        while limit > 0 and self.get("busy"):
            cycles, rows = self.device.wait(min(limit, CHUNK))
            self.rows += rows
            self._passed(cycles)
            limit -= cycles
        if self.get("busy"):
            raise BenchError(f"the engine was still busy after {self.cycle} cycles")

    def counters(self) -> dict[str, int]:
        """The engine's counters and the memory's own byte counts."""
        values = {name: self.get(f"counters_{name}") for name in Counters().names()}
        return values | {f"memory_{name}": self.get(name) for name in ("read_bytes", "write_bytes")}

    def run(self, run: Run, limit: int) -> EngineResult:
        """Load a head, run it, and read it back.

        Raises:
            BenchError: the engine needs more than `limit` cycles, or wrote where it must not.
        """
        place = layout(self.config, run.job)
        self.load(0, memory_image(self.config, place, run.q, run.k, run.v))
        output_words = run.job.n_q * place.o_stride
        self.load(place.o_address, [self._untouched] * output_words)
        self.start(run.job, place)
        self.wait(limit)
        counters = self.counters()
        output, padding = unpack_output(self.read_back(place.o_address, output_words), self.config, run.job, place)
        if (padding != UNTOUCHED).any():
            raise BenchError("the engine wrote beyond the value dimension of an output row")
        if len(self.rows) != run.job.n_q:
            raise BenchError(f"{len(self.rows)} rows became final, not {run.job.n_q}")
        state = np.zeros((2, run.job.n_q), dtype=np.int64)
        state[:, final_order(self.config, run.job)] = np.array(self.rows, dtype=np.int64).T
        return EngineResult(output, *state, counters)
