"""One run of the engine: the descriptor, and where its operands lie in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from golden.config import EngineConfig
from golden.formats import SCALE_BITS, SCALE_SHIFT_MAX, Z_FRACTION

MAX_LATENCY = 64


class JobError(ValueError):
    """A run that the configured engine cannot do; the message names the value and the remedy."""


@dataclass(frozen=True)
class Job:
    """Run-time fields of one head.

    Args:
        n_q, n_kv: query and key rows. dim, value_dim: elements of a Q/K row and of a V/O row.
        scale_mantissa, scale_shift: z = half_up(S * mantissa >> shift), see :func:`encode_scale`.
        q_rows: query rows per block. causal: query i sees keys up to i + q_position.
        overlap: prefetch K, V and Q (else one buffer each). latency: the memory's first-word latency in cycles.
    """

    n_q: int
    n_kv: int
    dim: int
    value_dim: int
    scale_mantissa: int
    scale_shift: int
    q_rows: int
    causal: bool = False
    q_position: int = 0
    overlap: bool = True
    latency: int = 10

    def check(self, config: EngineConfig) -> None:
        """Raise JobError if `config` cannot run this job."""
        for name, value, high, limit in (
            ("number of queries", self.n_q, config.max_keys, "max_keys"),
            ("number of keys", self.n_kv, config.max_keys, "max_keys"),
            ("head dimension", self.dim, config.max_dim, "max_dim"),
            ("value dimension", self.value_dim, config.max_dim, "max_dim"),
            ("query rows per block", self.q_rows, config.max_rows, "max_rows"),
        ):
            if not 1 <= value <= high:
                raise JobError(f"{name} must be between 1 and {high} ({limit} of {config.name}), not {value}")
        if not 0 <= self.latency <= MAX_LATENCY:
            raise JobError(f"memory latency must be between 0 and {MAX_LATENCY} cycles, not {self.latency}")
        if not -config.max_keys <= self.q_position <= config.max_keys:
            reach = f"-{config.max_keys} and {config.max_keys}"
            raise JobError(f"query position must be between {reach}, not {self.q_position}")
        if not (0 <= self.scale_mantissa < 1 << SCALE_BITS and 0 <= self.scale_shift <= SCALE_SHIFT_MAX):
            raise JobError(f"scale {self.scale_mantissa} >> {self.scale_shift} is outside the engine's range")


@dataclass(frozen=True)
class Layout:
    """Word addresses and row strides (in words) of the operands, packed one after the other."""

    q_address: int
    k_address: int
    v_address: int
    o_address: int
    q_stride: int
    k_stride: int
    v_stride: int
    o_stride: int
    words: int


def layout(config: EngineConfig, job: Job) -> Layout:
    """Pack Q, K, V and O into memory.

    Raises:
        JobError: they do not fit.
    """
    stride = config.words(job.dim)
    v_stride = config.words(job.value_dim)
    o_stride = config.output_words(job.value_dim)
    k_address = job.n_q * stride
    v_address = k_address + job.n_kv * stride
    o_address = v_address + job.n_kv * v_stride
    words = o_address + job.n_q * o_stride
    if words > config.memory_words:
        raise JobError(
            f"memory of {config.name} is too small: the head needs {words * config.word_bytes} bytes, "
            f"memory_bytes is {config.memory_bytes}; use a configuration with more memory or a shorter sequence"
        )
    return Layout(0, k_address, v_address, o_address, stride, stride, v_stride, o_stride, words)


def encode_scale(factor: float) -> tuple[int, int]:
    """Encode z units per LSB of S as (mantissa, shift) with z_raw = S * mantissa >> shift.

    Args:
        factor: softmax scale * log2(e) * LSB(Q) * LSB(K), at least 0 and finite.

    Returns:
        16-bit mantissa with its top bit set and a shift 0..47; (0, 0), uniform attention, below that range;
        (65535, 0) from 16 upwards, where softmax is one-hot.
    """
    if factor <= 0:
        return 0, 0
    fraction, exponent = math.frexp(factor)
    mantissa = math.floor(fraction * (1 << SCALE_BITS) + 0.5)
    exponent += Z_FRACTION
    if mantissa == 1 << SCALE_BITS:
        mantissa, exponent = mantissa >> 1, exponent + 1
    shift = SCALE_BITS - exponent
    if shift < 0:
        return (1 << SCALE_BITS) - 1, 0
    if shift > SCALE_SHIFT_MAX:
        return 0, 0
    return mantissa, shift
