"""Registered adder and maximum trees over the lanes of a row."""

from myhdl import always, always_comb, block, concat

from golden.formats import Z_BITS, Z_FRACTION
from hw.delay import delay
from hw.signals import copy, join, split, unsigned


@block
def adder_tree(clk, vector, total, lanes):
    """total = sum of the 2**n unsigned lanes of a packed vector. Latency: n cycles. Throughput: one a cycle."""
    instances, sums = [], split(vector, lanes)
    while len(sums) > 1:
        pairs = list(zip(sums[::2], sums[1::2], strict=True))
        sums = [unsigned(len(left) + 1) for left, _ in pairs]
        instances += [add(clk, left, right, result) for (left, right), result in zip(pairs, sums, strict=True)]
    return instances, delay(clk, sums[0], total, 0)


@block
def add(clk, left, right, result):
    """result = left + right, a cycle later."""

    @always(clk.posedge)
    def register():
        result.next = left + right

    return register


@block
def maximum_tree(clk, vector, top, lanes):
    """top = largest of the 2**n unsigned lanes of a packed vector. Latency: n cycles. Throughput: one a cycle."""
    instances, winners = [], split(vector, lanes)
    while len(winners) > 1:
        pairs = list(zip(winners[::2], winners[1::2], strict=True))
        winners = [unsigned(len(left)) for left, _ in pairs]
        instances += [larger(clk, left, right, winner) for (left, right), winner in zip(pairs, winners, strict=True)]
    return instances, delay(clk, winners[0], top, 0)


@block
def larger(clk, left, right, winner):
    """winner = the larger of two, a cycle later."""

    @always(clk.posedge)
    def compare():
        if left > right:
            winner.next = left
        else:
            winner.next = right

    return compare


@block
def row_maximum(clk, z, visible, top, lanes):
    """Integer part of the row's largest visible z, doubled, plus 1 if it has a fraction: ceil(max) = (top + 1) >> 1.

    Comparing {integer part, fraction != 0} instead of whole z values halves the width of the comparators and loses
    nothing, since only the ceiling of the maximum is used.

    Latency: 1 + log2(lanes) cycles. Throughput: one a cycle. With no visible lane, top is the most negative value.

    Ports: clk; z: `lanes` signed s20.12 values; visible: a bit a lane; top: signed 21 bits.
    """
    key_bits = Z_BITS - Z_FRACTION + 1
    sign = key_bits - 1
    keys, packed_keys = [unsigned(key_bits) for _ in range(lanes)], unsigned(lanes * key_bits)
    winner = unsigned(key_bits)
    instances = []
    for lane, value in enumerate(split(z, lanes)):
        own = unsigned(Z_BITS)
        instances += [copy(value, own), comparison_key(clk, own, visible(lane), keys[lane])]

    @always_comb
    def take():
        top.next = concat(not winner[sign], winner[sign:]).signed()

    return instances, join(keys, packed_keys), maximum_tree(clk, packed_keys, winner, lanes), take


@block
def comparison_key(clk, z, visible, key):
    """What row_maximum compares of one lane, 0 if it is hidden. The sign is inverted: unsigned keys have z's order."""
    sign = Z_BITS - 1

    @always(clk.posedge)
    def reduce():
        if visible:
            key.next = concat(not z[sign], z[sign:Z_FRACTION], z[Z_FRACTION:] != 0)
        else:
            key.next = 0

    return reduce
