"""Where an operand ends in memory."""

from myhdl import always, always_comb, block

from hw.signals import bit, wrapping


@block
def extent(clk, load, address, words, add, product, too_far, after, outside, memory_words):
    """after = address + words + all products added; outside: it lies beyond the memory.

    Latency: one cycle, outside one more. Throughput: an addition a cycle.

    Ports: clk; load: begin with address + words; add: add product, unsigned; too_far: it is too
    large for product; after: word after the last, meaningless
    where outside.

    Parameters: memory_words: size of the memory.
    """
    bits = len(after)
    overflow = bit()
    total = wrapping(bits + 1)

    @always(clk.posedge)
    def accumulate():
        if load:
            total.next = address + words
            overflow.next = False
        elif add:
            # What is beyond the memory already stays there.
            total.next = total[bits:] + product[bits:]
            overflow.next = overflow or too_far or total[bits] or product[:bits] != 0

    @always(clk.posedge)
    def compare():
        outside.next = overflow or total > memory_words

    @always_comb
    def show():
        after.next = total[bits:]

    return accumulate, compare, show
