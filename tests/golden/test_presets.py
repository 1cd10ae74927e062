import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import flash
from golden.job import Job, encode_scale
from golden.oracle import attention
from golden.presets import DEPENDS_ON, SENTENCE, UnknownPreset, load_preset, preset_names
from golden.quantise import dequantise_output, quantise

SCALE = 0.5  # 1 / sqrt(4)


def weights(name):
    """Attention matrix of a preset: row i holds what query i gives to each key."""
    preset = load_preset(name)
    return attention(preset.q, preset.k, np.eye(len(preset.q)), SCALE, preset.causal)


def test_names_lengths_masks_and_published_errors():
    presets = [load_preset(name) for name in preset_names()]
    assert [(p.name, len(p.q), p.causal, p.published_error) for p in presets] == [
        ("toy-sentence", 12, True, 0.0049),
        ("previous-token", 16, True, 0.0105),
        ("attention-sink", 16, True, 0.0253),
        ("uniform", 16, False, 0.0028),
        ("self", 16, False, 0.0260),
        ("random", 16, False, 0.0163),
    ]
    for preset in presets:
        assert preset.q.shape == preset.k.shape == preset.v.shape == (len(preset.q), 4)


def test_presets_are_the_same_every_time():
    for name in preset_names():
        one, two = load_preset(name), load_preset(name)
        for operand in "qkv":
            assert np.array_equal(getattr(one, operand), getattr(two, operand))


def test_words_of_the_toy_sentence_look_at_what_they_depend_on():
    assert len(SENTENCE) == len(DEPENDS_ON) == 12
    matrix = weights("toy-sentence")
    assert matrix.argmax(axis=1).tolist() == list(DEPENDS_ON)
    assert (matrix.max(axis=1) > 0.5).all()
    value = load_preset("toy-sentence").v
    assert np.array_equal(value[0], value[4])  # "the", twice
    assert len(np.unique(value, axis=0)) == 11


def test_previous_token_looks_at_the_token_before():
    matrix = weights("previous-token")
    assert matrix[0, 0] == 1
    assert (np.diagonal(matrix, -1) > 0.8).all()


def test_attention_sink_looks_at_the_first_token_but_not_only():
    first = weights("attention-sink")[:, 0]
    assert (first > 0.5).all()
    assert first[-1] < 0.95


def test_uniform_looks_everywhere_equally():
    assert weights("uniform") == pytest.approx(np.full((16, 16), 1 / 16))


def test_self_looks_at_itself():
    assert (np.diagonal(weights("self")) > 0.8).all()


def test_random_looks_at_nothing_in_particular():
    matrix = weights("random")
    assert matrix.max() < 0.8
    assert len(set(matrix.argmax(axis=1))) > 4


@pytest.mark.parametrize("name", preset_names())
def test_the_datapath_adds_at_most_three_hundredths_of_a_v_step(name):
    preset, config = load_preset(name), NAMED["tiny"]
    n = len(preset.q)
    (q, sq, _), (k, sk, _), (v, sv, _) = (quantise(array, config) for array in (preset.q, preset.k, preset.v))
    job = Job(n, n, 4, 4, *encode_scale(SCALE * np.log2(np.e) * sq * sk), q_rows=16, causal=preset.causal)
    engine = dequantise_output(flash(config, job, q, k, v).output, sv, config)
    exact = attention(preset.q, preset.k, preset.v, SCALE, preset.causal)
    quantised = attention(q, k, v, SCALE * sq * sk, preset.causal) * sv
    assert np.abs(engine - exact).max() <= np.abs(quantised - exact).max() + 0.03 * sv


@pytest.mark.parametrize("name", ["", "toy", "Uniform"])
def test_an_unknown_preset_is_named_and_the_known_ones_listed(name):
    with pytest.raises(UnknownPreset, match=f"unknown preset {name!r}; choose one of toy-sentence, previous-token, "):
        load_preset(name)
