"""Read side of the DMA: the static order of loads, and the bursts of each."""

from myhdl import always, always_comb, block

from golden.config import KEY_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS, log2_ceil
from hw.buffer_credit import buffer_credit
from hw.load_counters import LOAD_K, LOAD_Q, LOAD_S, LOAD_V, load_counters
from hw.row_cursor import row_cursor
from hw.signals import bit, round_up, unsigned, wrapping
from hw.tile_walker import FLASH, MAXIMUM, SCORES, VALUES, tile_walker

LOADS = KEY_SLOTS + QUERY_SLOTS + VALUE_SLOTS + SCRATCH_SLOTS  # that can be under way at once


@block
def loader(
    clk, reset, walk, start, run, plan, k_release, q_release, v_release, s_release, block_stored,
    read, tile, tile_push, load_push, load_kind, load_rows, load_words, counters, config,
):  # fmt: skip
    """Load K, Q, V, and S and P, in the order of golden.schedule.load_order, one burst a row, as buffers become free.

    Latency: first request 3 cycles after start. Throughput: a burst request each cycle in which the memory takes
    one; no gap between rows or loads while buffers are free and tiles take longer than 5 cycles, the walker's. Without
    overlap each operand has one buffer in use at a time. NAIVE: S, P and O of a block are in memory before what comes
    next is read.

        start     |1|___________
        plan      _|K|Q|V ...       buffer reserved, tile record pushed with the tile's first load
        load_push ___|1|            bursts of the load follow from the next cycle
        read.valid _____|1 1 1 1    a row each, with ready

    Ports: clk, reset; walk: plan is complete, the walk may begin; start: a run begins, at least 3 cycles later; run:
    Run, plan: Plan, constant; *_release: a buffer has become free; block_stored: the last row of a block's S, P or O
    is in memory; read: ReadPort, request side; tile, tile_push: record of each tile with its first load; load_push,
    load_kind, load_rows, load_words (of a row): each load when its bursts begin; counters: bytes read and loads.
    """
    row_words, key_shift = config.scratch_row_words, log2_ceil(config.array_keys)
    row_shift = log2_ceil(row_words)
    address_bits, bytes_bits, words_bits = len(read.address), len(read.bytes), len(load_words)
    planning, fenced, opening = bit(), bit(), bit()
    block_rows, tile_first, tile_valid, skip, next_head = unsigned(len(run.q_rows)), bit(), bit(), bit(), bit()
    coming_phase, coming_first = unsigned(len(tile.phase)), bit()
    what, opens_with, kind, next_kind = (unsigned(2) for _ in range(4))
    plan_load, complete, credit, room = (bit() for _ in range(4))
    k_plan, q_plan, v_plan, s_plan, k_room, q_room, v_room, s_room = (bit() for _ in range(8))
    single, ends, last_row, is_q, next_is_q = (bit() for _ in range(5))
    next_q, more_q = bit(), bit()  # a load of Q is planned next; rows follow in the present one, which is of Q
    # The load planned next to the one whose bursts are under way.
    next_valid, next_rows, rows_left = bit(), unsigned(len(load_rows)), unsigned(len(load_rows))
    take, accepted, another, step_q, is_p, next_is_p = (bit() for _ in range(6))
    # Where K and V of the present KV head, of the present block, and of the next tile begin; S and P of the next tile.
    k_head, k_block, k_tile, v_head, v_block, v_tile, s_tile = (wrapping(address_bits) for _ in range(7))
    address, next_address, sequential = (wrapping(address_bits) for _ in range(3))
    new_stride, next_stride, stride = (unsigned(address_bits) for _ in range(3))
    q_address = unsigned(address_bits)
    s_bytes, new_bytes, next_bytes = (unsigned(bytes_bits) for _ in range(3))
    s_words, new_words, next_words = (unsigned(words_bits) for _ in range(3))
    k_step, v_step, s_step = wrapping(address_bits), wrapping(address_bits), unsigned(len(tile.streamed) + row_shift)

    @always_comb
    def opens():
        if run.naive and coming_phase != SCORES:
            opens_with.next = LOAD_S
        else:
            opens_with.next = LOAD_K
        if coming_phase == SCORES:
            single.next = not coming_first
        else:
            single.next = coming_phase != FLASH and coming_phase != VALUES

    @always_comb
    def rooms():
        if what == LOAD_K:
            room.next = k_room
        elif what == LOAD_Q:
            room.next = q_room
        elif what == LOAD_V:
            room.next = v_room
        else:
            room.next = s_room

    @always_comb
    def decide():
        accepted.next = read.valid and read.ready
        take.next = next_valid and (not read.valid or (read.ready and last_row))
        another.next = read.valid and read.ready and not last_row
        step_q.next = (next_q and (not read.valid or (read.ready and last_row))) or (more_q and read.ready)

    # Loads are planned every second cycle at most. So what a plan depends on, and much depends on that, is in registers
    # that do not wait for the plan of the same cycle.
    @always_comb
    def plans():
        plan_load.next = (
            planning and tile_valid and credit and not next_valid and not (opening and tile_first and fenced)
        )

    @always(clk.posedge)
    def ahead():
        credit.next = room
        if opening:
            ends.next = single
        else:
            ends.next = what != LOAD_Q or coming_phase == SCORES
        if (plan_load and ends) or (not plan_load and opening):
            what.next = opens_with
        elif plan_load:
            if what == LOAD_K and tile_first:
                what.next = LOAD_Q
            else:
                what.next = LOAD_V

    @always_comb
    def strobes():
        k_plan.next = plan_load and what == LOAD_K
        q_plan.next = plan_load and what == LOAD_Q
        v_plan.next = plan_load and what == LOAD_V
        s_plan.next = plan_load and what == LOAD_S
        complete.next = plan_load and ends
        tile_push.next = plan_load and opening
        load_push.next = take
        load_kind.next = next_kind
        load_rows.next = next_rows
        load_words.next = next_words

    @always(clk.posedge)
    def planner():
        if reset:
            planning.next = False
            opening.next = True
            fenced.next = False
            next_valid.next = False
            next_q.next = False
        else:
            if start:
                planning.next = True
                fenced.next = False
            elif plan_load:
                opening.next = complete
                planning.next = not (complete and tile.end)
                if complete and tile.last and run.naive and tile.phase != MAXIMUM:
                    fenced.next = True
                elif block_stored:
                    fenced.next = False
            elif block_stored:
                fenced.next = False
            if plan_load:
                next_valid.next = True
                next_q.next = what == LOAD_Q
            elif take:
                next_valid.next = False
                next_q.next = False

    @always(clk.posedge)
    def next_load():
        if plan_load:
            next_kind.next = what
            next_is_q.next = what == LOAD_Q
            next_is_p.next = tile.phase == VALUES
            next_address.next = address
            next_stride.next = new_stride
            next_bytes.next = new_bytes
            next_words.next = new_words
            if what == LOAD_Q:
                next_rows.next = block_rows
            elif what == LOAD_S:
                next_rows.next = tile.streamed
            else:
                next_rows.next = tile.keys

    @always_comb
    def shape():
        s_bytes.next = tile.keys << 1
        s_step.next = tile.streamed << row_shift
        k_step.next = run.k_stride << key_shift
        v_step.next = run.v_stride << key_shift
        if what == LOAD_S:
            new_bytes.next = s_bytes
            new_words.next = s_words
            new_stride.next = row_words
        elif what == LOAD_V:
            new_bytes.next = run.v_bytes
            new_words.next = run.v_words
            new_stride.next = run.v_stride
        else:
            new_bytes.next = run.qk_bytes
            new_words.next = run.qk_words
            new_stride.next = run.k_stride

    @always_comb
    def place():
        if what == LOAD_S:
            address.next = s_tile
            if tile_first:
                address.next = run.scratch_address
        elif what == LOAD_V:
            address.next = v_tile
            if tile_first:
                address.next = v_block
        else:
            address.next = k_tile
            if tile_first:
                address.next = k_block

    @always(clk.posedge)
    def pointers():
        if k_plan:
            k_tile.next = address + k_step
        if v_plan:
            v_tile.next = address + v_step
        if s_plan:
            s_tile.next = address + s_step
        if start:
            k_head.next = run.k_address + plan.k_begin
            k_block.next = run.k_address + plan.k_begin
            v_head.next = run.v_address + plan.v_begin
            v_block.next = run.v_address + plan.v_begin
        elif next_head:
            k_head.next = k_head + run.k_head_stride
            k_block.next = k_head + run.k_head_stride
            v_head.next = v_head + run.v_head_stride
            v_block.next = v_head + run.v_head_stride
        elif skip:
            k_block.next = k_block + k_step
            v_block.next = v_block + v_step

    @always(clk.posedge)
    def requests():
        if reset:
            read.valid.next = False
            more_q.next = False
        elif take:
            read.valid.next = True
            more_q.next = next_q and next_rows != 1
        elif accepted and last_row:
            read.valid.next = False
        elif another:
            more_q.next = is_q and rows_left != 1

    # The port shows nothing that was never written.
    @always(clk.posedge)
    def addresses():
        if reset:
            read.address.next = 0
            read.bytes.next = 0
        elif take:
            read.bytes.next = next_bytes
            read.address.next = next_address
            if next_is_q:
                read.address.next = q_address
        elif another:
            read.address.next = sequential
            if is_q:
                read.address.next = q_address

    @always(clk.posedge)
    def bursts():
        if take:
            kind.next = next_kind
            is_q.next = next_is_q
            is_p.next = next_is_p
            rows_left.next = next_rows - 1
            last_row.next = next_rows == 1
            stride.next = next_stride
            sequential.next = next_address + next_stride
        elif another:
            rows_left.next = rows_left - 1
            last_row.next = rows_left == 1
            sequential.next = sequential + stride

    return (
        opens, rooms, decide, plans, ahead, strobes, planner, next_load, shape, place, pointers,
        requests, addresses, bursts,
        load_counters(clk, reset, walk, accepted, kind, is_p, read.bytes, k_plan, v_plan, counters),
        buffer_credit(clk, reset, run.overlap, k_plan, k_release, k_room, KEY_SLOTS),
        buffer_credit(clk, reset, run.overlap, q_plan, q_release, q_room, QUERY_SLOTS),
        buffer_credit(clk, reset, run.overlap, v_plan, v_release, v_room, VALUE_SLOTS),
        buffer_credit(clk, reset, run.overlap, s_plan, s_release, s_room, SCRATCH_SLOTS),
        round_up(s_bytes, log2_ceil(config.word_bytes), s_words),
        tile_walker(
            clk, reset, walk, complete, run, plan, tile, block_rows, tile_first, tile_valid, coming_phase, coming_first,
            skip, next_head, config,
        ),
        row_cursor(
            clk, start, step_q, None, None, run.q_address, run.q_stride, run.q_head_stride, run.n_q, run.group,
            q_address,
        ),
    )  # fmt: skip
