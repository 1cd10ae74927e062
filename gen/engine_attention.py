"""Multi-head attention of a model on the simulated engine, compared with the golden model on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from gen.bench import Bench, EngineResult, Run
from gen.inputs import quantise_head
from gen.report import first_difference
from golden.config import EngineConfig
from golden.minilm import Encoder
from golden.predict import Prediction, predict
from golden.quantise import dequantise_output


def layer_attention(
    config: EngineConfig, bench: Bench, q: np.ndarray, k: np.ndarray, v: np.ndarray, latency: int
) -> tuple[np.ndarray, list[tuple[Prediction, EngineResult]], int]:
    """Quantise the heads of one layer and run them, one run each; scores scale by 1/sqrt(d), no mask. V is levelled.

    Args:
        q, k, v: float arrays [heads, n, d].

    Returns:
        (output, dequantised, float64 [heads, n, d]; prediction and result of each run; number of elements that were
        out of range and clipped).

    Raises:
        JobError: `config` cannot run them. BenchError: the engine did not do its job.
    """
    outputs, runs, clipped = [], [], 0
    for head_q, head_k, head_v in zip(q, k, v, strict=True):
        levelled, factor, offset = level(head_v)
        head = quantise_head(config, (head_q, head_k, levelled), latency=latency)
        prediction = predict(config, head.job, *head.raw)
        # Twice what the cycle model says is not a cycle too few, but an engine that hangs.
        result = bench.run(Run(head.job, *head.raw), 2 * prediction.counters["busy"] + 1000)
        outputs.append(dequantise_output(result.output, head.steps[2], config) * factor + offset)
        runs.append((prediction, result))
        clipped += head.clipped
    return np.stack(outputs), runs, clipped


def level(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shift and scale every column of V to the whole range of INT8, so that one step for all columns suits each.

    Weights that sum to 1 make of `levelled` the output that they make of V, but for the same factor and offset.

    Args:
        v: finite floats [n, d].

    Returns:
        (levelled [n, d], from -127 to 127 in each column, 0 in one that is constant; factor [d]; offset [d]) with
        v = levelled * factor + offset.
    """
    low, high = v.min(axis=0), v.max(axis=0)
    offset, reach = (low + high) / 2, (high - low) / 2
    reach = np.where(reach > 0, reach, 127)
    return (v - offset) / reach * 127, reach / 127, offset


class EngineAttention:
    """The attention of an encoder on one simulated engine, which counts what the engine does.

    sentences, heads: begun and done so far. engine, predicted: sums of all counters. clipped: elements that were out of
    range. mismatch: the first difference from golden, as a phrase, or None.

    Args:
        advance: called with the number of heads done after each layer, or None.
    """

    def __init__(self, config: EngineConfig, bench: Bench, latency: int, advance: Callable[[int], None] | None = None):
        self._config, self._bench, self._latency, self._advance = config, bench, latency, advance
        self.sentences = self.heads = self.clipped = 0
        self.engine, self.predicted = Counter(), Counter()
        self.mismatch: str | None = None

    def embed(self, encoder: Encoder, ids: list[int]) -> np.ndarray:
        """The embedding of the next sentence, float64 [hidden]; ids: its tokens."""
        self.sentences += 1
        layers = iter(range(encoder.layers))
        return encoder.embed(ids, lambda q, k, v: self._attend(next(layers), q, k, v))

    def _attend(self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        output, runs, clipped = layer_attention(self._config, self._bench, q, k, v, self._latency)
        for number, (prediction, result) in enumerate(runs):
            self.engine.update(result.counters)
            self.predicted.update(prediction.counters)
            difference = first_difference(prediction, result)
            if difference and self.mismatch is None:
                self.mismatch = f"sentence {self.sentences}, layer {layer}, head {number}: {difference}"
        self.clipped += clipped
        self.heads += len(q)
        if self._advance:
            self._advance(self.heads)
        return output
