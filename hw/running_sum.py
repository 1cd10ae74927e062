"""Running row sum of the online softmax."""

from myhdl import always, block

from hw.ram import ram
from hw.shifter import shifter
from hw.signals import bit, index_bits, signed, unsigned


@block
def running_sum(clk, read_row, row, valid, fresh, shift, addend, total, rows):
    """l = half_up(l_old >> shift) + addend for a row, with l_old = 0 where fresh.

    Latency: read_row at t, fresh at t+1, shift at t+2, addend, row and valid at t+5, total at t+6 (golden.latency.SUM
    after the addend). Throughput: one row a cycle; a row may come again after 7 cycles.

    Ports: clk; read_row, row: the same row, early and with its addend; valid: write l back; fresh, shift: see
    running_maximum; addend: sum of the row's p of this tile; total: l, 16 fraction bits.

    Parameters: rows: rows held.
    """
    bits = len(total)
    stored = unsigned(bits)
    # No sign and no carry beyond l's width: `shifted` without the sign that the shifter works with.
    old, shifted = signed(bits + 1), signed(bits + 1)
    write, write_row = bit(), unsigned(index_bits(rows))

    @always(clk.posedge)
    def clear():
        if fresh:
            old.next = 0
        else:
            old.next = stored

    @always(clk.posedge)
    def add():
        total.next = shifted[bits + 1 : 1] + addend + shifted[0]
        write.next = valid
        write_row.next = row

    return (
        ram(clk, write, write_row, total, read_row, stored, rows),
        clear,
        shifter(clk, old, shift, shifted),
        add,
    )
