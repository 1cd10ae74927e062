"""Conversion: the same bytes for the same configuration, whatever was converted before."""

import re

from gen.verilog import convert, convert_engine, fingerprint
from golden.config import EngineConfig

SMALL = EngineConfig("small", "int8", 1, 2, 2, 2, 2, 16, 256)
OTHER = EngineConfig("other", "q8.8", 2, 1, 4, 2, 2, 16, 256)


def test_conversion_is_reproducible(tmp_path):
    texts = []
    for config in (SMALL, OTHER, SMALL):
        convert(config, tmp_path)
        texts.append((tmp_path / "engine_system.v").read_bytes())
    assert texts[0] == texts[2] != texts[1]


def test_the_engine_converts_without_its_memory(tmp_path):
    convert_engine(SMALL, tmp_path)
    text = (tmp_path / "engine.v").read_text()
    assert re.findall(r"^module (\w+)", text, re.M) == ["engine"]
    assert "read_data_valid" in text and "host_write" not in text


def test_the_fingerprint_tells_configurations_apart():
    assert fingerprint(SMALL) == fingerprint(SMALL) != fingerprint(OTHER)
