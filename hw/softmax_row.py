"""Online-softmax row pipeline: scores in, probabilities out, one row of a tile a cycle."""

from myhdl import always_comb, block

from golden import latency
from golden.formats import MAX_BITS, P_BITS, SHIFT_BITS, Z_BITS
from golden.naive import S_BITS, S_SHIFT
from hw.delay import Delays, delay, delay_lines
from hw.ring import ring
from hw.running_maximum import running_maximum
from hw.running_sum import running_sum
from hw.signals import bit, join, signed, split, to_signed, unsigned
from hw.softmax_lanes import exp2_lanes, scale_lanes
from hw.trees import adder_tree, row_maximum


@block
def softmax_row(
    clk, reset, valid, s, row, start, visible, mantissa, shift, replayed, keeps_maximum, replayed_p, stored_s, stored_p,
    scored, out_of_range, p, p_valid, p_row, p_shift, p_fresh, total, total_maximum, total_seen, config,
):  # fmt: skip
    """Turn a row of scores into p = 2**(z - m), m the running integer maximum, and keep m and l of each row.

    Latency: s to p, golden.latency.softmax; p to total, the levels of the adder tree + 1. Throughput: one row
    in config.row_cycles, never stalls; a row may come again after 7 cycles.

    Rows of S and P that come back from memory take the same way: S in place of z, P in place of p.

    Ports: clk, reset; valid, s (C signed scores), row, start (the row's first tile), visible (a bit for each key of the
    tile: the row sees it): together; mantissa, shift: score scale, constant during a run; replayed, replayed_p: with s,
    the row is one of S or P, one of P; keeps_maximum: m is known, and so is whether the row sees a key; stored_s: C
    lanes s8.8 of S, golden.latency.scale after s; stored_p: C lanes UQ0.16 of P, with p; scored (C lanes s20.9, z
    without its last bits), out_of_range (a bit a lane: visible, and saturated): what became of s then; p: C lanes
    UQ1.16, with p_valid, p_row, p_shift (rescale of l and O) and p_fresh (replace l and O instead of rescaling them);
    total (l), total_maximum (m), total_seen: state of the row after this tile.
    """
    lanes = config.array_keys
    tree = latency.tree(config)
    z_at = latency.scale(config)
    top_at = z_at + latency.CEIL_KEY + tree
    maximum_at = top_at + latency.MAXIMUM
    shift_at = maximum_at + 2
    p_at = latency.softmax(config)
    sum_at = p_at + tree

    instances = []

    later = Delays(clk, reset)

    z = [signed(Z_BITS) for _ in range(lanes)]
    used, packed_z = [signed(Z_BITS) for _ in range(lanes)], unsigned(lanes * Z_BITS)
    z_late, packed_late = [signed(Z_BITS) for _ in range(lanes)], unsigned(lanes * Z_BITS)
    over = [bit() for _ in range(lanes)]
    over_visible = [bit() for _ in range(lanes)]
    computed, probabilities = ([unsigned(P_BITS) for _ in range(lanes)] for _ in range(2))
    top, maximum = signed(MAX_BITS), signed(MAX_BITS)
    rescale, fresh, seen = unsigned(SHIFT_BITS), bit(), bit()
    any_visible, restart, replace = bit(), bit(), bit()

    visible_z = later(visible, z_at)
    visible_maximum = later(visible_z, maximum_at - z_at)
    early_row = later(row, top_at - 1)
    row_top = later(early_row, 1)
    visible_p = later(visible_maximum, p_at - maximum_at)
    start_top, keeps_top = later(start, top_at), later(keeps_maximum, top_at)
    replayed_z = later(replayed, z_at)
    start_shift, keeps_shift = later(start_top, shift_at - top_at), later(keeps_top, shift_at - top_at)
    replayed_p_p = later(replayed_p, p_at)
    visible_top = later(visible_z, top_at - z_at)
    valid_top, valid_maximum = bit(), None
    if config.row_cycles > 1:
        valid_maximum = later(valid_top, latency.MAXIMUM, True)

    @always_comb
    def sees():
        any_visible.next = visible_top != 0 and not keeps_top
        restart.next = start_top and not keeps_top
        # With m known, a row is summed up anew.
        replace.next = (fresh and not keeps_shift) or (start_shift and keeps_shift)

    s_lanes, p_lanes, late_lanes = split(stored_s, lanes), split(stored_p, lanes), split(packed_late, lanes)
    for lane in range(lanes):
        instances += [
            choose_s(replayed_z, s_lanes[lane], z[lane], used[lane]),
            to_signed(late_lanes[lane], z_late[lane]),
            gate(over[lane], visible_z(lane), over_visible[lane]),
            choose_p(replayed_p_p, p_lanes[lane], visible_p(lane), computed[lane], probabilities[lane]),
        ]
    total_addend = unsigned(P_BITS + tree)
    later(row_top, p_at - top_at, into=p_row)
    later(rescale, p_at - shift_at, into=p_shift)
    later(replace, p_at - shift_at, into=p_fresh)
    later(maximum, sum_at + latency.SUM - maximum_at, into=total_maximum)
    later(seen, sum_at + latency.SUM - shift_at, into=total_seen)
    instances += [
        sees,
        scale_lanes(clk, valid, s, mantissa, shift, z, over, config),
        exp2_lanes(clk, valid_maximum, maximum, z_late, visible_maximum, computed, config),
        delay(clk, valid, valid_top, top_at, reset),
        join([value(Z_BITS, S_SHIFT - 1) for value in z], scored),
        join(used, packed_z),
        ring(clk, reset, packed_z, packed_late, maximum_at - z_at),
        join(over_visible, out_of_range),
        row_maximum(clk, packed_z, visible_z, top, lanes),
        running_maximum(
            clk, early_row, top, row_top, restart, valid_top, any_visible, maximum, rescale, fresh, seen,
            config.max_rows,
        ),
        join(probabilities, p),
        delay(clk, valid_top, p_valid, p_at - top_at, reset),
        adder_tree(clk, p, total_addend, lanes),
        running_sum(
            clk,
            later(row_top, sum_at - 5 - top_at),
            later(p_row, tree),
            later(p_valid, tree),
            later(replace, sum_at - 4 - shift_at),
            later(rescale, sum_at - 3 - shift_at),
            total_addend,
            total,
            config.max_rows,
        ),
    ]
    return instances, delay_lines(later)


@block
def gate(value, shown, masked):
    """masked = value where shown. Combinational."""

    @always_comb
    def both():
        masked.next = value and shown

    return both


@block
def choose_s(replayed, stored, z, used):
    """used = S from memory, with 12 fraction bits instead of 8, or z. Combinational."""
    s = signed(S_BITS)

    @always_comb
    def choose():
        if replayed:
            used.next = s << S_SHIFT
        else:
            used.next = z

    return to_signed(stored, s), choose


@block
def choose_p(replayed, stored, shown, computed, p):
    """p = P from memory, where there is a key, or 2**-x. Combinational."""

    @always_comb
    def choose():
        if not replayed:
            p.next = computed
        elif shown:
            p.next = stored
        else:
            p.next = 0

    return choose
