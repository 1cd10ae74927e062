"""Small first-word-fall-through queue for records between controllers."""

from myhdl import Signal, always, always_comb, block, intbv

from hw.signals import index_bits, unsigned


@block
def queue(clk, reset, push, d, pop, q, valid, depth):
    """Queue of at most 64 words in distributed RAM; q is its oldest word while valid.

    Latency: push at cycle t shows at t+1. Throughput: one push and one pop a cycle. The users never push when it is
    full (each has credits for what it may have under way) and never pop unless valid.

    Ports: clk, reset; push, d; pop, q, valid.

    Parameters: depth: words, a power of two.
    """
    assert depth <= 64 and depth & (depth - 1) == 0, f"queue depth must be a power of two up to 64, not {depth}"
    width = len(d)
    memory = [Signal(intbv(0)[width:]) for _ in range(depth)]
    bits = index_bits(depth)
    write_pointer, read_pointer = unsigned(bits), unsigned(bits)
    count = unsigned(bits + 1)
    mask = depth - 1

    @always_comb
    def head():
        q.next = memory[read_pointer]
        valid.next = count != 0

    @always(clk.posedge)
    def pointers():
        if reset:
            write_pointer.next = 0
            read_pointer.next = 0
            count.next = 0
        else:
            if push:
                memory[write_pointer].next = d
                write_pointer.next = (write_pointer + 1) & mask
            if pop:
                read_pointer.next = (read_pointer + 1) & mask
            if push and not pop:
                count.next = count + 1
            elif pop and not push:
                count.next = count - 1

    return head, pointers
