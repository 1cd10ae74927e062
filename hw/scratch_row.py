"""Rows of S and P on their way to memory, and the scores that did not fit."""

from myhdl import always, always_comb, block

from golden.formats import P_BITS
from golden.naive import P_LIMIT, S_BITS
from hw.signals import bit, copy, join, signed, split, to_signed, unsigned, wrapping


@block
def scratch_row(clk, z, take_s, visible, p, lanes_out, out_of_range, lanes):
    """lanes_out = S = saturate(half_up(z >> 1)) as s8.8 of each lane, or P = min(p, 65535/65536) as UQ0.16.

    Latency: z to lanes_out, and p to lanes_out, 2 cycles (golden.latency.SCRATCH); to out_of_range 1. Throughput: one
    row a cycle, of S or of P.

    Ports: clk; z: C lanes s20.9, one bit more than S has after the point; take_s: with z, it is stored;
    visible: with z, a bit a lane; p: C lanes UQ1.16; lanes_out: C lanes of 16 bits; out_of_range: lanes of z that are
    visible and do not fit.
    """
    s_lanes, p_lanes = ([unsigned(S_BITS) for _ in range(lanes)] for _ in range(2))
    over = [bit() for _ in range(lanes)]
    s_row, p_row, took_s = unsigned(lanes * S_BITS), unsigned(lanes * S_BITS), bit()
    instances = [join(s_lanes, s_row), join(p_lanes, p_row), join(over, out_of_range)]
    for lane, (z_lane, p_lane) in enumerate(zip(split(z, lanes), split(p, lanes), strict=True)):
        value, own_p = signed(len(z_lane)), unsigned(P_BITS)
        instances += [
            copy(p_lane, own_p),
            to_signed(z_lane, value),
            to_s(clk, value, visible(lane), s_lanes[lane], over[lane]),
            to_p(clk, own_p, p_lanes[lane]),
        ]

    @always(clk.posedge)
    def choose():
        took_s.next = take_s
        if took_s:
            lanes_out.next = s_row
        else:
            lanes_out.next = p_row

    return instances, choose


@block
def to_s(clk, z, visible, s, over):
    """The bits of S, a cycle later."""
    bits, sign_bit = len(z), S_BITS - 1
    # Only the bits of S are added up; see hw.scale.round_and_saturate.
    rounded, beyond = wrapping(S_BITS), bit()
    top, bottom, ones = (1 << sign_bit) - 1, 1 << sign_bit, (1 << (bits - 1 - S_BITS)) - 1

    @always_comb
    def half_up():
        rounded.next = z[S_BITS + 1 : 1] + z[0]

    @always_comb
    def judge():
        if z[S_BITS] or rounded[sign_bit]:
            beyond.next = z[bits : S_BITS + 1] != ones
        else:
            beyond.next = z[bits : S_BITS + 1] != 0

    @always(clk.posedge)
    def saturate():
        over.next = visible and beyond
        if not beyond:
            s.next = rounded
        elif z[bits - 1]:
            s.next = bottom
        else:
            s.next = top

    return half_up, judge, saturate


@block
def to_p(clk, p, clipped):
    """P, a cycle later."""
    one = P_BITS - 1

    @always(clk.posedge)
    def clip():
        if p[one]:
            clipped.next = P_LIMIT
        else:
            clipped.next = p[one:]

    return clip
