"""The descriptor of the current run, held, and what the controllers need derived from it."""

from myhdl import always, block

from golden.config import log2_ceil
from hw.ports import Descriptor
from hw.signals import unsigned


class Run(Descriptor):
    """Descriptor fields as latched by start, and from the cycle after, what follows from the dimensions."""

    def __init__(self, config):
        super().__init__(config)
        row_bytes = config.max_dim * config.element_bytes
        self.qk_bytes, self.v_bytes = unsigned(row_bytes.bit_length()), unsigned(row_bytes.bit_length())
        self.qk_words, self.v_words = (unsigned(config.row_words.bit_length()) for _ in range(2))
        self.qk_chunks, self.v_chunks = (unsigned(config.max_chunks.bit_length()) for _ in range(2))
        self.qk_mask, self.v_mask = unsigned(config.array_depth), unsigned(config.array_depth)
        self.tail_elements = unsigned(config.array_depth.bit_length())


@block
def run_registers(clk, load, descriptor, run, config):
    """Latch the descriptor with load; the derived fields follow one cycle later.

    Ports: clk; load: one bit; descriptor: Descriptor; run: Run (out).
    """
    fields = Descriptor(config).names()
    derived = derive(clk, run, config)
    return derived, [latch(clk, load, getattr(descriptor, name), getattr(run, name)) for name in fields]


@block
def latch(clk, load, value, held):
    """held takes value with load."""

    @always(clk.posedge)
    def register():
        if load:
            held.next = value

    return register


@block
def derive(clk, run, config):
    """Bytes and words of a memory row, chunks, and the valid elements of the last chunk."""
    element_shift, word_shift = log2_ceil(config.element_bytes), log2_ceil(config.word_bytes)
    depth, depth_shift, word_bytes = config.array_depth, log2_ceil(config.array_depth), config.word_bytes
    all_elements = (1 << depth) - 1

    @always(clk.posedge)
    def registers():
        run.qk_bytes.next = run.dim << element_shift
        run.v_bytes.next = run.value_dim << element_shift
        run.qk_words.next = ((run.dim << element_shift) + word_bytes - 1) >> word_shift
        run.v_words.next = ((run.value_dim << element_shift) + word_bytes - 1) >> word_shift
        run.qk_chunks.next = (run.dim + depth - 1) >> depth_shift
        run.v_chunks.next = (run.value_dim + depth - 1) >> depth_shift
        run.qk_mask.next = all_elements >> ((depth - run.dim) & (depth - 1))
        run.v_mask.next = all_elements >> ((depth - run.value_dim) & (depth - 1))
        run.tail_elements.next = depth - ((depth - run.value_dim) & (depth - 1))

    return registers
