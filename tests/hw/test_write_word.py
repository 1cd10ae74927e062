"""The words of what leaves for memory, over every chunk, count of elements and word."""

import random

import pytest
from myhdl import block

from golden.formats import MAX_BITS
from golden.layout import state_words
from hw.signals import bit, unsigned
from hw.write_word import words_of_entry, write_word
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, pack, run, unpack


@block
def clocked(
    clk, lanes, elements, stored, in_state, state, word, chunk, data, strobe, offset, written, last_word, last_next,
    config,
):  # fmt: skip
    """The block with the clock that the harness gives to each."""
    return write_word(
        lanes, elements, stored, in_state, state, word, chunk, data, strobe, offset, written, last_word, last_next,
        config,
    )  # fmt: skip


def cases(config, rng):
    """(kind, chunk, elements, word) of O, of rows of S or P, and of (m, l)."""
    lanes = config.word_bytes // 2
    for chunk in range(config.max_chunks):
        for elements in range(1, config.array_depth + 1):
            yield from (("o", chunk, elements, word) for word in range(-(-elements // lanes)))
    for elements in range(1, config.array_keys + 1):
        yield from (("s", 0, elements, word) for word in range(-(-elements // lanes)))
    # hw.writer's test has (m, l) in words of two bytes, which are more than a chunk of O may fill.
    if state_words(config) <= words_of_entry(config):
        yield from (("state", config.max_chunks - 1, 1, word) for word in range(state_words(config)) for _ in range(20))


def expected(config, kind, chunk, elements, word, lanes, m, total):
    """Lanes of the word, offset (of O), payload, and whether it is the last one or the next is (but of (m, l))."""
    width = config.word_bytes // 2
    if kind == "state":
        values = unpack(total | (m & (1 << 32) - 1) << 32, 16, 4)[word * width : (word + 1) * width]
        return dict(enumerate(values)), None, 2 * len(values), (None, None)
    first = chunk * config.array_depth if kind == "o" else 0
    placed = {first + index: lanes[index] for index in range(elements)}
    offset = first // width + word
    held = {at % width: value for at, value in placed.items() if at // width == offset}
    last = (word + 1) * width >= elements, (elements - 1) // width == word + 1
    return held, offset if kind == "o" else None, 2 * len(held), last


@BACKENDS
@pytest.mark.parametrize("name", CONFIGS)
def test_every_word(name, backend):
    config, rng = CONFIGS[name], random.Random(name)
    count = max(config.array_depth, config.array_keys)
    word_bits = max(1, (max(words_of_entry(config), state_words(config)) - 1).bit_length())
    chunk_bits = max(1, (config.max_chunks - 1).bit_length())
    ports = {
        "lanes": unsigned(16 * count), "elements": unsigned(count.bit_length()), "stored": bit(), "in_state": bit(),
        "state": unsigned(MAX_BITS + config.sum_bits), "word": unsigned(word_bits), "chunk": unsigned(chunk_bits),
        "data": unsigned(config.word_bits), "strobe": unsigned(config.word_bytes // 2), "offset": unsigned(12),
        "written": unsigned(config.word_bytes.bit_length()), "last_word": bit(), "last_next": bit(),
    }  # fmt: skip
    columns = {name: [] for name in ("lanes", "elements", "stored", "in_state", "state", "word", "chunk")}
    wanted = []
    made = list(cases(config, rng))
    rng.shuffle(made)
    for kind, chunk, elements, word in made[:1200]:
        lanes = [rng.getrandbits(16) for _ in range(count)]
        m = rng.choice((-(1 << MAX_BITS - 1), -1, 0, (1 << MAX_BITS - 1) - 1, rng.getrandbits(MAX_BITS - 1)))
        total = rng.choice(((1 << config.sum_bits) - 1, 0, rng.getrandbits(config.sum_bits)))
        state = total | (m & (1 << MAX_BITS) - 1) << config.sum_bits
        values = (pack(lanes, 16), elements, int(kind == "s"), int(kind == "state"), state, word, chunk)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
        wanted.append(expected(config, kind, chunk, elements, word, lanes, m, total))
    outputs = ("data", "strobe", "offset", "written", "last_word", "last_next")
    trace = run(clocked, ports, columns, outputs, backend, {"config": config})
    for cycle, (held, offset, written, last) in enumerate(wanted):
        if not cycle:
            continue  # a combinational process of Verilog waits for its inputs to change
        data = unpack(trace["data"][cycle], 16, config.word_bytes // 2)
        strobed = {lane: value for lane, value in enumerate(data) if trace["strobe"][cycle] >> lane & 1}
        assert (strobed, trace["written"][cycle]) == (held, written), cycle
        assert offset is None or trace["offset"][cycle] == offset, cycle
        for name, value in zip(("last_word", "last_next"), last, strict=True):
            assert value is None or trace[name][cycle] == value, (name, cycle)
