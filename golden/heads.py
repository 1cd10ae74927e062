"""Attention heads of a real model (all-MiniLM-L6-v2), carried as package data; see golden/data/README.md."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import numpy as np

DEFAULT_HEAD = "systolic18_layer0_head3"
MODEL = "all-MiniLM-L6-v2"


class UnknownHead(ValueError):
    """No head of that name; the message lists the names there are."""


@cache
def _arrays() -> dict[str, np.ndarray]:
    with as_file(files("golden") / "data" / "minilm_heads.npz") as path, np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def head_names() -> list[str]:
    """Names of the heads, such as ``systolic18_layer0_head3``: 18 tokens, layer 0, head 3."""
    return [name.removesuffix("_q") for name in _arrays() if name.endswith("_q")]


def load_head(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query, key and value of one head, float32 [tokens, 32] each. Not causal; scores scale by 1/sqrt(32).

    Raises:
        UnknownHead: there is no such head.
    """
    if name not in head_names():
        raise UnknownHead(f"unknown head {name!r}; choose one of {', '.join(head_names())}")
    arrays = _arrays()
    return tuple(arrays[f"{name}_{operand}"].copy() for operand in "qkv")
