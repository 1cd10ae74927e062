"""Credit for the buffers of one operand."""

from myhdl import always, block

from hw.signals import bit, unsigned


@block
def buffer_credit(clk, reset, overlap, take, freed, room, slots):
    """Whether one of `slots` buffers is free; without overlap, whether all are.

    Latency: a cycle from take or freed to room. Throughput: one of each a cycle.

    Ports: clk; reset: all are free; overlap: constant while one is taken; take: one is being filled from now on, only
    while there is room; freed: one has become free; room: a register, since what is decided with it takes long.

    Parameters: slots: buffers.
    """
    used = unsigned(slots.bit_length())
    last = bit()  # one is left

    @always(clk.posedge)
    def count():
        if reset:
            used.next = 0
            last.next = slots == 1
            room.next = True
        elif take and not freed:
            used.next = used + 1
            last.next = used + 2 == slots
            room.next = overlap and not last
        elif freed and not take:
            used.next = used - 1
            last.next = used == slots
            room.next = overlap or used == 1

    return count
