"""Credit for the buffers of one operand."""

from myhdl import always, always_comb, block

from hw.signals import bit, unsigned


@block
def buffer_credit(clk, reset, overlap, take, freed, room, slots):
    """Whether one of `slots` buffers will be free; without overlap, whether all will.

    Latency: none from freed to room, a cycle from take. Throughput: a buffer a cycle becomes free; one is taken every
    second cycle.

    Ports: clk; reset: all are free; overlap: constant while one is taken; take: one is being filled from now on, only
    while there is room; freed: one has become free; room: there is some in the next cycle, not in the one of a take.

    Parameters: slots: buffers.
    """
    used = unsigned(slots.bit_length())
    last = bit()  # one is left
    now = bit()  # there is room in this cycle

    @always_comb
    def ahead():
        if freed:
            room.next = overlap or used == 1
        else:
            room.next = now

    @always(clk.posedge)
    def count():
        if reset:
            used.next = 0
            last.next = slots == 1
            now.next = True
        elif take and not freed:
            used.next = used + 1
            last.next = used + 2 == slots
            now.next = overlap and not last
        elif freed and not take:
            used.next = used - 1
            last.next = used == slots
            now.next = overlap or used == 1

    return ahead, count
