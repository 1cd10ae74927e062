"""The benchmark: cases with their limits and the figures of other systems, run on the simulator and compared.

Published figures are those of their authors. System A: a Q8.8 attention accelerator with dot-product lanes for a ZU1CG.
System B: a tiled INT8 engine with two 4x4 systolic arrays for an ECP5. Limits are the project's own, in busy cycles.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gen.report import first_difference, moved, roofline, useful_macs, utilisation
from gen.simulate import Run, simulate
from golden.config import NAMED, EngineConfig
from golden.cycles import cycles
from golden.job import Job, JobError, encode_scale
from golden.layout import layout
from golden.predict import predict
from golden.quantise import quantise
from golden.traffic import naive_bytes, traffic

LONG = 100_000  # busy cycles, above which a case is left out of a quick benchmark
SWEEP_KEYS = (8, 16, 32, 64, 128, 256)
SWEEP_LANES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Published:
    """What another system needs for the same attention: cycles with loading (busy), without (compute), and bytes."""

    system: str
    busy: int | None = None
    compute: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Case:
    """One run of normal data, memory latency 10 cycles.

    Args:
        n_q, n_kv, dim: queries, keys, elements of a row of Q, K, V and O. q_rows: query rows a block; None for the
            fastest. causal, overlap, heads, group, naive: see golden.job.Job.
        limit, limit_bytes: what it may take at most, in busy cycles and bytes; None for no limit.
    """

    name: str
    config: EngineConfig
    n_q: int
    n_kv: int
    dim: int
    q_rows: int | None = None
    causal: bool = False
    overlap: bool = True
    heads: int = 1
    group: int = 1
    naive: bool = False
    limit: int | None = None
    limit_bytes: int | None = None
    published: Published | None = None

    def job(self, scale: tuple[int, int] = (0, 0), q_rows: int | None = None) -> Job:
        """The run; scale: mantissa and shift, which change neither cycles nor bytes."""
        return Job(
            self.n_q, self.n_kv, self.dim, self.dim, *scale, q_rows or self.q_rows or fastest_block(self),
            causal=self.causal, q_position=self.n_kv - self.n_q if self.causal else 0, overlap=self.overlap,
            heads=self.heads, group=self.group, naive=self.naive,
        )  # fmt: skip


def _system_b(busy: int, moved_bytes: int) -> Published:
    return Published("B", busy=busy, bytes=moved_bytes)


_TINY = {"config": NAMED["tiny"], "n_q": 32, "n_kv": 32, "dim": 4}
_LONG = {"n_q": 512, "n_kv": 512, "dim": 64}
_DECODE = {"config": NAMED["base"], "n_q": 1, "n_kv": 512, "dim": 64}
_A = {"n_q": 16, "n_kv": 16, "dim": 16, "published": Published("A", busy=2667, compute=1520)}
CASES = (
    Case("n512_d64", NAMED["base"], **_LONG, limit=265_000),
    Case("n512_d64_causal", NAMED["base"], **_LONG, causal=True, limit=138_500),
    Case("n128_d64", NAMED["base"], 128, 128, 64, limit=17_700),
    Case("n512_d64_wide", NAMED["wide"], **_LONG, limit=67_000),
    Case("decode_512", **_DECODE, limit=8_450),
    Case("decode_512_group4", **_DECODE, heads=4, group=4, limit=8_500),
    Case("tiny_16row", **_TINY, q_rows=16, published=_system_b(1657, 896)),
    Case("tiny_16row_no_overlap", **_TINY, q_rows=16, overlap=False, published=_system_b(2133, 896)),
    Case("tiny_4row", **_TINY, q_rows=4, published=_system_b(2937, 2432)),
    Case("tiny_4row_no_overlap", **_TINY, q_rows=4, overlap=False, published=_system_b(4113, 2432)),
    Case("tiny_naive", **_TINY, naive=True, limit=4_500, limit_bytes=12_672, published=_system_b(10_961, 12_672)),
    Case("n16_d16_q88", NAMED["q88"], **_A),
    Case("n16_d16_lanes16", NAMED["lanes16"], **_A),
)


def naive_sweep() -> list[Case]:
    """NAIVE and FLASH on `tiny` with d=4, N from 8 to 256."""
    return [
        Case(f"{'naive' if naive else 'flash'}_n{n}", NAMED["tiny"], n, n, 4, naive=naive)
        for n in SWEEP_KEYS
        for naive in (True, False)
    ]


def lanes_sweep() -> list[Case]:
    """Q8.8 with 1xC arrays, N=16, d=16, beside system A's cycle model for as many lanes."""
    return [
        Case(f"lanes_1x{lanes}", _lanes(lanes), 16, 16, 16, published=Published("A", compute=system_a_cycles(lanes)))
        for lanes in SWEEP_LANES
    ]


def _lanes(lanes: int) -> EngineConfig:
    return replace(NAMED["lanes16"], name=f"lanes{lanes}", array_keys=lanes)


def system_a_cycles(lanes: int, n: int = 16, dim: int = 16) -> int:
    """Compute cycles of a head in system A, by its authors' model with blocks of `lanes` keys and a parallel fold:
    each row takes, for each block, d + 5 cycles, 1 to rebase, and the block twice, then 25 + d_v."""
    return n * (n // lanes * (1 + dim + 2 + 2 + 1 + lanes + lanes) + 25 + dim)


@functools.cache
def fastest_block(case: Case) -> int:
    """The block of query rows with the fewest busy cycles in the cycle model, of those with the fewest bytes.

    Tried are multiples of 4 from the larger of 8 and C on, and the largest block; sizes whose roofline is above what
    another one takes are passed over.

    Raises:
        JobError: no block size can run.
    """
    config = case.config
    most = min(config.max_rows, case.n_q * case.group)
    jobs = [case.job(q_rows=rows) for rows in {*range(max(8, config.array_keys), most + 1, 4), most}]
    jobs = [job for job in jobs if _fits(config, job)]
    if not jobs:
        raise JobError(f"memory of {config.name} is too small for the case {case.name}")
    best = None
    for least, rows, job in sorted((roofline(config, job), -job.q_rows, job) for job in jobs):
        if best is None or least <= best[0]:
            figures = cycles(config, job).busy, traffic(config, job).total, -rows
            best = min(best or figures, figures)
    return best[2]


def _fits(config: EngineConfig, job: Job) -> bool:
    try:
        layout(config, job)
    except JobError:
        return False
    return True


def quick(cases: Sequence[Case]) -> list[Case]:
    """The cases that cannot take more than LONG busy cycles."""
    return [case for case in cases if roofline(case.config, case.job(q_rows=_most(case))) <= LONG]


def _most(case: Case) -> int:
    return case.q_rows or min(case.config.max_rows, case.n_q * case.group)


def make_run(case: Case, seed: int) -> Run:
    """Normal data drawn with `seed`, quantised for the case's configuration, and its job."""
    rng = np.random.default_rng(seed)
    heads, kv_heads = ((), ()) if case.heads == 1 else ((case.heads,), (case.heads // case.group,))
    shapes = ((*heads, case.n_q, case.dim), *[(*kv_heads, case.n_kv, case.dim)] * 2)
    (q, q_step, _), (k, k_step, _), (v, _, _) = (quantise(rng.normal(size=shape), case.config) for shape in shapes)
    scale = encode_scale(math.log2(math.e) / math.sqrt(case.dim) * q_step * k_step)
    return Run(case.job(scale), q, k, v)


def measure(
    cases: Sequence[Case],
    simulator: str,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
    notice: Callable[[str], None] = lambda sentence: None,
) -> list[dict]:
    """Run cases on the simulator, those of a configuration one after the other, and compare each with golden.

    Args:
        progress: called now and then with done and expected busy cycles.

    Returns:
        A report of each case, see :func:`report`.

    Raises:
        SimulatorError, EngineFault, JobError: see gen.simulate.simulate.
    """
    runs = [make_run(case, seed) for case in cases]
    predictions = [predict(case.config, run.job, run.q, run.k, run.v) for case, run in zip(cases, runs, strict=True)]
    expected = sum(prediction.time.busy for prediction in predictions)
    reports, before = {}, 0
    for config in dict.fromkeys(case.config for case in cases):
        chosen = [index for index, case in enumerate(cases) if case.config == config]
        busy = sum(predictions[index].time.busy for index in chosen)
        advance = progress and functools.partial(_advance, progress, before, busy, expected)
        results = simulate(config, [runs[index] for index in chosen], simulator, advance, notice)
        for index, result in zip(chosen, results, strict=True):
            reports[index] = report(cases[index], runs[index].job, predictions[index], result)
        before += busy
    return [reports[index] for index in range(len(cases))]


def _advance(progress, before, busy, expected, done, total) -> None:
    progress(before + busy * min(1, done / total), expected)


def report(case: Case, job: Job, prediction, result) -> dict:
    """What a case gave, as an object for JSON with the keys of `flashtile run --json` and:

    case: its name. macs: useful multiplications. cycles, bytes: limit and published figure, too, null where there is
    none; cycles.published counts loading, cycles.published_compute does not. published_by: null, or "system A" or
    "system B".
    """
    config, published = case.config, case.published or Published("")
    counters = result.counters
    mismatch = first_difference(prediction, result)
    read, written = moved(counters)
    busy = counters.get("busy", 0)
    return {
        "case": case.name,
        "config": config.name,
        "bit_exact": mismatch is None,
        "mismatch": mismatch,
        "queries": job.n_q,
        "keys": job.n_kv,
        "dim": job.dim,
        "heads": job.heads,
        "group": job.group,
        "causal": job.causal,
        "naive": job.naive,
        "q_rows": job.q_rows,
        "overlap": job.overlap,
        "latency": job.latency,
        "macs": useful_macs(job),
        "cycles": {
            "busy": busy,
            "compute": counters.get("compute", 0),
            "predicted": prediction.counters["busy"],
            "predicted_compute": prediction.counters["compute"],
            "roofline": roofline(config, job),
            "limit": case.limit,
            "published": published.busy,
            "published_compute": published.compute,
        },
        "utilization": utilisation(config, [job], busy),
        "bytes": {
            "read": read,
            "written": written,
            "predicted": sum(moved(prediction.counters)),
            "naive": naive_bytes(config, job),
            "limit": case.limit_bytes,
            "published": published.bytes,
        },
        "published_by": f"system {published.system}" if published.system else None,
    }
