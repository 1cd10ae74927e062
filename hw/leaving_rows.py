"""What leaves for memory: finished chunks of O, and with the NAIVE schedule rows of S and P, on one way."""

from myhdl import always_comb, block

from golden import latency
from hw.delay import Delays, delay_lines
from hw.scratch_row import scratch_row
from hw.signals import bit, unsigned


class OutputFlags:
    """Of a finished chunk of O; see hw.writer.Leaving."""

    def __init__(self):
        self.last_final, self.last_chunk, self.last, self.end = (bit() for _ in range(4))


@block
def leaving_rows(
    clk, reset, tail_elements, normalised, output_push, finished, scored, store_s, z, z_out_of_range, visible, s_keys,
    s_last, store_p, p, p_keys, p_last, push, leaving, out_of_range, config,
):  # fmt: skip
    """Hand chunks of O on as they come, and rows of S and P after they have got their formats.

    O and rows of S and P never come in the same cycle, since NAIVE's phases wait for each other.

    Latency: output_push to push, none; z or p to push, 2 cycles (golden.latency.SCRATCH). Throughput: one a cycle.

    Ports: clk, reset; tail_elements: of the last chunk of O; normalised, output_push, finished: a chunk of O (A lanes
    of 16 bits) and its OutputFlags; scored: a row of z (C lanes s20.9) has been computed, store_s: and is stored as S,
    with z_out_of_range and visible (a bit a lane), s_keys (keys of its tile) and s_last (last row of its block);
    store_p: a row of p (C lanes UQ1.16) is stored as P, with p_keys and p_last; push, leaving: Leaving; out_of_range:
    lanes that did not fit, all 0 where there is no row of z.
    """
    depth, lanes = config.array_depth, config.array_keys
    row, s_out_of_range = unsigned(16 * lanes), unsigned(lanes)
    later = Delays(clk, reset)
    pushed_s, pushed_p = later(store_s, latency.SCRATCH, True), later(store_p, latency.SCRATCH, True)
    keys_s, keys_p = later(s_keys, latency.SCRATCH), later(p_keys, latency.SCRATCH)
    last_s, last_p = later(s_last, latency.SCRATCH), later(p_last, latency.SCRATCH)
    flash_row, flash_out_of_range = bit(), later(z_out_of_range, 1)
    flash_row_1, stored_1 = later(flash_row, 1, True), later(store_s, 1, True)

    @always_comb
    def kind():
        flash_row.next = scored and not store_s

    @always_comb
    def fit():
        if flash_row_1:
            out_of_range.next = flash_out_of_range
        elif stored_1:
            out_of_range.next = s_out_of_range
        else:
            out_of_range.next = 0

    @always_comb
    def choose():
        push.next = output_push or pushed_s or pushed_p
        leaving.stored.next = not output_push
        leaving.stored_p.next = pushed_p
        leaving.last_chunk.next = finished.last_chunk
        leaving.last_final.next = finished.last_final
        leaving.end.next = finished.end
        if output_push:
            leaving.lanes.next = normalised
            leaving.last.next = finished.last
            if finished.last_chunk:
                leaving.elements.next = tail_elements
            else:
                leaving.elements.next = depth
        else:
            leaving.lanes.next = row
            if pushed_s:
                leaving.elements.next = keys_s
                leaving.last.next = last_s
            else:
                leaving.elements.next = keys_p
                leaving.last.next = last_p

    return (
        kind,
        fit,
        choose,
        scratch_row(clk, z, store_s, visible, p, row, s_out_of_range, lanes),
        delay_lines(later),
    )
