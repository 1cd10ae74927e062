"""Operands in a device's memory: where they lie, and as bytes."""

from __future__ import annotations

import numpy as np

from golden.config import EngineConfig
from golden.job import Job
from golden.layout import STATE_BYTES, Layout, row_bytes


def run_bytes(config: EngineConfig, job: Job) -> tuple[int, int, int]:
    """Bytes of a key of a KV head (K and V), of a query of a head (Q, O and (m, l)), and of NAIVE's scratch."""
    rows = row_bytes(config, job)
    query = rows["q"] + rows["o"] + (rows["state"] if job.state else 0)
    scratch = -(-job.n_kv // config.array_keys) * job.q_rows * config.scratch_row_words * config.word_bytes
    return rows["k"] + rows["v"], query, scratch if job.naive else 0


def place_operands(config: EngineConfig, job: Job) -> Layout:
    """K and V first, so that they stay where they are when other queries follow; then Q, O, (m, l) and scratch."""
    fields, address = {}, 0
    strides = row_bytes(config, job)
    for name in ("k", "v", "q", "o", "state"):
        rows, heads = (job.n_kv, job.kv_heads) if name in "kv" else (job.n_q, job.heads)
        stride = strides[name]
        fields |= {f"{name}_address": address, f"{name}_stride": stride, f"{name}_head_stride": rows * stride}
        if name != "state" or job.state:
            address += heads * rows * stride
    return Layout(**fields, scratch_address=address)


def operand_bytes(config: EngineConfig, array: np.ndarray, stride: int) -> bytes:
    """Raw elements [heads, rows, elements] with each row padded to `stride` bytes."""
    raw = np.ascontiguousarray(array.astype(f"<i{config.element_bytes}")).view(np.uint8)
    padded = np.zeros((*raw.shape[:2], stride), dtype=np.uint8)
    padded[..., : raw.shape[2]] = raw
    return padded.tobytes()


def output_size(job: Job, place: Layout) -> int:
    """Bytes from the first of O to the last that the run writes, (m, l) included, which lies behind O."""
    rows = job.heads * job.n_q
    return rows * (place.o_stride + (place.state_stride if job.state else 0))


def split_output(data: bytes, job: Job, place: Layout) -> tuple[np.ndarray, np.ndarray | None]:
    """O and (m, l) from what a run left in memory from O on.

    Returns:
        (int64 [heads, n_q, value_dim]; int64 [2, heads, n_q], m before l, or None if the run does not write it).
    """
    rows = job.heads * job.n_q
    raw = np.frombuffer(data, dtype=np.uint8)
    output = _rows(raw[: rows * place.o_stride], job, 2 * job.value_dim).view("<i2")
    if not job.state:
        return output.astype(np.int64), None
    pairs = _rows(raw[rows * place.o_stride :], job, STATE_BYTES)
    total, maximum = pairs[..., :4].copy().view("<u4"), pairs[..., 4:].copy().view("<i4")
    return output.astype(np.int64), np.stack([maximum[..., 0], total[..., 0]]).astype(np.int64)


def _rows(raw: np.ndarray, job: Job, size: int) -> np.ndarray:
    """The first `size` bytes of each row, [heads, n_q, size]."""
    return np.ascontiguousarray(raw.reshape(job.heads, job.n_q, -1)[..., :size])
