"""Testbench of the engine: the same verbs whether MyHDL simulates the blocks or a simulator runs the Verilog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from myhdl import Signal, StopSimulation, always, delay, instance

from golden.config import EngineConfig
from golden.job import Job, Layout, layout
from golden.memory_image import memory_image, unpack_output
from golden.schedule import final_order
from hw.engine_system import SystemPorts
from hw.signals import bit

UNTOUCHED = 0x5A5A  # every 16-bit lane of the output area before a run


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


class Bench:
    """Drives engine_system through its ports.

    The verbs are generators for use inside a MyHDL instance: ``yield bench.load(...)``. Ports are driven and sampled at
    the falling clock edge.
    """

    def __init__(self, config: EngineConfig, progress: Callable[[int], None] | None = None):
        self.config, self._progress = config, progress
        self.clk, self.reset = bit(), Signal(bool(1))
        self.ports = SystemPorts(config)
        self.cycle = 0
        self._untouched = sum(UNTOUCHED << bit for bit in range(0, config.word_bits, 16))
        self.rows = []  # (m, l) of each row that became final

    def clock(self):
        """The clock, and the watch over the debug port; instances to simulate with the design."""
        clk, debug = self.clk, self.ports.debug

        @always(delay(5))
        def toggle():
            clk.next = not clk

        @always(clk.negedge)
        def watch():
            self.cycle += 1
            if self._progress is not None and self.cycle % 64 == 0:
                self._progress(self.cycle)
            if debug.valid:
                self.rows.append((int(debug.maximum), int(debug.total)))

        return toggle, watch

    def restart(self, cycles: int = 2):
        """Hold reset for some cycles."""
        self.reset.next = True
        for _ in range(cycles):
            yield self.clk.negedge
        self.reset.next = False

    def load(self, address: int, words):
        """Write words to memory from a word address on, one a cycle."""
        self.ports.host_write.next = True
        for offset, word in enumerate(words):
            self.ports.host_address.next = address + offset
            self.ports.host_data.next = word
            yield self.clk.negedge
        self.ports.host_write.next = False

    def read_back(self, address: int, count: int, words: list):
        """Append `count` memory words from an address on to `words`."""
        self.ports.host_address.next = address
        for offset in range(count):
            yield self.clk.negedge
            words.append(int(self.ports.host_q))
            if offset + 1 < count:
                self.ports.host_address.next = address + offset + 1

    def start(self, job: Job, place: Layout):
        """Set the descriptor and pulse start."""
        descriptor = self.ports.descriptor
        values = {
            "n_q": job.n_q, "n_kv": job.n_kv, "dim": job.dim, "value_dim": job.value_dim, "q_rows": job.q_rows,
            "q_position": job.q_position, "scale_mantissa": job.scale_mantissa, "scale_shift": job.scale_shift,
            "causal": job.causal, "overlap": job.overlap,
        }  # fmt: skip
        values |= {field.name: getattr(place, field.name) for field in fields(place) if field.name != "words"}
        for name in descriptor.names():
            getattr(descriptor, name).next = values[name]
        self.ports.latency.next = job.latency
        self.ports.start.next = True
        yield self.clk.negedge
        self.ports.start.next = False

    def wait(self, limit: int):
        """Wait until the engine is idle, at most `limit` cycles."""
        for _ in range(limit):
            if not self.ports.busy:
                return
            yield self.clk.negedge
        raise BenchError(f"the engine was still busy after {limit} cycles")

    def counters(self) -> dict[str, int]:
        """The engine's counters and the memory's own byte counts."""
        counters = self.ports.counters
        values = {name: int(getattr(counters, name)) for name in counters.names()}
        memory = {"read_bytes": self.ports.read_bytes, "write_bytes": self.ports.write_bytes}
        return values | {f"memory_{name}": int(count) for name, count in memory.items()}

    def run(self, run: Run, limit: int, results: list):
        """Load a head, run it, read it back, and append its EngineResult to `results`."""
        place = layout(self.config, run.job)
        self.rows.clear()
        yield self.load(0, memory_image(self.config, place, run.q, run.k, run.v))
        output_words = run.job.n_q * place.o_stride
        yield self.load(place.o_address, [self._untouched] * output_words)
        yield self.start(run.job, place)
        yield self.wait(limit)
        counters = self.counters()
        words = []
        yield self.read_back(place.o_address, output_words, words)
        output, padding = unpack_output(words, self.config, run.job, place)
        if (padding != UNTOUCHED).any():
            raise BenchError("the engine wrote beyond the value dimension of an output row")
        if len(self.rows) != run.job.n_q:
            raise BenchError(f"{len(self.rows)} rows became final, not {run.job.n_q}")
        state = np.zeros((2, run.job.n_q), dtype=np.int64)
        state[:, final_order(self.config, run.job)] = np.array(self.rows, dtype=np.int64).T
        results.append(EngineResult(output, *state, counters))


def stimulus(bench: Bench, script):
    """MyHDL instance that performs script(bench), a generator of the bench's verbs, and ends the simulation."""

    @instance
    def drive():
        yield script(bench)
        raise StopSimulation

    return drive
