"""Row sequencer of Q.K^T and of S and P from memory: which row meets which tile, and when."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import QUERY_SLOTS, SCRATCH_SLOTS
from hw.delay import delay
from hw.row_room import row_room
from hw.signals import bit, index_bits, place, signed, unsigned, wrapping
from hw.tile_walker import EXP, FLASH, SCORES, VALUES


class RowFlags:
    """What accompanies a row of a tile, from its read on."""

    def __init__(self, row_bits, limit_bits, key_bits):
        self.row = unsigned(row_bits)
        self.start, self.final = bit(), bit()  # its first tile, its last one
        self.last_final = bit()  # last of its tile's final rows
        self.replayed = bit()  # comes from memory, as S or P, instead of from Q.K^T
        self.replayed_p = bit()  # as P
        self.keeps_maximum = bit()  # m is known
        self.to_values = bit()  # its p goes on to P.V
        self.to_memory = bit()  # its S or P goes to memory
        self.stored_p = bit()  # as P
        self.last_stored = bit()  # the last one of its block
        self.limit, self.keys = signed(limit_bits), unsigned(key_bits)  # keys up to its position; keys of the tile


@block
def score_sequencer(
    clk, reset, run, tile, tile_valid, weights_ready, q_done, s_done, p_release, p_released, stored,
    go_scores, tile_pop, value_tile, q_release, s_release, read_row, read_chunk, mask, s_row, valid, scored, swap,
    first_chunk, last_chunk, pass_row, row,
    config,
):  # fmt: skip
    """Stream the rows of a tile once for each chunk of the head dimension, as soon as weights, Q and room for p allow;
    rows of S or P once, as soon as they are there.

    Latency: a cycle from a tile to the earliest go; go to the first row's read address, one cycle; a row a cycle from
    there. Throughput: no gap between passes of at least latency.ROW_LOOP rows whose weights are loaded; shorter ones,
    and tiles that share fewer rows with the one before, are spaced so that a row comes again after ROW_LOOP cycles.

    Ports: clk, reset; run: Run; tile, tile_valid: next tile's TileRecord, until tile_pop; weights_ready: see
    weight_feeder; q_done: a block of Q is in its bank; s_done: a tile of S or P is in its slot; p_release, p_released:
    rows of the P buffer have become free; stored: a row of S or P has left for memory; go_scores: a pass of Q.K^T
    begins with the next cycle; tile_pop: with the go of a tile's last chunk; value_tile: the same for tiles that go on
    to P.V; q_release: with that of a block's last tile; s_release: a slot of S and P has been read; read_row,
    read_chunk, mask: Q buffer read port; s_row: row in the slots of S and P; with them valid, scored (of Q.K^T), swap
    (first row of its pass), first_chunk, last_chunk, pass_row (first row of a tile that goes on to P.V, or the last one
    where they come more slowly than a row a cycle), row: RowFlags.
    """
    loop = latency.ROW_LOOP
    all_elements = (1 << config.array_depth) - 1
    row_bits, idle_bits = len(row.row), len(tile.idle)
    left = wrapping(len(tile.streamed))  # rows of the pass that follow; of no importance without a tile
    chunk, pass_chunk = (unsigned(index_bits(config.max_chunks)) for _ in range(2))
    p_freed, stores = unsigned(len(p_released)), bit()
    q_ready, s_ready = unsigned(QUERY_SLOTS.bit_length()), unsigned(SCRATCH_SLOTS.bit_length())
    q_there, s_there = bit(), bit()  # they are not 0
    bank, pass_bank, slot, pass_slot = bit(), bit(), bit(), bit()
    idle = unsigned(loop.bit_length())
    go, last, last_go, tile_replay, tile_values, tile_store = (bit() for _ in range(6))
    # What a go depends on is worked out a cycle ahead: much depends on it. So a tile is settled, and may go, from the
    # second cycle on in which it is the next one.
    settled, replay, values, store, one_row, p_fits, store_fits = (bit() for _ in range(7))
    free, chunk_first, chunk_last, apart_now = (bit() for _ in range(4))
    chunk_idle = unsigned(len(tile.idle))  # cycles to leave free before another pass of the same tile
    need, next_idle = unsigned(len(tile.idle)), unsigned(idle_bits + 1)
    need_none, chunk_none = bit(), bit()
    member, last_member = wrapping(len(tile.member)), bit()
    final_end, fresh_from, row_end = (unsigned(len(tile.first_row)) for _ in range(3))
    block_end, streamed = bit(), unsigned(row_bits)  # rows of the pass read so far
    # Rows that go on to softmax come as fast as it takes them.
    row_gap = config.row_cycles - 1
    # Buffers are free when their rows are read: a pass that takes a row a cycle is ahead of any load.
    q_taken, slot_read = bit(), bit()
    apart = unsigned(max(1, row_gap.bit_length()))

    @always_comb
    def kind():
        tile_replay.next = tile.phase != FLASH and tile.phase != SCORES
        tile_values.next = tile.phase == FLASH or tile.phase == VALUES
        tile_store.next = tile.phase == SCORES or tile.phase == EXP

    @always_comb
    def spacing():
        next_idle.next = idle + 1
        chunk_none.next = chunk_idle == 0
        if chunk_first:
            need.next = tile.idle
            need_none.next = tile.idle == 0
        else:
            need.next = chunk_idle
            need_none.next = chunk_idle == 0

    @always(clk.posedge)
    def ahead():
        settled.next = tile_valid and not tile_pop and not reset
        replay.next = tile_replay
        values.next = tile_values
        store.next = tile_store
        one_row.next = tile.streamed == 1
        if go:
            apart_now.next = chunk_none
        else:
            apart_now.next = need_none or (free and next_idle >= need)
        if tile.streamed < loop:
            chunk_idle.next = loop - tile.streamed[idle_bits:]
        else:
            chunk_idle.next = 0
        if not go:
            chunk_last.next = chunk + 1 == run.qk_chunks
        elif last:
            chunk_last.next = run.qk_chunks == 1
        else:
            chunk_last.next = chunk + 2 == run.qk_chunks
        if reset:
            chunk_first.next = True
        elif go:
            chunk_first.next = last

    @always_comb
    def start_pass():
        last.next = replay or chunk_last
        go.next = (
            settled
            and free
            and apart_now
            and ((p_fits and store_fits) or not (replay or chunk_last))
            and ((replay and s_there) or (not replay and weights_ready and q_there))
        )

    @always_comb
    def pops():
        go_scores.next = go and not replay
        tile_pop.next = go and last
        value_tile.next = go and last and values
        stores.next = go and last and store
        p_freed.next = 0
        if p_release:
            p_freed.next = p_released
        q_taken.next = go and last and tile.last and not replay
        last_go.next = go and replay

    @always(clk.posedge)
    def passes():
        if reset:
            free.next = True
            valid.next = False
            scored.next = False
            swap.next = False
            apart.next = 0
            chunk.next = 0
            bank.next = False
            slot.next = False
            idle.next = loop
        else:
            if free:
                # Whatever comes next, if it does: without go none of this is valid.
                valid.next = go
                scored.next = go and not replay
                apart.next = 0
                if go and last:
                    apart.next = row_gap
                free.next = not go or (one_row and (not last or row_gap == 0))
            elif apart != 0:
                apart.next = apart - 1
                free.next = left == 0 and apart == 1
                valid.next = False
                scored.next = False
            else:
                free.next = left == 1 and (row_gap == 0 or not last_chunk)
                valid.next = True
                scored.next = not row.replayed
                if last_chunk:
                    apart.next = row_gap
            if go:
                if replay:
                    slot.next = not slot
                if not last:
                    chunk.next = chunk + 1
                else:
                    chunk.next = 0
                    if tile.last and not replay:
                        bank.next = not bank
            swap.next = go
            # Cycles since the last row of a pass had its turn, 0 while rows have.
            if go or not free:
                idle.next = 0
            elif idle < loop:
                idle.next = idle + 1

    @always(clk.posedge)
    def rows():
        if free:
            left.next = tile.streamed - 1
            pass_chunk.next = chunk
            pass_bank.next = bank
            pass_slot.next = slot
            first_chunk.next = chunk_first
            last_chunk.next = last
            row.row.next = tile.first_row[row_bits:]
            streamed.next = 0
            row.limit.next = tile.diagonal
            row.keys.next = tile.keys
            row.replayed.next = replay
            # Of a row that does come: replay_buffer is read for it.
            row.replayed_p.next = go and tile.phase == VALUES
            row.keeps_maximum.next = tile.phase == EXP or tile.phase == VALUES
            row.to_values.next = values
            row.to_memory.next = store
            row.stored_p.next = tile.phase == EXP
            member.next = tile.member
            last_member.next = tile.member + 1 == run.group
            final_end.next = tile.final_end
            fresh_from.next = tile.fresh_from
            row_end.next = tile.first_row + tile.streamed
            block_end.next = tile.last
        elif apart == 0:
            left.next = left - 1
            row.row.next = row.row + 1
            streamed.next = streamed + 1
            if last_member:
                member.next = 0
                last_member.next = run.group == 1
                row.limit.next = row.limit + 1
            else:
                member.next = member + 1
                last_member.next = member + 2 == run.group

    @always(clk.posedge)
    def loaded():
        if reset:
            q_ready.next = 0
            s_ready.next = 0
            q_there.next = False
            s_there.next = False
        else:
            if q_done and not q_taken:
                q_ready.next = q_ready + 1
                q_there.next = True
            elif q_taken and not q_done:
                q_ready.next = q_ready - 1
                q_there.next = q_ready != 1
            if s_done and not last_go:
                s_ready.next = s_ready + 1
                s_there.next = True
            elif last_go and not s_done:
                s_ready.next = s_ready - 1
                s_there.next = s_ready != 1

    @always_comb
    def read():
        read_chunk.next = pass_chunk
        if pass_chunk + 1 == run.qk_chunks:
            mask.next = run.qk_mask
        else:
            mask.next = all_elements

    @always_comb
    def flags():
        row.start.next = row.row >= fresh_from
        row.final.next = row.row < final_end
        row.last_final.next = row.row + 1 == final_end
        row.last_stored.next = row.row + 1 == row_end and block_end

    if row_gap == 0:

        @always_comb
        def start_values():
            pass_row.next = swap and last_chunk and row.to_values
            q_release.next = q_taken
            slot_read.next = last_go

    else:

        @always_comb
        def start_values():
            pass_row.next = valid and left == 0 and last_chunk and row.to_values
            q_release.next = valid and left == 0 and last_chunk and block_end and not row.replayed
            slot_read.next = valid and left == 0 and row.replayed

    return (
        start_values, kind, spacing, ahead, start_pass, pops, passes, rows, loaded, read, flags,
        row_room(clk, reset, tile.streamed, value_tile, p_freed, p_fits, tile_values, config.p_rows),
        row_room(clk, reset, tile.streamed, stores, stored, store_fits, tile_store, config.output_rows),
        place(pass_bank, row.row, read_row),
        place(pass_slot, streamed, s_row),
        delay(clk, slot_read, s_release, latency.replay_read(config) - (row_gap > 0), reset),
    )  # fmt: skip
