"""One run of the engine: what its descriptor says about sizes, masks and the schedule (golden.layout: where)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from golden.config import EngineConfig
from golden.formats import SCALE_BITS, SCALE_SHIFT_MAX, Z_FRACTION

MAX_LATENCY = 64
MAX_HEADS = 256  # query heads of a run
MAX_GROUP = 64  # query heads for each KV head; KV heads whose strides are 0 serve larger groups


class JobError(ValueError):
    """A run that the configured engine cannot do; the message names the value and the remedy."""


@dataclass(frozen=True)
class Job:
    """Run-time fields of one run.

    Args:
        n_q, n_kv: query and key rows. dim, value_dim: elements of a Q/K row and of a V/O row.
        scale_mantissa, scale_shift: z = half_up(S * mantissa >> shift), see :func:`encode_scale`.
        q_rows: query rows per block. causal: query i sees keys up to its position i + q_position.
        overlap: prefetch K, V and Q (else one buffer each). latency: the memory's first-word latency in cycles.
        heads: query heads. group: query heads that share a KV head, G; their rows stream together, query by query.
        window: each query sees keys from its position - window + 1 on; None for all.
        naive: S and P go to memory and back, instead of staying on chip. state: (m, l) of each row is written, too.
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
    heads: int = 1
    group: int = 1
    window: int | None = None
    naive: bool = False
    state: bool = False

    @property
    def kv_heads(self) -> int:
        return self.heads // self.group

    @property
    def rows(self) -> int:
        """Rows that stream past one KV head: its group's heads of query 0, of query 1, and so on."""
        return self.n_q * self.group

    def check(self, config: EngineConfig) -> None:
        """Raise JobError if `config` cannot run this job."""
        for name, value, high, limit in (
            ("number of queries", self.n_q, config.max_keys, f"max_keys of {config.name}"),
            ("number of keys", self.n_kv, config.max_keys, f"max_keys of {config.name}"),
            ("head dimension", self.dim, config.max_dim, f"max_dim of {config.name}"),
            ("value dimension", self.value_dim, config.max_dim, f"max_dim of {config.name}"),
            ("query rows per block", self.q_rows, config.max_rows, f"max_rows of {config.name}"),
            ("number of heads", self.heads, MAX_HEADS, "limit of a run"),
            ("query heads per KV head", self.group, MAX_GROUP, "limit of a run"),
        ):
            if not 1 <= value <= high:
                raise JobError(f"{name} must be between 1 and {high} ({limit}), not {value}")
        if self.heads % self.group:
            raise JobError(f"query heads per KV head must divide the {self.heads} heads, not {self.group}")
        if self.window is not None and self.window < 1:
            raise JobError(f"window must be at least 1 key, not {self.window}")
        if not 0 <= self.latency <= MAX_LATENCY:
            raise JobError(f"memory latency must be between 0 and {MAX_LATENCY} cycles, not {self.latency}")
        if not -config.max_keys <= self.q_position <= config.max_keys:
            reach = f"-{config.max_keys} and {config.max_keys}"
            raise JobError(f"query position must be between {reach}, not {self.q_position}")
        if not (0 <= self.scale_mantissa < 1 << SCALE_BITS and 0 <= self.scale_shift <= SCALE_SHIFT_MAX):
            raise JobError(f"scale {self.scale_mantissa} >> {self.scale_shift} is outside the engine's range")


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
