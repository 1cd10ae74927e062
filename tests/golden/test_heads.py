import numpy as np
import pytest

from golden.heads import DEFAULT_HEAD, UnknownHead, head_names, load_head
from golden.oracle import attention


def test_the_five_heads_are_there():
    assert head_names() == [
        "systolic18_layer0_head3",
        "systolic18_layer2_head7",
        "systolic18_layer5_head10",
        "long146_layer1_head0",
        "long146_layer4_head5",
    ]
    assert DEFAULT_HEAD in head_names()


@pytest.mark.parametrize("name", head_names())
def test_a_head_is_float32_tokens_by_32_and_finite(name):
    tokens = int(name.split("_")[0].lstrip("abcdefghijklmnopqrstuvwxyz"))
    for array in load_head(name):
        assert array.dtype == np.float32
        assert array.shape == (tokens, 32)
        assert np.isfinite(array).all()


def test_heads_attend_selectively():
    q, k, _ = load_head("long146_layer4_head5")
    weights = attention(q, k, np.eye(146), 32**-0.5)
    assert weights.sum(axis=1) == pytest.approx(np.ones(146))
    assert weights.max() > 5 / 146


def test_changing_a_loaded_head_leaves_the_next_one_alone():
    load_head(DEFAULT_HEAD)[0][:] = 0
    assert load_head(DEFAULT_HEAD)[0].any()


@pytest.mark.parametrize("name", ["", "layer0", "systolic18_layer0_head3_q"])
def test_an_unknown_head_is_named_and_the_known_ones_listed(name):
    with pytest.raises(UnknownHead, match=f"unknown head {name!r}; choose one of systolic18_layer0_head3, "):
        load_head(name)
