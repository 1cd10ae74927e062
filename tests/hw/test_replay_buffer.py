"""The buffer of S and P from memory: words in, rows out."""

import random

import pytest

from golden.config import SCRATCH_SLOTS
from hw.replay_buffer import replay_buffer
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, run

LATENCY = 2


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "base", "wide", "lanes16", "smallest", "banks16", "parts16"])
def test_random_words_and_rows(name, backend):
    """Every row is written and read early and late; a word that is not written, or of another row, stays."""
    config, rng = CONFIGS[name], random.Random(name)
    rows, banks = SCRATCH_SLOTS * config.max_rows, config.scratch_row_words
    held = {}
    columns = {name: [] for name in ("write", "write_row", "write_word", "word", "early_row", "late_row", "late")}
    expected = []

    def cycle(write, place, word):
        late, early_row, late_row = rng.randrange(2), rng.randrange(rows), rng.randrange(rows)
        read = late_row if late else early_row
        if write and read == place[0]:  # the RAM does not say what is read of a word that is being written
            write = 0
        values = (write, *place, word, early_row, late_row, late)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
        expected.append([held.get((read, bank)) for bank in range(banks)])
        if write:
            held[place] = word
        return write

    places = [(row, bank) for row in range(rows) for bank in range(banks)]
    rng.shuffle(places)
    for place in places[:600]:
        while not cycle(1, place, rng.getrandbits(config.word_bits)):
            pass
    for _ in range(200):
        cycle(rng.randrange(2), rng.choice(places), rng.getrandbits(config.word_bits))
    lanes = 16 * config.array_keys
    row_bits = index_bits(rows)
    ports = {
        "write": bit(), "write_row": unsigned(row_bits), "write_word": unsigned(index_bits(config.burst_words)),
        "word": unsigned(config.word_bits), "early_row": unsigned(row_bits), "late_row": unsigned(row_bits),
        "late": bit(), "lanes_out": unsigned(lanes),
    }  # fmt: skip
    trace = run(replay_buffer, ports, columns, ["lanes_out"], backend, {"config": config}, after=LATENCY)
    compared = 0
    for words, found in zip(expected, trace["lanes_out"][LATENCY:], strict=True):
        if None not in words:
            row = sum(word << bank * config.word_bits for bank, word in enumerate(words))
            assert found == row & (1 << lanes) - 1
            compared += 1
    assert compared > 150
