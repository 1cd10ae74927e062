"""exp2 unit: p = 2**-(m - z)."""

from myhdl import always, always_comb, block

from golden.formats import EXP2_ZERO, P_BITS, Z_BITS, Z_FRACTION
from golden.tables import exp2_table
from hw.rom import rom
from hw.signals import bit, signed, unsigned


@block
def exp2(clk, maximum, z, visible, p):
    """One lane: p = half_up(T[f], k + 1) with x = m - z = k + f / 4096, and 0 from x = 18 or where not visible.

    Latency: 6 cycles (golden.latency.EXP2) from maximum and z, 5 from visible: subtract, table (block RAM and its
    flip-flop), shifter 3. Throughput: one a cycle. x is never negative for a visible key, since m is at least z.

    Ports: clk; maximum: signed 21 bits, an integer; z: signed 32 bits, s20.12; visible: one bit; p: UQ1.16.
    """
    x = signed(Z_BITS + 2)
    place, k = unsigned(Z_FRACTION - 1), unsigned(len(x) - Z_FRACTION)
    # The table's halves: choosing between block RAMs would stand in line with their slow outputs.
    upper, upper_read, upper_entry = bit(), bit(), bit()
    low_read, high_read, low_entry, high_entry, entry = (unsigned(P_BITS + 1) for _ in range(5))
    by_16, by_4 = unsigned(P_BITS + 1), unsigned(P_BITS + 1)
    k_read, k_entry, k_low = unsigned(5), unsigned(5), unsigned(3)
    k_last, half = bit(), bit()
    floor = unsigned(P_BITS)
    x_bits, k_bits = len(x), len(x) - Z_FRACTION

    @always(clk.posedge)
    def subtract():
        x.next = (maximum << Z_FRACTION) - z

    @always_comb
    def address():
        place.next = x[Z_FRACTION - 1 :]
        upper.next = x[Z_FRACTION - 1]
        k.next = x[x_bits:Z_FRACTION]

    @always(clk.posedge)
    def shift():
        # From 18 on, in so many words: a comparison would be a carry chain.
        if not visible or k[k_bits:5] != 0 or (k[4] and k[4:1] != 0):
            k_read.next = EXP2_ZERO
        else:
            k_read.next = k[5:]
        upper_read.next = upper
        upper_entry.next = upper_read
        low_entry.next = low_read
        high_entry.next = high_read
        k_entry.next = k_read
        if k_entry[4]:
            by_16.next = entry >> 16
        elif k_entry[3]:
            by_16.next = entry >> 8
        else:
            by_16.next = entry
        k_low.next = k_entry[3:]
        if k_low[2] and k_low[1]:
            by_4.next = by_16 >> 6
        elif k_low[2]:
            by_4.next = by_16 >> 4
        elif k_low[1]:
            by_4.next = by_16 >> 2
        else:
            by_4.next = by_16
        k_last.next = k_low[0]
        p.next = floor + half

    @always_comb
    def choose():
        if upper_entry:
            entry.next = high_entry
        else:
            entry.next = low_entry

    @always_comb
    def last_place():
        if k_last:
            floor.next = by_4[:2]
            half.next = by_4[1]
        else:
            floor.next = by_4[:1]
            half.next = by_4[0]

    table, half_size = exp2_table(), 1 << (Z_FRACTION - 1)
    return (
        subtract, address, choose, last_place, shift,
        rom(clk, place, low_read, table[:half_size], "exp2_low"),
        rom(clk, place, high_read, table[half_size:], "exp2_high"),
    )  # fmt: skip
