"""Output stage: O rows accumulated tile after tile, and divided by l with their last tile."""

from myhdl import always_comb, block, concat

from golden import latency
from golden.formats import RECIPROCAL_BITS
from hw.delay import Delays, delay, delay_lines
from hw.normalise import normalise
from hw.output_accumulator import output_accumulator
from hw.ram import ram
from hw.reciprocal import reciprocal, shift_bits
from hw.signals import bit, unsigned


@block
def output_stage(
    clk, reset, valid, index, chunk, last_chunk, last, run_end, act_row, act_shift, act_fresh, act_final,
    act_last_final, products, p_valid, p_final, p_index, total, maximum, seen, normalised, push, out_last_final,
    out_last_chunk, out_last, out_end, debug, config,
):  # fmt: skip
    """Accumulate the rows of P.V; a row that is final leaves normalised, without a visit to memory or a pass of its
    own.

    1/l is computed when softmax completes the row's last tile, and kept under the row's index in the P buffer until
    P.V gets there.

    Latency: index to push, FEED + array + ACCUMULATE + NORMALISE (golden.latency). Throughput: one row a cycle.

    Ports: clk, reset; valid, index, chunk, last_chunk, last (tile of its block), run_end (last tile of the
    run): row being read from the P buffer;
    act_*: its companions, FEED cycles later; products: the array's output; p_valid, p_final, p_index: row being
    written to the P buffer; total, maximum, seen: its state, tree + 1 cycles later; normalised (A 16-bit lanes),
    push, out_*: a finished chunk and its flags; debug: Debug.
    """
    array_latency = latency.array(config)
    instances = []

    later = Delays(clk, reset)

    # ---- 1/l of final rows, by index in the P buffer

    total_at = latency.tree(config) + latency.SUM
    final_total = bit()
    total_final = later(p_final, total_at)
    total_valid = later(p_valid, total_at, True)

    @always_comb
    def final_state():
        final_total.next = total_valid and total_final
        debug.valid.next = total_valid and total_final
        debug.maximum.next = 0
        debug.seen.next = False
        debug.total.next = 0
        if total_valid and total_final:
            debug.maximum.next = maximum
            debug.seen.next = seen
            if seen:
                debug.total.next = total

    inverse, normal_shift = unsigned(RECIPROCAL_BITS), unsigned(shift_bits(config))
    seen_at = RECIPROCAL_BITS + len(normal_shift)
    inverse_bits = seen_at + 1
    entry, stored, held = (unsigned(inverse_bits) for _ in range(3))
    held_inverse, held_shift, held_seen = unsigned(RECIPROCAL_BITS), unsigned(len(normal_shift)), bit()
    seen_late = later(seen, latency.RECIPROCAL)

    @always_comb
    def pack():
        entry.next = concat(seen_late, normal_shift, inverse)

    @always_comb
    def unpack():
        held_inverse.next = held[RECIPROCAL_BITS:]
        held_shift.next = held[seen_at:RECIPROCAL_BITS]
        held_seen.next = held[seen_at]

    # ---- O

    out_at = latency.FEED + array_latency
    o_at = out_at + latency.ACCUMULATE
    ahead = array_latency - latency.OUTPUT_READ_AHEAD
    accumulated = unsigned(config.array_depth * config.accumulator_bits)
    early_row = later(act_row, ahead)
    early_chunk = later(chunk, out_at - latency.OUTPUT_READ_AHEAD)
    out_valid = later(valid, out_at, True)
    finished = bit()
    final_o = later(act_final, array_latency + latency.ACCUMULATE)
    valid_o = later(out_valid, latency.ACCUMULATE, True)

    @always_comb
    def finish():
        finished.next = valid_o and final_o

    push_at = o_at + latency.NORMALISE
    later(act_last_final, push_at - latency.FEED, into=out_last_final)
    for flag, out_flag in ((last_chunk, out_last_chunk), (last, out_last), (run_end, out_end)):
        later(flag, push_at, into=out_flag)
    instances += [
        final_state,
        pack,
        unpack,
        finish,
        reciprocal(clk, total, inverse, normal_shift, config.element_bits),
        ram(
            clk,
            later(final_total, latency.RECIPROCAL, True),
            later(p_index, total_at + latency.RECIPROCAL),
            entry,
            later(index, o_at - 2),
            stored,
            config.p_rows,
        ),
        delay(clk, stored, held, 1),
        output_accumulator(
            clk,
            early_row,
            early_chunk,
            later(act_fresh, ahead + 1),
            later(act_shift, ahead + 1),
            products,
            later(early_row, latency.OUTPUT_READ_AHEAD),
            later(early_chunk, latency.OUTPUT_READ_AHEAD),
            out_valid,
            accumulated,
            config,
        ),
        normalise(clk, accumulated, held_shift, held_inverse, held_seen, normalised, config.array_depth),
        delay(clk, finished, push, latency.NORMALISE, reset),
    ]
    return instances, delay_lines(later)
