"""Where an operand ends in memory."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from hw.signals import bit, wrapping


@block
def extent(clk, load, address, words, add, product, too_far, after, outside, memory_words, fixed_words):
    """after = address + words + all products added; outside: it lies beyond the memory.

    Latency: one cycle, outside one more. Throughput: an addition a cycle.

    Ports: clk; load: begin with address + words; words: of a row, None for fixed_words; add: add product, unsigned;
    too_far: it is too large for product; after: word after the last, meaningless where outside.

    Parameters: memory_words: size of the memory, a power of two; fixed_words: instead of words, or 0.
    """
    bits, top = len(after), log2_ceil(memory_words)
    overflow = bit()
    total = wrapping(bits + 1)

    first_row = wrapping(bits)
    if words is None:

        @always_comb
        def begin_fixed():
            first_row.next = address + fixed_words

        begins = begin_fixed
    else:

        @always_comb
        def begin_words():
            first_row.next = address + words

        begins = begin_words

    @always(clk.posedge)
    def accumulate():
        if load:
            total.next = first_row
            overflow.next = False
        elif add:
            # What is beyond the memory already stays there.
            total.next = total[bits:] + product[bits:]
            overflow.next = overflow or too_far or total[bits] or product[:bits] != 0

    @always(clk.posedge)
    def compare():
        # The memory has a power of two of words: total is larger if it has a higher bit, or this one and a lower one.
        outside.next = overflow or total[:top + 1] != 0 or (total[top] and total[top:] != 0)

    @always_comb
    def show():
        after.next = total[bits:]

    return begins, accumulate, compare, show
