"""The tile buffer: words in, chunks out."""

import random

import pytest

from golden import latency
from hw.operand_buffer import operand_buffer, row_chunks
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import CONFIGS, IDLE
from tests.hw.harness import BACKENDS, run

# Chunk and word: equal, wider, narrower, equal and wide; then many banks and many chunks in a word.
SHAPES = pytest.mark.parametrize("name", ["tiny", "q88", "lanes16", "wide", "smallest", "banks16", "parts16"])
ROWS = 4


class Buffer:
    """Inputs cycle by cycle, and the bytes that the buffer then holds."""

    def __init__(self, config, seed=0):
        self.config, self.rng = config, random.Random(seed)
        self.rows = [bytearray(config.row_words * config.word_bytes) for _ in range(ROWS)]
        self.elements = config.array_depth
        self.all_elements = (1 << self.elements) - 1
        self.inputs, self.expected = [], []

    def cycle(self, write=None, read=None, mask=None):
        """write: row, word and value; read: row and chunk, else one that is not being written, masked."""
        row, word, value = write or (0, 0, 0)
        read_row, chunk = read or ((row + 1) % ROWS, 0)
        mask = self.all_elements if mask is None else mask
        if read is None:
            mask = 0
        self.inputs.append(
            {
                "write": int(write is not None), "write_row": row, "write_word": word, "d": value,
                "read_row": read_row, "read_chunk": chunk, "mask": mask,
            }
        )  # fmt: skip
        self.expected.append(self.chunk(read_row, chunk, mask))
        if write:
            size = self.config.word_bytes
            self.rows[row][word * size : (word + 1) * size] = value.to_bytes(size, "little")

    def chunk(self, row, chunk, mask):
        size = self.config.element_bytes
        value = 0
        for index in range(self.elements):
            if mask >> index & 1:
                start = (chunk * self.elements + index) * size
                element = int.from_bytes(self.rows[row][start : start + size], "little")
                value |= element << 8 * size * index
        return value

    def word(self):
        return self.rng.choice((self.rng.getrandbits(self.config.word_bits), (1 << self.config.word_bits) - 1))

    def fill(self):
        """Write every word of every row."""
        for row in range(ROWS):
            for word in range(self.config.row_words):
                self.cycle(write=(row, word, self.word()))

    def check(self, backend):
        config = self.config
        ports = {
            "write": bit(), "write_row": unsigned(index_bits(ROWS)), "d": unsigned(config.word_bits),
            "write_word": unsigned(index_bits(config.row_words)), "read_row": unsigned(index_bits(ROWS)),
            "read_chunk": unsigned(index_bits(row_chunks(config))), "mask": unsigned(self.elements),
            "q": unsigned(8 * config.chunk_bytes),
        }  # fmt: skip
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        parameters = {"config": config, "rows": ROWS}
        trace = run(operand_buffer, ports, inputs, ["q"], backend, parameters, after=latency.FEED)
        assert trace["q"][latency.FEED :] == self.expected


@BACKENDS
@SHAPES
def test_every_chunk_of_every_row(name, backend):
    buffer = Buffer(CONFIGS[name])
    buffer.fill()
    for row in range(ROWS):
        for chunk in range(buffer.config.max_chunks):
            buffer.cycle(read=(row, chunk))
    buffer.check(backend)


@IDLE
@SHAPES
def test_random_writes_and_reads_with_masks(name, idle, backend):
    """A word written and a chunk of another row read in each cycle, or in some."""
    buffer = Buffer(CONFIGS[name], seed=1)
    rng = buffer.rng
    buffer.fill()
    for _ in range(150):
        row, read_row = rng.sample(range(ROWS), 2)
        write = (row, rng.randrange(buffer.config.row_words), buffer.word())
        read = (read_row, rng.randrange(buffer.config.max_chunks))
        mask = rng.choice((buffer.all_elements, rng.getrandbits(buffer.elements)))
        buffer.cycle(
            write=None if idle and rng.random() < 0.5 else write,
            read=None if idle and rng.random() < 0.5 else read,
            mask=mask,
        )
    buffer.check(backend)


@BACKENDS
@SHAPES
def test_stale_elements_never_leave(name, backend):
    """Rows of every dimension, written over full ones: nothing of what lies beyond the dimension comes out."""
    buffer = Buffer(CONFIGS[name])
    config = buffer.config
    ones = (1 << config.word_bits) - 1
    dims = range(1, config.max_dim + 1) if config.max_dim <= 32 else [1, 15, 16, 17, 100, 127, 128]
    for index, dim in enumerate(dims):
        row = index % ROWS
        for word in range(config.row_words):
            buffer.cycle(write=(row, word, ones))
        content = buffer.rng.randbytes(dim * config.element_bytes).ljust(config.words(dim) * config.word_bytes, b"\xff")
        for word in range(config.words(dim)):
            start = word * config.word_bytes
            value = int.from_bytes(content[start : start + config.word_bytes], "little")
            buffer.cycle(write=(row, word, value))
        read = bytearray()
        for chunk in range(config.chunks(dim)):
            tail = chunk + 1 == config.chunks(dim)
            valid = dim - chunk * config.array_depth if tail else config.array_depth
            buffer.cycle(read=(row, chunk), mask=(1 << valid) - 1)
            read += buffer.expected[-1].to_bytes(config.chunk_bytes, "little")
        assert read == content[: dim * config.element_bytes].ljust(len(read), b"\0")
    buffer.check(backend)


@BACKENDS
def test_a_word_can_be_read_in_the_cycle_after_its_write(backend):
    buffer = Buffer(CONFIGS["tiny"])
    for word in range(4):
        buffer.cycle(write=(1, word, buffer.word()), read=(1, word - 1) if word else None)
    buffer.check(backend)
