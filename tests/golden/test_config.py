import json
from dataclasses import asdict, replace

import pytest

from golden.config import NAMED, ConfigError, EngineConfig, load_config

TINY = NAMED["tiny"]

# Configurations as designed: element, A x C, largest dimension, rows, keys, word and memory in bytes.
DESIGN = {
    "tiny": ("int8", 4, 4, 16, 32, 1024, 4, 16 << 10),
    "base": ("int8", 8, 8, 64, 64, 4096, 8, 256 << 10),
    "wide": ("int8", 16, 16, 128, 64, 4096, 16, 1 << 20),
    "q88": ("q8.8", 4, 4, 16, 32, 1024, 4, 16 << 10),
    "lanes16": ("q8.8", 1, 16, 16, 32, 1024, 4, 16 << 10),
}


@pytest.mark.parametrize("name", DESIGN)
def test_named(name):
    c = NAMED[name]
    assert (
        c.element, c.array_depth, c.array_keys, c.max_dim, c.max_rows, c.max_keys, c.word_bytes, c.memory_bytes
    ) == DESIGN[name]  # fmt: skip
    assert (c.name, load_config(name)) == (name, c)


def test_named_are_all_in_the_design():
    assert set(NAMED) == set(DESIGN)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": "4x4"}, "name must be a Verilog identifier such as 'tiny', not '4x4'"),
        ({"name": ""}, "name must be a Verilog identifier such as 'tiny', not ''"),
        ({"name": "größe"}, "name must be a Verilog identifier such as 'tiny', not 'größe'"),
        ({"name": 7}, "name must be a Verilog identifier such as 'tiny', not 7"),
        ({"element": "int4"}, "element must be one of int8, q8.8, not 'int4'"),
        ({"element": 8}, "element must be one of int8, q8.8, not 8"),
        ({"element": ["int8"]}, "element must be one of int8, q8.8, not ['int8']"),
        ({"array_depth": 0}, "array_depth must be between 1 and 16, not 0"),
        ({"array_keys": 32}, "array_keys must be between 1 and 16, not 32"),
        ({"array_keys": 3}, "array_keys must be a power of two, such as 2 or 4, not 3"),
        ({"word_bytes": 1}, "word_bytes must be between 2 and 16, not 1"),
        ({"word_bytes": 12}, "word_bytes must be a power of two, such as 8 or 16, not 12"),
        ({"max_dim": 257}, "max_dim must be between 1 and 256, not 257"),
        ({"max_dim": 48}, "max_dim must be a power of two, such as 32 or 64, not 48"),
        ({"max_rows": -4}, "max_rows must be between 1 and 64, not -4"),
        ({"softmax_lanes": 8}, "softmax_lanes must be at most array_keys (4), not 8"),
        ({"softmax_lanes": 3}, "softmax_lanes must be a power of two, such as 2 or 4, not 3"),
        ({"max_keys": 8}, "max_keys must be between 16 and 32768, not 8"),
        ({"memory_bytes": 1 << 27}, "memory_bytes must be between 256 and 67108864, not 134217728"),
        ({"max_dim": 16.0}, "max_dim must be a whole number, not 16.0"),
        ({"max_rows": True}, "max_rows must be a whole number, not True"),
        ({"max_keys": "1024"}, "max_keys must be a whole number, not '1024'"),
        ({"memory_bytes": None}, "memory_bytes must be a whole number, not None"),
        ({"max_dim": 2}, "max_dim must be at least array_depth (4), not 2"),
    ],
)
def test_bad_parameter_is_named(change, message):
    with pytest.raises(ConfigError) as error:
        replace(TINY, **change)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "extreme",
    [
        EngineConfig("least", "int8", 1, 1, 2, 1, 1, 16, 256),
        EngineConfig("most", "q8.8", 16, 16, 16, 256, 64, 32768, 1 << 26),
    ],
    ids=lambda config: config.name,
)
def test_ends_of_the_ranges_are_allowed(extreme, tmp_path):
    (tmp_path / "c.json").write_text(extreme.to_json())
    assert load_config(str(tmp_path / "c.json")) == extreme


@pytest.mark.parametrize("name", NAMED)
def test_file_round_trip(name, tmp_path):
    path = tmp_path / "written.json"
    path.write_text(NAMED[name].to_json())
    assert EngineConfig.from_file(path) == NAMED[name]


def changed(**change):
    return json.dumps(asdict(TINY) | change)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "configuration file '{path}' is not JSON: "),
        ("", "configuration file '{path}' is not JSON: "),
        ("[" * 100_000, "configuration file '{path}' is not JSON: "),
        ("9" * 5000, "configuration file '{path}' is not JSON: "),
        ("[1, 2]", "configuration file '{path}' must hold one JSON object, not a list"),
        ("null", "configuration file '{path}' must hold one JSON object, not a NoneType"),
        (changed(lanes=4), "unknown parameter 'lanes' in '{path}'; known are name, element, array_depth, "),
        (json.dumps({"name": "x"}), "parameter 'element' is missing in '{path}'"),
        (changed(array_keys=6), "array_keys must be a power of two, such as 4 or 8, not 6"),
        (changed(max_rows=True), "max_rows must be a whole number, not True"),
        (changed(max_dim=1.5), "max_dim must be a whole number, not 1.5"),
        (changed(max_dim=float("nan")), "max_dim must be a whole number, not nan"),
        (changed(word_bytes="4"), "word_bytes must be a whole number, not '4'"),
        (changed(element={}), "element must be one of int8, q8.8, not {}"),
    ],
    ids=range(14),
)
def test_bad_file(text, message, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(str(path))
    assert str(error.value).startswith(message.replace("{path}", str(path)))


def test_unreadable_file(tmp_path):
    for path, reason in (
        (tmp_path / "none.json", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(ConfigError) as error:
            load_config(str(path))
        assert str(error.value) == f"cannot read configuration file '{path}': {reason}"


def test_binary_file(tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_config(str(path))


@pytest.mark.parametrize("name", ["huge", "Tiny", "x" * 5000], ids=["huge", "Tiny", "long"])
def test_unknown_name(name):
    with pytest.raises(ConfigError) as error:
        load_config(name)
    assert str(error.value) == (
        f"unknown configuration '{name}'; choose one of tiny, base, wide, q88, lanes16 or give a .json file"
    )


@pytest.mark.parametrize(
    "name, dim, words, chunks, output_words",
    [
        ("tiny", 1, 1, 1, 1),
        ("tiny", 4, 1, 1, 2),
        ("tiny", 5, 2, 2, 3),
        ("base", 64, 8, 8, 16),
        ("q88", 3, 2, 1, 2),
        ("lanes16", 16, 8, 16, 8),
    ],
)
def test_rows_in_words_and_chunks(name, dim, words, chunks, output_words):
    c = NAMED[name]
    assert (c.words(dim), c.chunks(dim), c.output_words(dim)) == (words, chunks, output_words)
    assert c.words(c.max_dim) == c.row_words
    assert c.chunks(c.max_dim) == c.max_chunks
    assert c.memory_words * c.word_bits == 8 * c.memory_bytes
