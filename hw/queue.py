"""Small first-word-fall-through queue for records between controllers."""

from myhdl import Signal, always, always_comb, block, intbv

from hw.signals import bit, index_bits, unsigned, wrapping


@block
def queue(clk, reset, push, d, pop, q, valid, depth):
    """Queue of at most 64 words in distributed RAM; q, a register, is its oldest word while valid.

    Latency: push at cycle t shows at t+1. Throughput: one push and one pop a cycle. The users never push when it is
    full (each has credits for what it may have under way) and never pop unless valid.

    Ports: clk, reset; push, d; pop, q, valid.

    Parameters: depth: words, a power of two.
    """
    assert 2 <= depth <= 64 and depth & (depth - 1) == 0, f"queue depth must be a power of two, 2 to 64, not {depth}"
    width = len(d)
    memory = [Signal(intbv(0)[width:]) for _ in range(depth)]
    bits = index_bits(depth)
    write_pointer, read_pointer = wrapping(bits), wrapping(bits)
    count, alone = unsigned(bits + 1), bit()  # alone: count is 1
    following = unsigned(width)  # the word after the head; read_pointer is its place

    @always_comb
    def after_head():
        following.next = memory[read_pointer]

    @always(clk.posedge)
    def head():
        if push and (not valid or (pop and alone)):
            q.next = d
        elif pop:
            q.next = following

    @always(clk.posedge)
    def pointers():
        if reset:
            write_pointer.next = 0
            read_pointer.next = 1
            count.next = 0
            valid.next = False
            alone.next = False
        else:
            if push:
                memory[write_pointer].next = d
                write_pointer.next = write_pointer + 1
            if pop:
                read_pointer.next = read_pointer + 1
            if push and not pop:
                count.next = count + 1
                valid.next = True
                alone.next = not valid
            elif pop and not push:
                count.next = count - 1
                valid.next = not alone
                alone.next = count == 2

    return after_head, head, pointers
