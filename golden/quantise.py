"""Quantisers from float to raw elements, and back."""

from __future__ import annotations

import numpy as np

from golden.config import EngineConfig
from golden.formats import formats, saturate, to_float


def quantise_int8(x) -> tuple[np.ndarray, float]:
    """Symmetric per-tensor INT8: the absolute maximum maps to 127.

    Args:
        x: finite float array.

    Returns:
        (raw int64 array in -127..127, scale) with x ~ raw * scale. An all-zero tensor, or one too small for its
        scale to be a normal float, gives zeros and scale 1.
    """
    x = np.asarray(x, dtype=np.float64)
    scale = float(np.abs(x).max(initial=0.0)) / 127
    if scale < np.finfo(np.float64).tiny:
        return np.zeros(x.shape, dtype=np.int64), 1.0
    return np.clip(np.floor(x / scale + 0.5), -127, 127).astype(np.int64), scale


def quantise_q88(x) -> tuple[np.ndarray, int]:
    """Q8.8, rounded half up and saturated to -128 .. 127.996.

    Returns:
        (raw int64 array, number of values that were clipped).
    """
    # Anything beyond +-1024 clips all the same; bounding it first keeps the product finite.
    raw = np.floor(np.clip(np.asarray(x, dtype=np.float64), -1024, 1024) * 256 + 0.5).astype(np.int64)
    limited = saturate(raw, 16)
    return limited, int((raw != limited).sum())


def quantise(x, config: EngineConfig) -> tuple[np.ndarray, float, int]:
    """(raw elements, value of one LSB, clipped values) in the element format of `config`."""
    if config.element == "int8":
        raw, scale = quantise_int8(x)
        return raw, scale, 0
    raw, clipped = quantise_q88(x)
    return raw, 1 / 256, clipped


def dequantise_output(output, v_scale: float, config: EngineConfig) -> np.ndarray:
    """Engine output (raw, 8 fraction bits) as float64: V LSBs times v_scale for INT8, plain Q8.8 otherwise."""
    value = to_float(output, formats(config)["output"])
    return value * v_scale if config.element == "int8" else value
