"""Row sequencer of Q.K^T: which query row meets which chunk of which tile, and when."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import QUERY_SLOTS
from hw.signals import bit, index_bits, place, signed, unsigned


@block
def score_sequencer(
    clk, reset, causal, chunks, tail_mask, tile, tile_valid, weights_ready, q_done, p_release, p_released,
    go, tile_pop, q_release, read_row, read_chunk, mask, valid, swap,
    row, first_chunk, last_chunk, pass_row, visible, start, row_final, last_final, config,
):  # fmt: skip
    """Stream the rows of a tile once for each chunk of the head dimension, as soon as weights, Q and room for p allow.

    Latency: go to the first row's read address, one cycle; a row a cycle from there. Throughput: no gap between
    passes of at least latency.ROW_LOOP rows whose weights are loaded; shorter ones are spaced so that a row comes
    again after ROW_LOOP cycles.

    Ports: clk, reset; causal, chunks, tail_mask: constant during a run; tile, tile_valid: next tile's TileRecord;
    weights_ready: see weight_feeder; q_done: a block of Q is in its bank; p_release, p_released: rows of the P
    buffer have become free; go: pass begins with the next cycle; tile_pop: with the go of a tile's last chunk;
    q_release: with that of a block's last tile; read_row, read_chunk, mask: Q buffer read port; with them valid,
    swap (first row of the pass), row, first_chunk, last_chunk, pass_row (first row of a last chunk), visible (keys
    of the tile that the row sees), start (the row's first tile), row_final (its last), last_final (last of the
    tile's final rows).
    """
    capacity, loop = config.p_rows, latency.ROW_LOOP
    all_elements = (1 << config.array_depth) - 1
    left = unsigned(len(tile.streamed))
    chunk, pass_chunk = (unsigned(index_bits(config.max_chunks)) for _ in range(2))
    p_free = unsigned(capacity.bit_length())
    q_ready = unsigned(QUERY_SLOTS.bit_length())
    bank, pass_bank = bit(), bit()
    idle = unsigned(loop.bit_length())
    last = bit()  # the pass that could go next is its tile's last chunk
    limit = signed(len(tile.diagonal) + 1)
    keys, final_end = unsigned(len(tile.keys)), unsigned(len(tile.first_row))
    row_bits, key_bits = len(row), len(visible)

    @always_comb
    def decide():
        last.next = chunk + 1 == chunks

    @always_comb
    def start_pass():
        go.next = (
            tile_valid
            and weights_ready
            and q_ready != 0
            and (not valid or left == 0)
            and idle + tile.streamed >= loop
            and (not last or tile.streamed <= p_free)
        )

    @always_comb
    def pops():
        tile_pop.next = go and last
        q_release.next = go and last and tile.last

    @always(clk.posedge)
    def passes():
        if reset:
            valid.next = False
            swap.next = False
            chunk.next = 0
            bank.next = False
            idle.next = loop
        else:
            if go:
                valid.next = True
                left.next = tile.streamed - 1
                row.next = tile.first_row[row_bits:]
                pass_chunk.next = chunk
                pass_bank.next = bank
                limit.next = tile.diagonal + tile.first_row
                keys.next = tile.keys
                final_end.next = tile.final_end
                start.next = tile.first
                first_chunk.next = chunk == 0
                last_chunk.next = last
                if last:
                    chunk.next = 0
                    if tile.last:
                        bank.next = not bank
                else:
                    chunk.next = chunk + 1
            elif valid and left != 0:
                left.next = left - 1
                row.next = row + 1
                limit.next = limit + 1
            else:
                valid.next = False
            swap.next = go
            # Cycles since the last row of a pass was read, 0 while rows are.
            if go or (valid and left != 0):
                idle.next = 0
            elif idle < loop:
                idle.next = idle + 1

    @always(clk.posedge)
    def room():
        if reset:
            p_free.next = capacity
            q_ready.next = 0
        else:
            if tile_pop and p_release:
                p_free.next = p_free + p_released - tile.streamed
            elif tile_pop:
                p_free.next = p_free - tile.streamed
            elif p_release:
                p_free.next = p_free + p_released
            if q_done and not q_release:
                q_ready.next = q_ready + 1
            elif q_release and not q_done:
                q_ready.next = q_ready - 1

    @always_comb
    def read():
        read_chunk.next = pass_chunk
        if pass_chunk + 1 == chunks:
            mask.next = tail_mask
        else:
            mask.next = all_elements
        pass_row.next = swap and last_chunk
        row_final.next = row < final_end
        last_final.next = row + 1 == final_end

    @always_comb
    def count_visible():
        if causal and limit < 1:
            visible.next = 0
        elif causal and limit < keys:
            visible.next = limit[key_bits:]
        else:
            visible.next = keys

    instances = [place(pass_bank, row, read_row)]
    return instances, decide, start_pass, pops, passes, room, read, count_visible
