"""Registered adder and maximum trees over the lanes of a row."""

from myhdl import Signal, always, block, intbv

from golden.formats import Z_BITS, Z_FRACTION
from hw.delay import delay
from hw.signals import signed


@block
def adder_tree(clk, lanes, total):
    """total = sum of the lanes (a list of 2**n unsigned signals). Latency: n cycles. Throughput: one a cycle."""
    if len(lanes) == 1:
        return delay(clk, lanes[0], total, 0)
    pairs = len(lanes) // 2
    width = len(lanes[0]) + 1
    sums = [Signal(intbv(0)[width:]) for _ in range(pairs)]

    @always(clk.posedge)
    def level():
        for pair in range(pairs):
            sums[pair].next = lanes[2 * pair] + lanes[2 * pair + 1]

    return level, adder_tree(clk, sums, total)


@block
def maximum_tree(clk, lanes, top):
    """top = largest of the lanes (a list of 2**n signed signals). Latency: n cycles. Throughput: one a cycle."""
    if len(lanes) == 1:
        return delay(clk, lanes[0], top, 0)
    pairs = len(lanes) // 2
    winners = [signed(len(lanes[0])) for _ in range(pairs)]

    @always(clk.posedge)
    def level():
        for pair in range(pairs):
            if lanes[2 * pair] > lanes[2 * pair + 1]:
                winners[pair].next = lanes[2 * pair]
            else:
                winners[pair].next = lanes[2 * pair + 1]

    return level, maximum_tree(clk, winners, top)


@block
def row_maximum(clk, z, visible, top):
    """Integer part of the row's largest visible z, doubled, plus 1 if it has a fraction: ceil(max) = (top + 1) >> 1.

    Comparing {integer part, fraction != 0} instead of whole z values halves the width of the comparators and loses
    nothing, since only the ceiling of the maximum is used.

    Latency: 1 + log2(lanes) cycles. Throughput: one a cycle. With no visible lane, top is the most negative value.

    Ports: clk; z: list of signed s20.12 lanes; visible: number of visible lanes, from lane 0; top: signed 21 bits.
    """
    count = len(z)
    key_bits = Z_BITS - Z_FRACTION + 1
    hidden = -(1 << (key_bits - 1))
    fraction_mask = (1 << Z_FRACTION) - 1
    keys = [signed(key_bits) for _ in range(count)]

    @always(clk.posedge)
    def reduce():
        for lane in range(count):
            if lane >= visible:
                keys[lane].next = hidden
            elif (z[lane] & fraction_mask) != 0:
                keys[lane].next = ((z[lane] >> Z_FRACTION) << 1) + 1
            else:
                keys[lane].next = (z[lane] >> Z_FRACTION) << 1

    return reduce, maximum_tree(clk, keys, top)
