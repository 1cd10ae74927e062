"""Test vectors for people with a testbench of their own: memory before, memory after, and every counter."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from gen.bench import described
from golden.config import EngineConfig
from golden.job import Job, JobError, encode_scale
from golden.layout import layout
from golden.memory_image import memory_after, memory_image, to_words
from golden.predict import predict

LATENCIES = (10, 0, 1, 64)
LONGEST = 64  # rows of queries and keys; larger heads are what `flashtile run` is for


def vectors(config: EngineConfig, count: int, seed: int) -> Iterator[dict[str, str]]:
    """Files by name of one test vector after the other.

    NNN.json: the values of the ports `descriptor_*` and `latency`, the counters afterwards, and the sizes.
    NNN_before.hex, NNN_after.hex: memory from word 0 on, one word a line, as $readmemh reads it. Bytes that the engine
    must not write hold the same in both, 5a where there is no operand.

    The first vector is full-scale data in the largest shape; the others are normal data in random shapes, at most
    64 rows, of one to four heads with and without groups, causal or not, windows and (m, l) at times, with and without
    overlap, behind memories of first-word latency 10, 0, 1 and 64; all with the FLASH schedule.
    """
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        job, q, k, v = _head(config, number, rng)
        place = layout(config, job)
        prediction = predict(config, job, q, k, v)
        before = memory_image(config, job, place, q, k, v)
        after = memory_after(config, job, place, before, prediction.result)
        record = {
            "configuration": config.name,
            "seed": [seed, number],
            "descriptor": described(job, place),
            "latency": job.latency,
            "counters": prediction.counters,
            "words": len(after) // config.word_bytes,
            "output": {"first_byte": place.o_address, "heads": job.heads, "rows": job.n_q, "columns": job.value_dim},
        }
        yield {
            f"{number:03}.json": json.dumps(record, indent=2) + "\n",
            f"{number:03}_before.hex": _hex(to_words(before, config), config),
            f"{number:03}_after.hex": _hex(to_words(after, config), config),
        }


def _head(config, number, rng):
    low, high = -(1 << (config.element_bits - 1)), (1 << (config.element_bits - 1)) - 1
    longest = min(LONGEST, config.max_keys)
    while True:
        n_q, n_kv = (longest, longest) if number == 0 else (int(n) for n in rng.integers(1, longest + 1, 2))
        dims = (config.max_dim,) * 2 if number == 0 else rng.integers(1, config.max_dim + 1, 2)
        dim, value_dim = (int(n) for n in dims)
        heads, group = [(1, 1), (2, 1), (4, 2), (3, 3)][number % 4]
        scale = encode_scale(2.0 ** -int(rng.integers(6, 12)) / dim)
        job = Job(
            n_q, n_kv, dim, value_dim, *scale,
            q_rows=min(n_q, config.max_rows) if number == 0 else int(rng.integers(1, config.max_rows + 1)),
            causal=bool(number % 2),
            q_position=n_kv - n_q if number % 2 else 0,
            overlap=number % 4 < 2,
            latency=LATENCIES[number % len(LATENCIES)],
            heads=heads,
            group=group,
            window=int(rng.integers(1, n_kv + 1)) if number % 3 == 2 else None,
            state=bool(number % 2),
        )  # fmt: skip
        try:
            layout(config, job)
        except JobError:  # too large for this memory
            longest = max(1, longest // 2)
            continue
        kv_heads = job.kv_heads
        shapes = ((heads, n_q, dim), (kv_heads, n_kv, dim), (kv_heads, n_kv, value_dim))
        if number == 0:
            return job, *(rng.choice([low, high], shape) for shape in shapes)
        return job, *(np.clip(np.rint(rng.normal(0, high / 3, shape)), low, high).astype(np.int64) for shape in shapes)


def _hex(words, config) -> str:
    return "".join(f"{word:0{2 * config.word_bytes}x}\n" for word in words)
