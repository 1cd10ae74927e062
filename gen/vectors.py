"""Test vectors for people with a testbench of their own: memory before, memory after, and every counter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, fields

import numpy as np

from golden.config import EngineConfig
from golden.job import Job, JobError, encode_scale
from golden.layout import layout
from golden.memory_image import memory_image, output_words
from golden.predict import predict

UNTOUCHED = 0x5A5A  # every 16-bit lane of the output area before a run
LATENCIES = (10, 0, 1, 64)
LONGEST = 64  # rows of queries and keys; larger heads are what `flashtile run` is for


def vectors(config: EngineConfig, count: int, seed: int) -> Iterator[dict[str, str]]:
    """Files by name of one test vector after the other.

    NNN.json: the values of the ports `descriptor_*` and `latency`, the counters afterwards, and the sizes.
    NNN_before.hex, NNN_after.hex: memory from word 0 on, one word a line, as $readmemh reads it. Lanes of the output
    area that the engine must not write hold 5a5a in both.

    The first vector is full-scale data in the largest shape; the others are normal data in random shapes, at most
    64 rows, causal or not, with and without overlap, behind memories of first-word latency 10, 0, 1 and 64.
    """
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        job, q, k, v = _head(config, number, rng)
        place = layout(config, job)
        prediction = predict(config, job, q, k, v)
        lanes = config.word_bytes // 2
        before = memory_image(config, place, q, k, v)
        untouched = sum(UNTOUCHED << 16 * lane for lane in range(lanes))
        after = before + output_words(prediction.result.output, config, place, UNTOUCHED)
        before = before + [untouched] * (len(after) - len(before))
        described = _described(job, place)
        yield {
            f"{number:03}.json": json.dumps(
                {
                    "configuration": config.name,
                    "seed": [seed, number],
                    "descriptor": described,
                    "latency": job.latency,
                    "counters": prediction.counters,
                    "words": len(after),
                    "output": {"first_word": place.o_address, "rows": job.n_q, "columns": job.value_dim},
                },
                indent=2,
            )
            + "\n",
            f"{number:03}_before.hex": _hex(before, config),
            f"{number:03}_after.hex": _hex(after, config),
        }


def _head(config, number, rng):
    low, high = -(1 << (config.element_bits - 1)), (1 << (config.element_bits - 1)) - 1
    longest = min(LONGEST, config.max_keys)
    while True:
        n_q, n_kv = (longest, longest) if number == 0 else (int(n) for n in rng.integers(1, longest + 1, 2))
        dims = (config.max_dim,) * 2 if number == 0 else rng.integers(1, config.max_dim + 1, 2)
        dim, value_dim = (int(n) for n in dims)
        scale = encode_scale(2.0 ** -int(rng.integers(6, 12)) / dim)
        job = Job(
            n_q, n_kv, dim, value_dim, *scale,
            q_rows=min(n_q, config.max_rows) if number == 0 else int(rng.integers(1, config.max_rows + 1)),
            causal=bool(number % 2),
            q_position=n_kv - n_q if number % 2 else 0,
            overlap=number % 4 < 2,
            latency=LATENCIES[number % len(LATENCIES)],
        )  # fmt: skip
        try:
            layout(config, job)
        except JobError:  # too large for this memory
            longest = max(1, longest // 2)
            continue
        shapes = ((n_q, dim), (n_kv, dim), (n_kv, value_dim))
        if number == 0:
            return job, *(rng.choice([low, high], shape) for shape in shapes)
        return job, *(np.clip(np.rint(rng.normal(0, high / 3, shape)), low, high).astype(np.int64) for shape in shapes)


def _described(job, place) -> dict[str, int]:
    values = {name: int(value) for name, value in asdict(job).items() if name != "latency"}
    return values | {field.name: getattr(place, field.name) for field in fields(place) if field.name != "words"}


def _hex(words, config) -> str:
    return "".join(f"{word:0{2 * config.word_bytes}x}\n" for word in words)
