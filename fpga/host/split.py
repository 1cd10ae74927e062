"""What does not fit into one run, cut into several: over heads, over queries, and over keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fpga.host.operands import run_bytes
from golden.config import EngineConfig
from golden.job import MAX_GROUP, MAX_HEADS, Job, JobError


@dataclass(frozen=True)
class Piece:
    """One run of several: its job, and which heads, KV heads, queries and keys of the whole it covers."""

    job: Job
    heads: slice
    kv_heads: slice
    queries: slice
    keys: slice


@dataclass(frozen=True)
class _Sizes:
    """Of a run: KV heads, heads for each of them, queries, keys."""

    kv_heads: int
    group: int
    queries: int
    keys: int


def pieces(config: EngineConfig, memory: int, job: Job, whole_keys: bool = False) -> list[Piece]:
    """Runs that do a job together; their jobs are checked. Runs of which no query sees a key are left out.

    With more than one range of keys, the jobs write (m, l) (Job.state), by which golden.merge puts the parts together.
    Pieces with the same KV heads and keys follow each other.

    Args:
        memory: bytes that the operands of a run may take. job: of any size, its `state` as wanted for the result.
        whole_keys: refuse to split keys.

    Raises:
        JobError: a run does not fit, however small.
    """
    sizes = _sizes(config, memory, job, job.n_kv if whole_keys else config.array_keys)
    if sizes.keys < job.n_kv and not job.state:
        job = replace(job, state=True)
        sizes = _sizes(config, memory, job, config.array_keys)
    found = list(_cut(config, job, sizes))
    for piece in found:
        piece.job.check(config)
    return found


def _sizes(config: EngineConfig, memory: int, job: Job, least: int) -> _Sizes:
    """The largest runs that fit, of at least `least` keys: all keys and a full block of queries go before more of the
    others."""
    key, query, scratch = run_bytes(config, job)
    everything = job.kv_heads * (job.n_kv * key + job.group * job.n_q * query) + scratch
    fits = everything <= memory and max(job.n_q, job.n_kv) <= config.max_keys
    if fits and job.heads <= MAX_HEADS and job.group <= MAX_GROUP:
        return _Sizes(job.kv_heads, job.group, job.n_q, job.n_kv)
    if scratch:
        raise JobError(
            f"the NAIVE run needs {everything} bytes and there are {memory}, and such runs are not split; give fewer "
            "queries, keys or heads"
        )
    group = min(job.group, MAX_GROUP)
    queries = min(job.n_q, config.max_keys, -(-config.max_rows // group))
    least = min(job.n_kv, least)
    if least > config.max_keys:
        raise JobError(
            f"{least} keys do not fit into one run (max_keys {config.max_keys}); give fewer, or let attention() merge "
            "several runs"
        )
    while least * key + group * queries * query > memory:
        if queries > 1:
            queries = -(-queries // 2)
        elif group > 1:
            group = -(-group // 2)
        else:
            raise JobError(
                f"one query and {least} keys need {least * key + query} bytes, and there are {memory} for a run; use a "
                "configuration with more memory, or let attention() merge several runs"
            )
    keys = _even(job.n_kv, min(config.max_keys, (memory - group * queries * query) // key), config.array_keys)
    block = queries
    queries = _even(job.n_q, min(config.max_keys, (memory - keys * key) // (group * query)), block)
    kv_heads = 1
    if (group, queries, keys) == (job.group, job.n_q, job.n_kv):
        kv_heads = min(memory // (keys * key + group * queries * query), MAX_HEADS // group, job.kv_heads)
    return _Sizes(kv_heads, group, queries, keys)


def _even(count: int, most: int, unit: int) -> int:
    """How many at once, at most `most`: multiples of `unit`, in as few and as equal parts as possible."""
    if count <= most:
        return count
    parts = -(-count // (most // unit * unit))
    return -(-count // (parts * unit)) * unit


def _cut(config: EngineConfig, job: Job, sizes: _Sizes) -> Iterator[Piece]:
    for kv_heads in _ranges(0, job.kv_heads, sizes.kv_heads):
        for keys in _ranges(0, job.n_kv, sizes.keys):
            for heads in _heads(job, kv_heads, sizes):
                for queries in _ranges(0, job.n_q, sizes.queries):
                    part = _part(config, job, heads, kv_heads, queries, keys)
                    if part is not None:
                        yield Piece(part, heads, kv_heads, queries, keys)


def _heads(job: Job, kv_heads: slice, sizes: _Sizes) -> Iterator[slice]:
    """Query heads of a run: those of all its KV heads, or a part of those of its only one."""
    first, end = kv_heads.start * job.group, kv_heads.stop * job.group
    return _ranges(first, end, end - first if sizes.group == job.group else sizes.group)


def _ranges(first: int, end: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, end)) for start in range(first, end, step))


def _part(config: EngineConfig, job: Job, heads: slice, kv_heads: slice, queries: slice, keys: slice) -> Job | None:
    """The job of a piece, or None if it has not all keys and no query sees any of those it has."""
    n_q, n_kv = queries.stop - queries.start, keys.stop - keys.start
    position = job.q_position + queries.start - keys.start  # counted from the piece's first key
    before = job.causal and position + n_q <= 0
    behind = job.window is not None and position - job.window + 1 >= n_kv
    if (before or behind) and n_kv < job.n_kv:
        return None
    position, window = _masks(config, job, position)
    return replace(
        job,
        n_q=n_q,
        n_kv=n_kv,
        heads=heads.stop - heads.start,
        group=(heads.stop - heads.start) // (kv_heads.stop - kv_heads.start),
        q_position=position,
        window=window,
    )


def _masks(config: EngineConfig, job: Job, position: int) -> tuple[int, int | None]:
    """Position and window that mean the same and that a descriptor can say."""
    if not job.causal and job.window is None:
        return 0, None
    if position > config.max_keys:  # behind all keys: only the window's end matters
        window = None if job.window is None else max(1, job.window - (position - config.max_keys))
        return config.max_keys, window
    if position < -config.max_keys:  # before all keys, and all queries before the first: causal ones see none
        return -config.max_keys, job.window if job.causal else None
    return position, job.window
