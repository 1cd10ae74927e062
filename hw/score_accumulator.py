"""Partial-sum accumulator of Q.K^T for head dimensions of more than one chunk."""

from myhdl import always, block

from hw.ram import ram
from hw.signals import bit, index_bits, join, signed, split, unsigned


@block
def score_accumulator(clk, partial, early_row, row, first, valid, s, config):
    """s = partial + what earlier chunks of the row summed up to (nothing for the first chunk).

    Latency: early_row at t-2, partial and the rest at t, s at t+1 (golden.latency.SCORE_SUM). Throughput: one row a
    cycle; a row may come again after 4 cycles.

    Ports: clk; partial: C signed lanes of the array; early_row, row: the same row, early and with its partial; first:
    first chunk, one cycle before partial; valid: with partial; s: C signed lanes of config.score_bits.
    """
    lanes = config.array_keys
    bits = config.score_bits
    write, write_row = bit(), unsigned(index_bits(config.max_rows))
    stored, earlier = unsigned(lanes * bits), unsigned(lanes * bits)
    sums = [signed(bits) for _ in range(lanes)]

    @always(clk.posedge)
    def registers():
        if first:
            earlier.next = 0
        else:
            earlier.next = stored
        write.next = valid
        write_row.next = row

    instances = [
        registers,
        ram(clk, write, write_row, s, early_row, stored, config.max_rows),
        join(sums, s),
    ]
    for lane, (addend, old) in enumerate(zip(split(partial, lanes), split(earlier, lanes), strict=True)):
        instances.append(add_lane(clk, addend, old, sums[lane]))
    return instances


@block
def add_lane(clk, addend, old, total):
    """total = addend + old, both slices of signed lanes. One cycle."""

    @always(clk.posedge)
    def add():
        total.next = addend.signed() + old.signed()

    return add
