import numpy as np
import pytest

from golden.config import NAMED
from golden.quantise import dequantise_output, quantise, quantise_int8, quantise_q88


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 4)])
def test_zero_tensor_has_scale_one(shape):
    raw, scale = quantise_int8(np.zeros(shape))
    assert scale == 1.0
    assert raw.shape == shape
    assert not raw.any()


@pytest.mark.parametrize("peak", [-3.7, 1e-300, 0.1, 127.0, 1e300])
def test_absolute_maximum_maps_to_127(peak):
    raw, scale = quantise_int8([peak, 0.4 * peak, -peak, 0])
    assert raw.tolist() in ([127, 51, -127, 0], [-127, -51, 127, 0])
    assert scale == pytest.approx(abs(peak) / 127)


@pytest.mark.parametrize("peak", [5e-324, 1e-310, 127 * 2.2e-308])
def test_scale_that_would_be_denormal_gives_zeros(peak):
    raw, scale = quantise_int8([peak, -peak])
    assert (raw.tolist(), scale) == ([0, 0], 1.0)


def test_int8_ties_go_upwards():
    raw, scale = quantise_int8([127, 2.5, -2.5, 0.5, -0.5, -127])
    assert (raw.tolist(), scale) == ([127, 3, -2, 1, 0, -127], 1.0)


def test_int8_error_is_at_most_half_a_step():
    x = np.random.default_rng(0).standard_normal((50, 20))
    raw, scale = quantise_int8(x)
    assert np.abs(raw * scale - x).max() <= scale / 2 * (1 + 1e-9)


@pytest.mark.parametrize(
    "value, raw, clipped",
    [
        (1.0, 256, 0),
        (-128.0, -32768, 0),
        (127 + 255 / 256, 32767, 0),
        (128 - 1 / 512, 32767, 1),  # rounds to 128, one too many
        (128 - 1.01 / 512, 32767, 0),
        (-128 - 1 / 512, -32768, 0),  # a tie, upwards
        (-128 - 1.01 / 512, -32768, 1),
        (1e308, 32767, 1),
        (-1e308, -32768, 1),
        (1.5 / 256, 2, 0),
        (-1.5 / 256, -1, 0),
        (0.5 / 256, 1, 0),
        (-0.5 / 256, 0, 0),
    ],
)
def test_q88(value, raw, clipped):
    found, count = quantise_q88([[value]])
    assert (found.tolist(), count) == ([[raw]], clipped)


def test_q88_counts_every_clipped_value():
    assert quantise_q88([200, 1, -200, 128, 127])[1] == 3


def test_by_configuration():
    x = [[2.0, -1.0]]
    raw, lsb, clipped = quantise(x, NAMED["tiny"])
    assert (raw.tolist(), lsb, clipped) == ([[127, -63]], 2 / 127, 0)
    raw, lsb, clipped = quantise([[2.0, -500.0]], NAMED["q88"])
    assert (raw.tolist(), lsb, clipped) == ([[512, -32768]], 1 / 256, 1)


@pytest.mark.parametrize("name, value", [("tiny", 0.75), ("q88", 1.5)])
def test_output_in_floats(name, value):
    """INT8 outputs count steps of V; Q8.8 ones are the value itself."""
    assert dequantise_output([[384, -384]], 0.5, NAMED[name]).tolist() == [[value, -value]]
