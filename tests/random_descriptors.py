"""Runs whose descriptor fields are all drawn at once, operands strewn over memory; smaller runs that still fail."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gen.simulate import Run
from golden.config import EngineConfig
from golden.job import Job
from golden.layout import Layout, Refusal, refusal, row_bytes
from golden.memory_image import memory_image, unpack_operands

LATENCIES = (0, 1, 2, 3, 10, 63, 64)


def random_descriptor(config: EngineConfig, seed: int, longest: int = 40) -> Run:
    """A run of every field at random: sizes, heads, groups, masks, schedule, places, and data of all kinds."""
    rng = np.random.default_rng(seed)
    while True:
        job = _job(config, rng, longest)
        place = _strewn(config, job, rng)
        if place is not None and refusal(config, job, place) is Refusal.NONE:
            image = memory_image(config, job, place, *_operands(config, job, rng))
            # As they lie in memory: KV heads with a stride of 0 are all the last one.
            return Run(job, *unpack_operands(image, config, job, place), place)


def _job(config, rng, longest):
    longest = min(longest, config.max_keys)
    group = int(rng.choice([1, 1, 1, 2, 3, 4, 7]))
    n_q, n_kv = (1 if rng.random() < 0.2 else int(rng.integers(1, longest + 1)) for _ in range(2))
    dim, value_dim = (int(rng.integers(1, min(config.max_dim, 40) + 1)) for _ in range(2))
    return Job(
        n_q, n_kv, dim, value_dim,
        scale_mantissa=0 if rng.random() < 0.05 else int(rng.integers(1 << 15, 1 << 16)),
        scale_shift=int(rng.integers(0, 48)) if rng.random() < 0.1 else int(rng.integers(8, 24)),
        q_rows=int(rng.integers(1, config.max_rows + 1)),
        causal=bool(rng.integers(2)),
        q_position=int(rng.integers(-n_q - 3, n_kv + 4)),
        overlap=bool(rng.integers(2)),
        latency=int(rng.choice(LATENCIES)),
        heads=group * int(rng.choice([1, 1, 2, 3])),
        group=group,
        window=None if rng.random() < 0.5 else int(rng.choice([1, 2, 5, 17, int(rng.integers(1, n_kv + 3))])),
        naive=rng.random() < 0.35,
        state=bool(rng.integers(2)),
    )  # fmt: skip


def _strewn(config, job, rng) -> Layout | None:
    """The operands in any order, with gaps between them, between heads and between rows; heads within rows at times."""
    word, fields, address, bytes_of = config.word_bytes, {}, 0, row_bytes(config, job)
    for name in rng.permutation([*bytes_of, "scratch"]):
        address += word * int(rng.choice([0, 0, 1, 5]))
        fields[f"{name}_address"] = address
        if name == "scratch":
            if job.naive:
                tiles = -(-job.n_kv // config.array_keys)
                address += tiles * job.q_rows * config.scratch_row_words * word
            continue
        rows, heads = (job.n_kv, job.kv_heads) if name in "kv" else (job.n_q, job.heads)
        inner, gap = bytes_of[name], word * int(rng.choice([0, 0, 1, 3]))
        if rng.random() < 0.4:  # heads lie within a row of them all
            head_stride, stride = inner + gap, heads * (inner + gap)
        else:
            stride = inner + gap
            head_stride = rows * stride + gap
        if name in "qkv" and rng.random() < 0.1:
            head_stride = 0  # all heads are one
        if name in "qkv" and rows == 1 and rng.random() < 0.5:
            stride = config.memory_bytes * 3  # of no importance
        fields |= {f"{name}_stride": stride, f"{name}_head_stride": head_stride}
        if name != "state" or job.state:
            address += rows * stride + heads * head_stride if rows > 1 else inner + heads * head_stride
    return Layout(**{name: int(value) for name, value in fields.items()}) if address < 2**31 else None


def _operands(config, job, rng):
    low, high = -(1 << (config.element_bits - 1)), (1 << (config.element_bits - 1)) - 1
    heads = {"q": (job.heads, job.n_q, job.dim), "k": (job.kv_heads, job.n_kv, job.dim)}
    shapes = [heads["q"], heads["k"], (job.kv_heads, job.n_kv, job.value_dim)]
    kind = rng.choice(["normal", "uniform", "full", "equal", "outlier"], p=[0.4, 0.3, 0.1, 0.1, 0.1])
    if kind == "normal":
        return [np.clip(np.rint(rng.normal(0, high / 4, shape)), low, high).astype(np.int64) for shape in shapes]
    if kind == "uniform":
        return [rng.integers(low, high + 1, shape) for shape in shapes]
    if kind == "full":
        return [rng.choice([low, high], shape) for shape in shapes]
    if kind == "equal":
        return [np.broadcast_to(rng.integers(low, high + 1, shape[-1]), shape).copy() for shape in shapes]
    return [np.where(rng.random(shape) < 0.02, low, 0).astype(np.int64) for shape in shapes]


def smaller(run: Run) -> Iterator[Run]:
    """Simpler variants of a run, the boldest first; packed anew, cut from the same data."""
    job = run.job
    for fields in (
        {"naive": False}, {"state": False}, {"window": None}, {"causal": False}, {"overlap": True}, {"latency": 10},
        {"q_position": 0}, {"heads": job.group}, {"heads": job.heads // job.group, "group": 1},
        {"n_q": 1}, {"n_q": (job.n_q + 1) // 2}, {"n_q": job.n_q - 1},
        {"n_kv": 1}, {"n_kv": (job.n_kv + 1) // 2}, {"n_kv": job.n_kv - 1},
        {"dim": 1}, {"dim": job.dim - 1}, {"value_dim": 1}, {"value_dim": job.value_dim - 1},
        {"q_rows": min(job.q_rows, job.n_q)}, {"q_rows": job.q_rows - 1},
    ):  # fmt: skip
        new = replace(job, **fields)
        if new != job and min(new.n_q, new.n_kv, new.dim, new.value_dim, new.q_rows) > 0:
            yield Run(
                new,
                run.q[: new.heads, : new.n_q, : new.dim],
                run.k[: new.kv_heads, : new.n_kv, : new.dim],
                run.v[: new.kv_heads, : new.n_kv, : new.value_dim],
            )


def shrink(run: Run, fails: Callable[[Run], bool]) -> Run:
    """The simplest run that is found to fail still."""
    while True:
        for simpler in smaller(run):
            if fails(simpler):
                run = simpler
                break
        else:
            return run

