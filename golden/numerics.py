"""Numerics study: errors of the bit-true engine over many seeds, kinds of data, sizes, formats and schedules.

Unit of every error: 256 LSBs of the 16-bit output, that is one V step (LSB of V) for INT8 and 1.0 for Q8.8, where one
V step is 1/256. Seeds are taken in blocks of 50, so that part of a study can be repeated and compared with the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from golden.config import NAMED, EngineConfig
from golden.flash import Attention, flash, scores
from golden.formats import OUTPUT_FRACTION, RECIPROCAL_BITS, Z_FRACTION, half_up, saturate
from golden.job import Job, encode_scale
from golden.naive import S_BITS, S_SHIFT, naive
from golden.oracle import attention
from golden.quantise import quantise
from golden.tables import exp2, normalise_sum, reciprocal

BLOCK = 50
CONFIGS = {"int8": NAMED["tiny"], "q8.8": NAMED["q88"]}
SCHEDULES = {"FLASH": flash, "NAIVE": naive}
LENGTHS = (8, 16, 32, 64, 128)
MAIN_SIZE = (32, 4)  # N and d of the cases that get all seeds; the others get a tenth
OTHER_DIM = 16
SMALLEST = 1e-10  # below, a difference of two float64 results is their own rounding

FULL_SCALE = 127.0
HOT_LENGTH = 12.0  # one-hot: z = 144 * log2(e) / sqrt(d), at most 104 for d >= 4, within NAIVE's s8.8


def _normal(rng, n, d):
    return tuple(rng.standard_normal((n, d)) for _ in range(3))


def _outliers(rng, n, d):
    def tensor():
        return rng.standard_normal((n, d)) + rng.normal(0, 10, (n, d)) * (rng.random((n, d)) < 0.001)

    return tensor(), tensor(), tensor()


def _equal(rng, n, d):
    q, k, v = _normal(rng, n, d)
    return q, np.repeat(k[:1], n, axis=0), v


def _one_hot(rng, n, d):
    direction = rng.standard_normal(d)
    direction *= HOT_LENGTH / np.linalg.norm(direction)
    k = rng.normal(0, 0.1, (n, d))
    k[rng.permutation(n)[:2]] = direction, -direction
    q = rng.choice((-1, 1), (n, 1)) * direction
    return q, k, rng.standard_normal((n, d))


def _full_scale(rng, n, d):
    return tuple(rng.choice((-FULL_SCALE, FULL_SCALE), (n, d)) for _ in range(3))


MAKERS = {
    "normal": _normal,
    "outliers": _outliers,
    "equal": _equal,
    "one_hot": _one_hot,
    "full_scale": _full_scale,
}


def make_data(kind: str, seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, k, v as float64 [n, d] of a kind in MAKERS.

    normal: N(0, 1). outliers: N(0, 1) + N(0, 100) * Bernoulli(0.001), variances, the distribution of Shah et al.,
    arXiv:2407.08608. equal: all rows of K are the same, so that every row of softmax is flat. one_hot: of two opposite
    keys at random places, one has all the weight of a row, and the other its least score. full_scale: all elements are
    127 or -127, whose scores are beyond the range of S in memory (NAIVE), but not of z.
    """
    return MAKERS[kind](np.random.default_rng(seed), n, d)


@dataclass(frozen=True)
class Head:
    """One quantised head: raw q, k, v [n, d], its run, and factor: exact softmax scale per LSB of S, natural base."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    factor: float
    job: Job

    def exact(self) -> np.ndarray:
        """float64 attention of the same integers, in V LSBs [n, d]."""
        return attention(self.q, self.k, self.v, self.factor)


def make_head(config: EngineConfig, kind: str, seed: int, n: int, d: int) -> Head:
    """The head of a seed, softmax scale 1/sqrt(d), not causal."""
    raw, lsb, _ = zip(*(quantise(tensor, config) for tensor in make_data(kind, seed, n, d)), strict=True)
    factor = lsb[0] * lsb[1] / math.sqrt(d)
    scale = encode_scale(factor * math.log2(math.e))
    return Head(*raw, factor, Job(n, n, d, d, *scale, q_rows=config.max_rows))


def unit_of_error(config: EngineConfig) -> float:
    """V LSBs in the unit of errors: 1 for INT8, 256 for Q8.8."""
    return 1.0 if config.element == "int8" else 256.0


def weights(config: EngineConfig, schedule: str, head: Head, found: Attention) -> np.ndarray:
    """p of every key against the row's final maximum, in LSBs of 2^-16: float64 [n_q, n_kv], exact.

    FLASH: p of the key's tile, 17 bits, times 2^-(rise of the maximum after that tile), unrounded. NAIVE: p before it
    is clipped to the 16 bits of memory.
    """
    z, _ = scores(head.q, head.k, head.job)
    if schedule == "NAIVE":
        z = saturate(half_up(z, S_SHIFT), S_BITS) << S_SHIFT
        return exp2((found.maximum[:, None] << Z_FRACTION) - z).astype(np.float64)
    starts = np.arange(0, head.job.n_kv, config.array_keys)
    tile_maximum = -(-np.maximum.reduceat(z, starts, axis=1) >> Z_FRACTION)
    running = np.maximum.accumulate(tile_maximum, axis=1)
    maximum = np.repeat(running, config.array_keys, axis=1)[:, : head.job.n_kv]
    p = exp2((maximum << Z_FRACTION) - z).astype(np.float64)
    return np.ldexp(p, maximum - found.maximum[:, None])


def sum_errors(config: EngineConfig, schedule: str, head: Head, found: Attention) -> np.ndarray:
    """|sum of p / l - 1| of every row: float64 [n_q], where p is :func:`weights` and l the engine's row sum.

    FLASH: l is rounded half up whenever the maximum rises, and so drifts from the sum of p. NAIVE: l is the sum of the
    16-bit P in memory, which lacks one LSB for every p of 1.0; no other difference exists.
    """
    return np.abs(weights(config, schedule, head, found).sum(axis=1) / found.total - 1)


@dataclass(frozen=True)
class Case:
    """What one row of the study measures."""

    element: str
    schedule: str
    data: str
    n: int
    d: int

    def seeds(self, seeds: int) -> int:
        """How many seeds the case gets of a study of so many."""
        return seeds if (self.n, self.d) == MAIN_SIZE else max(1, seeds // 10)


@dataclass(frozen=True)
class Block:
    """Errors over some seeds: mean and maximum over all outputs, largest sum error, scores that saturated."""

    seeds: int
    mean: float
    max: float
    sum_error: float = 0.0
    saturations: int = 0


def cases() -> list[Case]:
    """All cases: N=32 with d=4, then every N with d=16."""
    sizes = (MAIN_SIZE, *((n, OTHER_DIM) for n in LENGTHS))
    return [
        Case(element, schedule, data, n, d)
        for n, d in sizes
        for element in CONFIGS
        for schedule in SCHEDULES
        for data in MAKERS
    ]


def measure(case: Case, seeds: Iterable[int]) -> Block:
    """Datapath error of golden's engine against exact softmax on the same integers, and the sum error."""
    config = CONFIGS[case.element]
    errors, sums, saturations = [], [], 0
    for seed in seeds:
        head = make_head(config, case.data, seed, case.n, case.d)
        found = SCHEDULES[case.schedule](config, head.job, head.q, head.k, head.v)
        exact = head.exact() / unit_of_error(config)
        errors.append(np.abs(found.output / (1 << OUTPUT_FRACTION) - exact))
        sums.append(sum_errors(config, case.schedule, head, found))
        saturations += found.saturations
    return Block(len(errors), float(np.mean(errors)), float(np.max(errors)), float(np.max(sums)), saturations)


def blocks(seeds: int) -> list[range]:
    """Seeds 0 to seeds - 1 in blocks; the last may be shorter."""
    return [range(first, min(first + BLOCK, seeds)) for first in range(0, seeds, BLOCK)]


def merge(parts: list[Block]) -> Block:
    """One block of all seeds."""
    seeds = sum(part.seeds for part in parts)
    return Block(
        seeds,
        sum(part.mean * part.seeds for part in parts) / seeds,
        max(part.max for part in parts),
        max(part.sum_error for part in parts),
        sum(part.saturations for part in parts),
    )


def six_digits(value: float) -> float:
    """A figure as the result file holds it: 6 significant digits, since the last bits of float64 differ by machine."""
    return float(f"{value:.6g}") if abs(value) > SMALLEST else 0.0


def row_sums(n: int, seeds: Iterable[int]) -> dict[str, float]:
    """What rounding a normalised softmax row to Q8.8 does to its sum, against this engine; Q8.8, normal data, d=16.

    System A (docs/numerics.md) rounds each weight of the row to 8 fraction bits, here half up of the exact one.

    Returns:
        mean and worst |row sum - 1|, and share of rows whose sum is not 1: `rounded_*`. `engine_*`: mean and worst of
        the weights that this engine gives V, p times the reciprocal it computes of l (FLASH).
    """
    config = CONFIGS["q8.8"]
    rounded, engine = [], []
    for seed in seeds:
        head = make_head(config, "normal", seed, n, OTHER_DIM)
        exact = attention(head.q, head.k, np.eye(n), head.factor)
        rounded.append(np.abs(np.floor(exact * 256 + 0.5).sum(axis=1) / 256 - 1))
        found = flash(config, head.job, head.q, head.k, head.v)
        mantissa, exponent = normalise_sum(found.total)
        inverse = np.ldexp(reciprocal(mantissa) / (1 << RECIPROCAL_BITS), -exponent)
        engine.append(np.abs(weights(config, "FLASH", head, found).sum(axis=1) * inverse - 1))
    return {
        "rounded_mean": float(np.mean(rounded)),
        "rounded_max": float(np.max(rounded)),
        "rounded_off": float(np.mean(np.array(rounded) > 0)),
        "engine_mean": float(np.mean(engine)),
        "engine_max": float(np.max(engine)),
    }
