import numpy as np
import pytest

from gen.engine_attention import EngineAttention, level
from golden.config import NAMED
from golden.minilm import float_attention
from tests.gen.golden_bench import GoldenBench
from tests.minilm_package import need_encoder

FIRST, LAST, WORDS = 101, 102, range(1996, 30522)  # [CLS], [SEP], and what is neither special, unused nor a letter


def test_levelled_columns_fill_the_range():
    v = np.random.default_rng(0).normal(size=(7, 5)) * [1, 1e-3, 1e6, 1e-300, 1] + [0, 4, -1e7, 0, 1e3]
    levelled, factor, offset = level(v)
    assert levelled.max(axis=0) == pytest.approx(np.full(5, 127)) == -levelled.min(axis=0)
    assert levelled * factor + offset == pytest.approx(v, rel=1e-9)


def test_a_constant_column_is_zero():
    levelled, factor, offset = level(np.array([[3.0, 0.0, 1.0], [3.0, 0.0, 2.0]]))
    assert levelled.tolist() == [[0, 0, -127], [0, 0, 127]]
    assert (levelled * factor + offset).tolist() == [[3, 0, 1], [3, 0, 2]]


def test_attention_of_levelled_values_is_attention_levelled():
    rng = np.random.default_rng(1)
    v, weights = rng.normal(size=(6, 4)), rng.random((3, 6))
    weights /= weights.sum(axis=1, keepdims=True)
    levelled, factor, offset = level(v)
    assert (weights @ levelled) * factor + offset == pytest.approx(weights @ v)


@pytest.mark.slow
def test_embeddings_of_random_words_are_near_those_of_the_float_model(capsys):
    """Most sentences short: those lose most. Golden stands in for the engine, which equals it."""
    encoder, rng = need_encoder(), np.random.default_rng(0)
    lengths = [*range(1, 149, 12), *[1, 2, 3, 4, 6, 9, 13, 20] * 20]
    attention = EngineAttention(NAMED["base"], GoldenBench(NAMED["base"]), latency=10)
    cosines = []
    for number, length in enumerate(lengths):
        # Every second one of frequent words; the vocabulary begins with those.
        words = WORDS if number % 2 else WORDS[:400]
        ids = [FIRST, *rng.choice(words, length).tolist(), LAST]
        cosines.append(attention.embed(encoder, ids) @ encoder.embed(ids, float_attention))
    with capsys.disabled():
        print(f"\ncosine of {len(lengths)}: least {min(cosines):.6f}, median {np.median(cosines):.6f}")
    assert min(cosines) > 0.9997
