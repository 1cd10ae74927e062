"""Room for rows in a buffer."""

from myhdl import Signal, always, always_comb, block

from hw.signals import wrapping


@block
def row_room(clk, reset, rows, take, freed, fits, wanted, capacity):
    """Whether the rows of the next pass fit into a buffer.

    Much depends on a pass: so what has become free counts a cycle later, and what the pass takes is worked out before
    it is known whether it goes.

    Latency: 3 cycles from freed to fits, 2 from take, 1 from rows. Throughput: a pass and freed rows every cycle, but
    a pass only where fits was right for it.

    Ports: clk; reset: the buffer is empty; rows: of the next pass; take: it goes, and they are in the buffer; freed:
    rows that leave it; fits: there is room for them (out); wanted: the pass needs it (None: all do).

    Parameters: capacity: rows.
    """
    free, later, less = (wrapping(capacity.bit_length()) for _ in range(3))
    left = Signal(freed.val)

    @always_comb
    def sums():
        later.next = free + left
        less.next = later - rows

    @always(clk.posedge)
    def count():
        if reset:
            free.next = capacity
            left.next = 0
        else:
            left.next = freed
            if take:
                free.next = less
            else:
                free.next = later

    if wanted is None:

        @always(clk.posedge)
        def compare():
            fits.next = rows <= free

    else:

        @always(clk.posedge)
        def compare():
            fits.next = rows <= free or not wanted

    return sums, count, compare
