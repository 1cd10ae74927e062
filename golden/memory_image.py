"""Memory images: arrays of elements to words of the memory port, and back."""

from __future__ import annotations

import numpy as np

from golden.config import EngineConfig
from golden.job import Job, Layout


def pack_rows(array, stride_words: int, config: EngineConfig) -> np.ndarray:
    """Rows of raw elements as bytes, each row padded to its stride.

    Args:
        array: int64 [rows, dim] within the element format.

    Returns:
        uint8 [rows * stride_words, word_bytes], element 0 of a row in the lowest byte of its first word.
    """
    element = np.asarray(array).astype(f"<i{config.element_bytes}")
    raw = np.ascontiguousarray(element).view(np.uint8).reshape(element.shape[0], -1)
    image = np.zeros((element.shape[0], stride_words * config.word_bytes), dtype=np.uint8)
    image[:, : raw.shape[1]] = raw
    return image.reshape(-1, config.word_bytes)


def memory_image(config: EngineConfig, layout: Layout, q, k, v) -> list[int]:
    """Words from address 0 that hold Q, K and V as `layout` places them."""
    rows = np.concatenate(
        [
            pack_rows(q, layout.q_stride, config),
            pack_rows(k, layout.k_stride, config),
            pack_rows(v, layout.v_stride, config),
        ]
    )
    return [int.from_bytes(word.tobytes(), "little") for word in rows]


def unpack_output(words, config: EngineConfig, job: Job, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """16-bit outputs in the words from o_address on.

    Returns:
        (int64 [n_q, value_dim], int64 [n_q, rest]): the outputs, and the lanes that pad each row to its stride.
    """
    raw = b"".join(int(word).to_bytes(config.word_bytes, "little") for word in words)
    rows = np.frombuffer(raw, dtype="<i2").reshape(job.n_q, layout.o_stride * config.word_bytes // 2).astype(np.int64)
    return rows[:, : job.value_dim], rows[:, job.value_dim :]


def output_words(output, config: EngineConfig, layout: Layout, padding: int) -> list[int]:
    """Words from o_address on that hold an output; the inverse of :func:`unpack_output`.

    Args:
        output: int64 [n_q, value_dim] of 16-bit values. padding: what 16-bit lanes beyond a row's end hold.
    """
    output = np.asarray(output)
    rows = np.full((len(output), layout.o_stride * config.word_bytes // 2), padding, dtype="<u2")
    rows[:, : output.shape[1]] = output.astype("<i2").view("<u2")
    return [int.from_bytes(word.tobytes(), "little") for word in rows.view(np.uint8).reshape(-1, config.word_bytes)]
