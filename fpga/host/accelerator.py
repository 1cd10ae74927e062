"""Attention on a device: what the user of a board calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fpga.host.errors import DeviceBusy, DeviceError
from fpga.host.floats import as_heads, quantise_groups
from fpga.host.identity import check_expected, identify
from fpga.host.link import Link
from fpga.host.operands import operand_bytes, output_size, place_operands, split_output
from fpga.host.registers import address, bundle, field, pack, unpack
from fpga.host.split import Piece, pieces
from gen.bench import described
from golden.config import EngineConfig
from golden.job import Job, JobError
from golden.layout import Layout
from golden.merge import merge
from golden.quantise import dequantise_output

PATIENCE = 2.0  # seconds that a run which somebody else started may take
SLACK = 8  # times the cycles that a run is reckoned to take, before it is said to hang

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class RawResult:
    """Raw integers of one job, which may have taken several runs.

    output: int64 [heads, n_q, value_dim] with 8 fraction bits, or float64, in the same unit, where runs over parts of
    the keys were merged. state: m and l, int64 (merged: l float64) [2, heads, n_q], if the job asks for it, else None.
    counters: by the names of hw.ports.Counters, summed over `runs` runs.
    """

    output: np.ndarray
    state: np.ndarray | None
    counters: dict[str, int]
    runs: int


@dataclass(frozen=True)
class AttentionResult:
    """Attention of floats.

    o: float64 [n, d_v] or [heads, n, d_v], as the queries were given. raw: of each KV head, or one of all where they
    have the same steps. counters: see RawResult, summed over `runs` runs. clipped: elements that were out of range.
    saturated: whether scores left the range of the datapath.
    """

    o: np.ndarray
    raw: tuple[RawResult, ...]
    counters: dict[str, int]
    runs: int
    clipped: int

    @property
    def saturated(self) -> bool:
        return bool(self.counters["saturations"])


class Accelerator:
    """An engine behind a link. Use it in a `with`, or call :meth:`close`.

    config: the engine's, with the memory of the board. memory_bytes: what runs may use of it. identity: see
    fpga.host.identity. name: of the port or the board.

    Args:
        link: a way to it, which this object closes. expected: see fpga.host.identity.check_expected.

    Raises:
        DeviceError: it is not what is expected.
    """

    def __init__(self, link: Link, expected: EngineConfig | str | None = None):
        self._link, self.name = link, link.name
        self.identity = identify(link)
        self.config = self.identity.config
        check_expected(link.name, self.config, expected)
        self.memory_bytes = link.reserve(self.config)

    def close(self) -> None:
        """Give the device back."""
        self._link.close()

    def reset(self) -> None:
        """Break off a run, whoever started it.

        Raises:
            DeviceError: the device does not answer, or its bus never comes to an end.
        """
        self._link.write_registers(address("control.soft_reset"), [1 << field("control.soft_reset")[1]])
        self._link.wait(PATIENCE)

    def __enter__(self) -> Accelerator:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def attention(
        self, q, k, v, causal: bool = False, window: int | None = None, scale: float | None = None,
        q_position: int | None = None, q_rows: int | None = None, shared_steps: bool = False,
        advance: Advance | None = None,
    ) -> AttentionResult:  # fmt: skip
        """softmax(scale * Q.K^T) . V with the masks asked for.

        The query heads that share a KV head are quantised together, K and V head by head, as gen.inputs.quantise_head
        does it. What does not fit into one run is split; parts of the keys are merged in float64.

        Args:
            q, k, v: finite floats [n_q, d], [n_kv, d], [n_kv, d_v], or [heads, n_q, d] and [kv_heads, n_kv, ...] with
                kv_heads a divisor of heads.
            causal: query i sees keys up to i + q_position; window: it sees the last so many of those, or without causal
                keys from i + q_position - window + 1 on. q_position: None for n_kv - n_q.
            scale: None for 1/sqrt(d). q_rows: query rows of a block, None for as many as there can be.
            shared_steps: one quantisation step for all heads of an operand, so that they share runs; Q8.8 does anyway.
            advance: called now and then with the runs done and the runs in all.

        Raises:
            InputError: arrays that do not fit together. JobError: the engine cannot do it. DeviceError: the device.
        """
        q, k, v, batched = as_heads(q, k, v)
        groups = quantise_groups(self.config, q, k, v, causal, window, scale, q_position, q_rows, shared_steps)
        plans = [pieces(self.config, self.memory_bytes, group.job) for group in groups]
        total, done = sum(map(len, plans)), 0
        self._await_idle()
        outputs, results = [], []
        for group, plan in zip(groups, plans, strict=True):
            tell = advance and (lambda count, done=done: advance(done + count, total))
            result = self._play(group.job, plan, group.raw, tell)
            outputs.append(dequantise_output(result.output, group.v_step, self.config))
            results.append(result)
            done += len(plan)
        o = np.concatenate(outputs)
        counters = _sum(result.counters for result in results)
        clipped = sum(group.clipped for group in groups)
        return AttentionResult(o if batched else o[0], tuple(results), counters, done, clipped)

    def attention_raw(self, job: Job, q, k, v, advance: Advance | None = None) -> RawResult:
        """Run a job of raw elements, bit for bit as golden.predict does; it may be split over heads and queries.

        Args:
            q, k, v: integers [heads, n_q, dim], [kv_heads, n_kv, dim], [kv_heads, n_kv, value_dim], or of one head
                without the first axis.

        Raises:
            JobError: arrays of other shapes, or keys that do not fit into a run. DeviceError: the device.
        """
        raw = tuple(np.atleast_3d(np.asarray(array).T).T for array in (q, k, v))
        shapes = (
            (job.heads, job.n_q, job.dim),
            (job.kv_heads, job.n_kv, job.dim),
            (job.kv_heads, job.n_kv, job.value_dim),
        )
        for name, array, shape in zip("qkv", raw, shapes, strict=True):
            if array.shape != shape:
                raise JobError(f"{name} has shape {array.shape}, but the job says {shape}")
        plan = pieces(self.config, self.memory_bytes, job, whole_keys=True)
        self._await_idle()
        return self._play(job, plan, raw, advance and (lambda count: advance(count, len(plan))))

    def _await_idle(self) -> None:
        try:
            self._link.wait(PATIENCE)
        except DeviceBusy as error:
            raise DeviceBusy(f"{error}; this program did not start that run") from None

    def _play(self, job: Job, plan: list[Piece], raw, tell: Callable[[int], None] | None) -> RawResult:
        """Run the pieces of a job and put their results together."""
        merged = any(piece.job.n_kv < job.n_kv for piece in plan) or not plan
        parts: dict[tuple, list] = {}
        counters, loaded = [], None
        for count, piece in enumerate(plan, 1):
            here = (piece.kv_heads.start, piece.keys.start, piece.keys.stop, piece.kv_heads.stop)
            output, state, counted = self._run(piece, raw, load=here != loaded)
            loaded = here
            covered = (piece.heads.start, piece.heads.stop, piece.queries.start, piece.queries.stop)
            parts.setdefault(covered, []).append((output, *(state if state is not None else (None, None))))
            counters.append(counted)
            if tell:
                tell(count)
        kind = np.float64 if merged else np.int64
        whole = np.zeros((job.heads, job.n_q, job.value_dim), dtype=kind)
        whole_state = np.zeros((2, job.heads, job.n_q), dtype=kind) if job.state else None
        for (first, end, start, stop), found in parts.items():
            output, *state = merge(found) if merged else found[0]
            whole[first:end, start:stop] = output
            if job.state:
                whole_state[:, first:end, start:stop] = state
        return RawResult(whole, whole_state, _sum(counters), len(plan))

    def _run(self, piece: Piece, raw, load: bool):
        """One run; load: K and V are not in memory yet. Returns output, (m, l) or None, counters."""
        config, job, link = self.config, piece.job, self._link
        place = place_operands(config, job)
        q, k, v = raw
        if load:
            keys = k[piece.kv_heads, piece.keys], v[piece.kv_heads, piece.keys]
            strides = place.k_stride, place.v_stride
            data = [operand_bytes(config, *operand) for operand in zip(keys, strides, strict=True)]
            link.write_memory(place.k_address, b"".join(data))
        link.write_memory(place.q_address, operand_bytes(config, q[piece.heads, piece.queries], place.q_stride))
        link.write_registers(*pack("descriptor", described(job, place)))
        link.start()
        state = link.wait(self._seconds(job, place))
        if state.trouble:
            raise DeviceError(f"{self.name}: {state.trouble}; reset() the device if it happens again")
        first, count = bundle("counters")
        counters = unpack("counters", link.read_registers(first, count))
        return *split_output(link.read_memory(place.o_address, output_size(job, place)), job, place), counters

    def _seconds(self, job: Job, place: Layout) -> float:
        """After which a run is said to hang."""
        config = self.config
        tiles = job.kv_heads * -(-job.rows // job.q_rows) * -(-job.n_kv // config.array_keys)
        passes = max(job.q_rows, config.array_keys) * max(config.chunks(job.dim), config.chunks(job.value_dim)) + 100
        moved = (place.k_stride + place.v_stride) // config.word_bytes * config.array_keys
        cycles = tiles * (passes * config.row_cycles + moved) + job.heads * job.n_q * 100 + 10_000
        return 1 + SLACK * cycles * (10 if job.naive else 1) / (self.identity.clock_hz or self._link.clock)


def _sum(counters) -> dict[str, int]:
    """Counters by name, summed over runs; all names are there even if there was no run."""
    total = Counter(dict.fromkeys(unpack("counters", [0] * bundle("counters")[1]), 0))
    for counted in counters:
        total.update(counted)
    return dict(total)
