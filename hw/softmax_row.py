"""Online-softmax row pipeline: scores in, probabilities out, one row of a tile a cycle."""

from myhdl import always_comb, block

from golden import latency
from golden.formats import MAX_BITS, P_BITS, SHIFT_BITS, Z_BITS
from hw.delay import Delays, delay
from hw.exp2 import exp2
from hw.running_maximum import running_maximum
from hw.running_sum import running_sum
from hw.scale import scale
from hw.signals import any_of, bit, join, signed, split, to_signed, unsigned
from hw.trees import adder_tree, row_maximum


@block
def softmax_row(
    clk, reset, valid, s, row, start, visible, mantissa, shift,
    p, p_valid, p_row, p_shift, p_fresh, total, total_maximum, total_seen, saturated, config,
):  # fmt: skip
    """Turn a row of scores into p = 2**(z - m), m the running integer maximum, and keep m and l of each row.

    Latency: s to p, golden.latency.softmax; p to total, the levels of the adder tree + 1. Throughput: one row a cycle,
    never stalls; a row may come again after 6 cycles.

    Ports: clk, reset; valid, s (C signed scores), row, start (the row's first tile), visible (keys of the tile that
    the row sees, from lane 0): together; mantissa, shift: score scale, constant during a run; p: C lanes UQ1.16,
    with p_valid, p_row, p_shift (rescale of l and O) and p_fresh (the row saw no key before: replace instead of
    rescale); total (l), total_maximum (m), total_seen: state of the row after this tile; saturated: with p_valid, a
    visible score of the row left the range of z.
    """
    lanes = config.array_keys
    tree = latency.tree(config)
    top_at = latency.SCALE + latency.CEIL_KEY + tree
    maximum_at = top_at + latency.MAXIMUM
    shift_at = maximum_at + 2
    p_at = latency.softmax(config)
    sum_at = p_at + tree

    instances = []

    later = Delays(clk, reset)

    z = [signed(Z_BITS) for _ in range(lanes)]
    packed_z = unsigned(lanes * Z_BITS)
    z_late = [signed(Z_BITS) for _ in range(lanes)]
    over = [bit() for _ in range(lanes)]
    over_visible = [bit() for _ in range(lanes)]
    probabilities = [unsigned(P_BITS) for _ in range(lanes)]
    top, maximum = signed(MAX_BITS), signed(MAX_BITS)
    rescale, fresh, seen = unsigned(SHIFT_BITS), bit(), bit()
    any_visible = bit()

    visible_z = later(visible, latency.SCALE)
    visible_exp2 = later(visible_z, maximum_at + 1 - latency.SCALE)
    row_top = later(row, top_at)
    start_top = later(start, top_at)
    visible_top = later(visible_z, top_at - latency.SCALE)
    valid_top = bit()

    @always_comb
    def sees():
        any_visible.next = visible_top != 0

    for lane, score in enumerate(split(s, lanes)):
        value = signed(config.score_bits)
        instances += [
            to_signed(score, value),
            scale(clk, value, mantissa, shift, z[lane], over[lane]),
            delay(clk, z[lane], z_late[lane], maximum_at - latency.SCALE),
            lane_visible(over[lane], visible_z, over_visible[lane], lane),
            exp2_lane(clk, maximum, z_late[lane], visible_exp2, probabilities[lane], lane),
        ]
    any_over = bit()
    total_addend = unsigned(P_BITS + tree)
    instances += [
        sees,
        delay(clk, valid, valid_top, top_at, reset),
        join(z, packed_z),
        row_maximum(clk, packed_z, visible_z, top, lanes),
        running_maximum(
            clk, top, row_top, start_top, valid_top, any_visible, maximum, rescale, fresh, seen, config.max_rows
        ),
        join(probabilities, p),
        delay(clk, valid_top, p_valid, p_at - top_at, reset),
        delay(clk, row_top, p_row, p_at - top_at),
        delay(clk, rescale, p_shift, p_at - shift_at),
        delay(clk, fresh, p_fresh, p_at - shift_at),
        any_of(over_visible, any_over),
        delay(clk, any_over, saturated, p_at - latency.SCALE),
        adder_tree(clk, p, total_addend, lanes),
        running_sum(
            clk,
            later(row_top, sum_at - 4 - top_at),
            later(p_row, tree),
            later(p_valid, tree),
            later(fresh, sum_at - 3 - shift_at),
            later(rescale, sum_at - 3 - shift_at),
            total_addend,
            total,
            config.max_rows,
        ),
        delay(clk, maximum, total_maximum, sum_at + latency.SUM - maximum_at),
        delay(clk, seen, total_seen, sum_at + latency.SUM - shift_at),
    ]
    return instances, [delay(*line) for line in later.lines]


@block
def lane_visible(value, visible, masked, lane):
    """masked = value where the lane is visible. Combinational."""

    @always_comb
    def gate():
        masked.next = value and visible > lane

    return gate


@block
def exp2_lane(clk, maximum, z, visible, p, lane):
    """exp2 with the lane's own visibility."""
    shown = bit()

    @always_comb
    def gate():
        shown.next = visible > lane

    return gate, exp2(clk, maximum, z, shown, p)
