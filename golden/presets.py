"""Six small heads, each of a kind of attention that transformers are known to form. Head dimension 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DIM = 4
LENGTH = 16

# Two angular frequencies whose position codes of 16 tokens are nearly as far apart as four dimensions allow: the dot
# product of two codes is 2 for equal positions and at most 1.01 for others.
FREQUENCIES = (1.18, 1.56)
SHARP = 8.0  # query gain: softmax gives another position at most exp(-8 / 2 * (2 - 1.01)) = 0.02 of the attended weight

# Each word looks at the earlier word it depends on; the first looks at itself.
TEXT = "the cat sat on the mat because it was tired and cold"
SENTENCE = tuple(TEXT.split())
DEPENDS_ON = (0, 0, 1, 2, 3, 4, 2, 1, 7, 7, 9, 9)


class UnknownPreset(ValueError):
    """No preset of that name; the message lists the names there are."""


@dataclass(frozen=True)
class Preset:
    """One head: q, k, v float64 [n, 4], scores to be scaled by 1/sqrt(4).

    published_error: largest error against float attention that system B (docs/numerics.md) publishes for its
    preset of the same name, length and mask.
    """

    name: str
    description: str
    causal: bool
    published_error: float
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray


def position_code(position) -> np.ndarray:
    """Sinusoidal code [n, 4] of integer positions [n]; equal positions have the largest dot product, 2."""
    angle = np.multiply.outer(np.asarray(position), FREQUENCIES)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)


def _values(seed: int, length: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (length, DIM))


def _toy_sentence():
    # A softer gain than elsewhere: words also see a little of their other context.
    words = {word: row for row, word in enumerate(dict.fromkeys(SENTENCE))}
    embedding = _values(1, len(words))
    value = embedding[[words[word] for word in SENTENCE]]
    return 5 * position_code(DEPENDS_ON), position_code(range(len(SENTENCE))), value


def _previous_token():
    position = np.arange(LENGTH)
    return SHARP * position_code(position - 1), position_code(position), _values(2, LENGTH)


def _attention_sink():
    # All queries share a direction; only the first key lies along it, the others differ in what is orthogonal to it.
    rng = np.random.default_rng(3)
    query, key = rng.normal(0, 0.5, (2, LENGTH, DIM))
    query[:, 0] = 2
    key[:, 0] = -1
    key[0] = 3, 0, 0, 0
    return query, key, _values(4, LENGTH)


def _uniform():
    # Equal keys give every query equal scores, whatever it is.
    query = np.random.default_rng(5).normal(size=(LENGTH, DIM))
    return query, np.tile(position_code([1]), (LENGTH, 1)), _values(6, LENGTH)


def _self():
    code = position_code(np.arange(LENGTH))
    return SHARP * code, code, _values(7, LENGTH)


def _random():
    return tuple(np.random.default_rng(8).normal(size=(3, LENGTH, DIM)))


_PRESETS: dict[str, tuple[str, bool, float, Callable]] = {
    "toy-sentence": (f'"{" ".join(SENTENCE)}": each word looks at the one it depends on', True, 0.0049, _toy_sentence),
    "previous-token": ("each token looks at the one before it", True, 0.0105, _previous_token),
    "attention-sink": ("every token looks at the first one", True, 0.0253, _attention_sink),
    "uniform": ("every token looks at all tokens equally", False, 0.0028, _uniform),
    "self": ("each token looks at itself", False, 0.0260, _self),
    "random": ("normally distributed queries, keys and values", False, 0.0163, _random),
}


def preset_names() -> list[str]:
    """Names of the presets."""
    return list(_PRESETS)


def load_preset(name: str) -> Preset:
    """The preset of that name; the same numbers every time.

    Raises:
        UnknownPreset: there is no such preset.
    """
    if name not in _PRESETS:
        raise UnknownPreset(f"unknown preset {name!r}; choose one of {', '.join(_PRESETS)}")
    description, causal, published_error, build = _PRESETS[name]
    return Preset(name, description, causal, published_error, *build())
