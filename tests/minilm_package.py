"""The sentence encoder for tests, or the reason why there is none."""

import os

import pytest

from golden.minilm import Encoder, ModelMissing, load_encoder


def need_encoder() -> Encoder:
    """The encoder; skip, or fail where CI insists, if its packages are not installed."""
    try:
        return load_encoder()
    except ModelMissing as error:
        if os.environ.get("FLASHTILE_REQUIRE_MINILM"):
            pytest.fail(str(error))
        pytest.skip(str(error))
