"""Row sequencer of P.V: which probability row meets which chunk of V, and when."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import log2_ceil
from hw.queue import queue
from hw.row_room import row_room
from hw.signals import bit, join, unsigned, wrapping

TILES = 16  # that softmax may be ahead of P.V: K runs at most the V buffer's eight tiles and the arrays' two ahead


@block
def value_sequencer(
    clk, reset, chunks, tile_push, tile_rows, tile_finals, tile_idle, tile_last, tile_end, p_started, weights_ready,
    output_pop, go, p_release, p_released, read_index, valid, swap, chunk, last_chunk, last, run_end, config,
):  # fmt: skip
    """Stream the p rows of a tile once for each chunk of the value dimension, as soon as V and p are there.

    Latency: go to the first row's read index, one cycle; a row a cycle from there, never faster than softmax writes
    them. Throughput: as score_sequencer. A pass with final rows waits for room in the output queue.

    Ports: clk, reset; chunks: constant during a run; tile_push, tile_rows, tile_finals, tile_idle, tile_last, tile_end:
    a tile has gone into softmax, with that many rows streamed, of which so many are final; cycles to leave free before
    it; whether it is the last of its block and of the run; p_started: the first row of a tile may be read from the P
    buffer; weights_ready: see weight_feeder; output_pop: the output queue has given up a row; go: pass begins with the
    next cycle; p_release, p_released: the tile's rows are being read for the last time; read_index: P buffer read port;
    with it valid, swap (first row of the pass), chunk, last_chunk, last, run_end (tile_last, tile_end).
    """
    depth, loop = config.p_rows, latency.ROW_LOOP
    row_bits, idle_bits = len(tile_rows), len(tile_idle)
    flags_at, entry_bits = 2 * row_bits + idle_bits, 2 * row_bits + idle_bits + 2
    record, head = unsigned(entry_bits), unsigned(entry_bits)
    tile_valid, pop = bit(), bit()
    rows, finals = unsigned(row_bits), unsigned(row_bits)
    left = wrapping(row_bits)  # rows of the pass that follow; of no importance without a tile
    # What a go depends on is worked out a cycle ahead, since much depends on it: not in the cycle after a go.
    free, at_first, at_last, fits, just_gone, may_begin, one_row = (bit() for _ in range(7))
    chunk_idle = unsigned(idle_bits)  # cycles to leave free before another pass of the same tile
    head_last, head_end, head_idle = bit(), bit(), unsigned(idle_bits)
    need, next_chunk = unsigned(idle_bits), unsigned(len(chunks))
    base, index = wrapping(log2_ceil(depth)), wrapping(log2_ceil(depth))
    started = unsigned(TILES.bit_length())
    idle = unsigned(loop.bit_length())

    @always_comb
    def unpack():
        rows.next = head[row_bits:]
        finals.next = head[2 * row_bits : row_bits]
        head_idle.next = head[flags_at : 2 * row_bits]
        head_last.next = head[flags_at]
        head_end.next = head[flags_at + 1]
        read_index.next = index

    @always_comb
    def spacing():
        if at_first:
            need.next = head_idle
        else:
            need.next = chunk_idle

    @always_comb
    def start_pass():
        go.next = tile_valid and weights_ready and free and may_begin and fits and not just_gone

    @always(clk.posedge)
    def ahead():
        one_row.next = rows == 1
        # No go follows in the next cycle, so nothing here waits for it. Of a tile, the first row must be there.
        may_begin.next = ((free and idle + 1 >= need) or need == 0) and (not at_first or p_started or started != 0)
        if rows < loop:
            chunk_idle.next = loop - rows[idle_bits:]
        else:
            chunk_idle.next = 0
        if not go:
            at_last.next = next_chunk + 1 == chunks
        elif at_last:
            at_last.next = chunks == 1
        else:
            at_last.next = next_chunk + 2 == chunks
        if reset:
            at_first.next = True
            just_gone.next = False
        else:
            just_gone.next = go
            if go:
                at_first.next = at_last

    @always_comb
    def release():
        pop.next = go and at_last
        p_release.next = go and at_last
        p_released.next = rows

    @always(clk.posedge)
    def passes():
        if reset:
            valid.next = False
            free.next = True
            swap.next = False
            next_chunk.next = 0
            base.next = 0
            idle.next = loop
        else:
            if free:
                # Whatever comes next, if it does: without go it is not valid.
                valid.next = go
                free.next = not go or one_row
            else:
                free.next = left == 1
            if go:
                if at_last:
                    next_chunk.next = 0
                    base.next = base + rows
                else:
                    next_chunk.next = next_chunk + 1
            swap.next = go
            if go or not free:
                idle.next = 0
            elif idle < loop:
                idle.next = idle + 1

    @always(clk.posedge)
    def rows_of_pass():
        if free:
            left.next = rows - 1
            index.next = base
            chunk.next = next_chunk
            last_chunk.next = at_last
            last.next = head_last
            run_end.next = head_end
        else:
            left.next = left - 1
            index.next = index + 1

    @always(clk.posedge)
    def account():
        if reset:
            started.next = 0
        else:
            if p_started and not (go and at_first):
                started.next = started + 1
            elif go and at_first and not p_started:
                started.next = started - 1

    return (
        join([tile_rows, tile_finals, tile_idle, tile_last, tile_end], record),
        queue(clk, reset, tile_push, record, pop, head, tile_valid, TILES),
        unpack,
        spacing,
        start_pass,
        ahead,
        release,
        passes,
        rows_of_pass,
        account,
        row_room(clk, reset, finals, go, output_pop, fits, None, config.output_rows),
    )
