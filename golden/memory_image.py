"""Memory images: arrays of elements to the bytes of a layout, and back."""

from __future__ import annotations

import numpy as np

from golden.config import EngineConfig
from golden.flash import Attention
from golden.job import Job
from golden.layout import STATE_BYTES, Layout, extents

UNTOUCHED = 0x5A  # every byte that holds no operand, before a run


def _places(job: Job, place: Layout, name: str, row_bytes: int) -> np.ndarray:
    """Byte addresses of an operand, int64 [heads, rows, row_bytes]."""
    heads, rows = (job.kv_heads, job.n_kv) if name in "kv" else (job.heads, job.n_q)
    address, stride, head_stride = (getattr(place, f"{name}_{kind}") for kind in ("address", "stride", "head_stride"))
    head, row, byte = np.arange(heads), np.arange(rows), np.arange(row_bytes)
    return address + head[:, None, None] * head_stride + row[:, None] * stride + byte


def memory_image(config: EngineConfig, job: Job, place: Layout, q, k, v) -> np.ndarray:
    """Memory before a run, uint8, from byte 0 to where the last operand ends.

    Args:
        q, k, v: raw elements, [heads, rows, elements], or [rows, elements] for one head; element 0 lies lowest.
    """
    size = config.word_bytes * max(end for _, end in extents(config, job, place).values())
    image = np.full(size, UNTOUCHED, dtype=np.uint8)
    for name, array in (("q", q), ("k", k), ("v", v)):
        elements = np.ascontiguousarray(np.asarray(array).astype(f"<i{config.element_bytes}"))
        raw = elements.view(np.uint8)
        image[_places(job, place, name, raw.shape[-1])] = raw
    return image


def unpack_operands(image: np.ndarray, config: EngineConfig, job: Job, place: Layout) -> list[np.ndarray]:
    """Q, K and V in memory: int64 [heads, n_q, dim], [kv_heads, n_kv, dim], [kv_heads, n_kv, value_dim]."""
    operands = []
    for name, elements in (("q", job.dim), ("k", job.dim), ("v", job.value_dim)):
        raw = np.ascontiguousarray(image[_places(job, place, name, elements * config.element_bytes)])
        operands.append(raw.view(f"<i{config.element_bytes}").astype(np.int64))
    return operands


def unpack_output(image: np.ndarray, job: Job, place: Layout) -> np.ndarray:
    """O in memory after a run: int64 [heads, n_q, value_dim]."""
    raw = np.ascontiguousarray(image[_places(job, place, "o", 2 * job.value_dim)])
    return raw.view("<i2").astype(np.int64)


def unpack_state(image: np.ndarray, job: Job, place: Layout) -> np.ndarray:
    """(m, l) in memory after a run that writes them: int64 [2, heads, n_q]."""
    raw = np.ascontiguousarray(image[_places(job, place, "state", STATE_BYTES)])
    total, maximum = raw[..., :4].copy().view("<u4"), raw[..., 4:].copy().view("<i4")
    return np.stack([maximum[..., 0], total[..., 0]]).astype(np.int64)


def written_bytes(job: Job, place: Layout) -> np.ndarray:
    """Byte addresses of O and of (m, l), where the run writes it."""
    places = [_places(job, place, "o", 2 * job.value_dim)]
    if job.state:
        places.append(_places(job, place, "state", STATE_BYTES))
    return np.concatenate([array.ravel() for array in places])


def memory_after(config: EngineConfig, job: Job, place: Layout, before: np.ndarray, attention: Attention) -> np.ndarray:
    """Memory after a run; what NAIVE leaves in its scratch area is not predicted, and shown as it was before."""
    image = before.copy()
    output = attention.output.reshape(job.heads, job.n_q, job.value_dim).astype("<i2")
    image[_places(job, place, "o", 2 * job.value_dim)] = np.ascontiguousarray(output).view(np.uint8)
    if job.state:
        state = np.stack([attention.total, attention.maximum], axis=-1).reshape(job.heads, job.n_q, 2)
        raw = np.ascontiguousarray(state.astype("<i8").astype("<u4")).view(np.uint8)
        image[_places(job, place, "state", STATE_BYTES)] = raw
    return image


def to_words(image: np.ndarray, config: EngineConfig) -> list[int]:
    """Bytes as memory words, lowest byte first."""
    raw = image.tobytes()
    return [int.from_bytes(raw[at : at + config.word_bytes], "little") for at in range(0, len(raw), config.word_bytes)]


def to_bytes(words, config: EngineConfig) -> np.ndarray:
    """Memory words as bytes; the inverse of :func:`to_words`."""
    return np.frombuffer(b"".join(int(word).to_bytes(config.word_bytes, "little") for word in words), dtype=np.uint8)
