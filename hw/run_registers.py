"""The descriptor of the current run, held, and what the controllers need derived from it."""

from myhdl import always, block

from golden.config import log2_ceil
from hw.ports import Descriptor
from hw.signals import round_up, unsigned


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
def run_registers(clk, reset, load, descriptor, run, config):
    """Latch the descriptor with load; the derived fields follow one cycle later.

    Ports: clk; reset: clears the fields; load: one bit; descriptor: Descriptor; run: Run (out).
    """
    fields = Descriptor(config).names()
    derived = derive(clk, run, config)
    return derived, [latch(clk, reset, load, getattr(descriptor, name), getattr(run, name)) for name in fields]


@block
def latch(clk, reset, load, value, held):
    """held takes value with load, 0 with reset."""

    @always(clk.posedge)
    def register():
        if reset:
            held.next = 0
        elif load:
            held.next = value

    return register


@block
def derive(clk, run, config):
    """Bytes and words of a memory row, chunks, and the valid elements of the last chunk."""
    element_shift, word_shift = log2_ceil(config.element_bytes), log2_ceil(config.word_bytes)
    depth_shift = log2_ceil(config.array_depth)
    qk_words, v_words = unsigned(len(run.qk_words)), unsigned(len(run.v_words))
    qk_chunks, v_chunks = unsigned(len(run.qk_chunks)), unsigned(len(run.v_chunks))

    @always(clk.posedge)
    def registers():
        run.qk_bytes.next = run.dim << element_shift
        run.v_bytes.next = run.value_dim << element_shift
        run.qk_words.next = qk_words
        run.v_words.next = v_words
        run.qk_chunks.next = qk_chunks
        run.v_chunks.next = v_chunks

    return (
        registers,
        round_up(run.dim, word_shift - element_shift, qk_words),
        round_up(run.value_dim, word_shift - element_shift, v_words),
        round_up(run.dim, depth_shift, qk_chunks),
        round_up(run.value_dim, depth_shift, v_chunks),
        last_chunk(clk, run, depth_shift),
    )


@block
def last_chunk(clk, run, depth_shift):
    """The valid elements of the last chunk of 2**depth_shift: how many there are, and a bit for each."""
    depth = 1 << depth_shift
    masks = ((1 << depth) - 1, *((1 << elements) - 1 for elements in range(1, depth)))

    if depth_shift == 0:

        @always(clk.posedge)
        def registers():
            run.qk_mask.next = 1
            run.v_mask.next = 1
            run.tail_elements.next = 1

        return registers

    @always(clk.posedge)
    def look_up():
        run.qk_mask.next = masks[run.dim[depth_shift:]]
        run.v_mask.next = masks[run.value_dim[depth_shift:]]

    @always(clk.posedge)
    def count():
        if run.value_dim[depth_shift:] == 0:
            run.tail_elements.next = depth
        else:
            run.tail_elements.next = run.value_dim[depth_shift:]

    return look_up, count
