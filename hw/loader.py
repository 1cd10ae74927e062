"""Read side of the DMA: the static order of loads, and the bursts of each."""

from myhdl import always, always_comb, block

from golden.config import KEY_SLOTS, QUERY_SLOTS, VALUE_SLOTS
from hw.signals import bit, unsigned, wrapping
from hw.tile_walker import tile_walker

LOAD_K, LOAD_Q, LOAD_V = 0, 1, 2
LOADS = KEY_SLOTS + QUERY_SLOTS + VALUE_SLOTS  # that can be under way at once


@block
def loader(
    clk, reset, start, descriptor, k_release, q_release, v_release,
    read, tile, tile_push, load_push, load_kind, load_rows, counters, config,
):  # fmt: skip
    """Load K, Q and V in the order of golden.schedule.load_order, one burst a row, as buffers become free.

    Latency: first request 3 cycles after start. Throughput: a burst request each cycle in which the memory takes
    one; no gap between rows or loads while buffers are free. Without overlap each operand has one buffer
    in use at a time.

        start     |1|___________
        plan      _|K|Q|V ...       buffer reserved, tile record pushed with K
        load_push ___|1|            bursts of the load follow from the next cycle
        read.valid _____|1 1 1 1    a row each, with ready

    Ports: clk, reset; start: a run begins; descriptor: its Run, constant; k_release, q_release, v_release: a buffer
    has become free; read: ReadPort, request side; tile, tile_push: record of each tile when its K is planned;
    load_push, load_kind, load_rows: each load when its bursts begin; counters: k_bytes, q_bytes, v_bytes, k_loads,
    v_loads.
    """
    planning, block_rows = bit(), unsigned(len(descriptor.q_rows))
    what = unsigned(2)
    advance, plan, credit = bit(), bit(), bit()
    k_used, q_used, v_used = (unsigned(slots.bit_length()) for slots in (KEY_SLOTS, QUERY_SLOTS, VALUE_SLOTS))
    k_plan, q_plan, v_plan = bit(), bit(), bit()
    # The load planned next to the one whose bursts are under way.
    next_valid, next_kind, next_rows, next_first = bit(), unsigned(2), unsigned(len(load_rows)), bit()
    kind, rows_left = unsigned(2), unsigned(len(load_rows))
    take, accepted, q_first = bit(), bit(), bit()
    address_bits = len(read.address)
    k_next, q_next, v_next = (wrapping(address_bits) for _ in range(3))
    address, stride = unsigned(address_bits), unsigned(address_bits)
    row_kind = unsigned(2)

    @always_comb
    def reserve():
        if what == LOAD_K:
            credit.next = k_used == 0 or (descriptor.overlap and k_used < KEY_SLOTS)
        elif what == LOAD_Q:
            credit.next = q_used == 0 or (descriptor.overlap and q_used < QUERY_SLOTS)
        else:
            credit.next = v_used == 0 or (descriptor.overlap and v_used < VALUE_SLOTS)

    @always_comb
    def decide():
        accepted.next = read.valid and read.ready
        take.next = next_valid and (not read.valid or (read.ready and rows_left == 0))
        plan.next = planning and credit and (not next_valid or take)

    @always_comb
    def strobes():
        k_plan.next = plan and what == LOAD_K
        q_plan.next = plan and what == LOAD_Q
        v_plan.next = plan and what == LOAD_V
        tile_push.next = plan and what == LOAD_K
        advance.next = plan and what == LOAD_V
        load_push.next = take
        load_kind.next = next_kind
        load_rows.next = next_rows

    @always(clk.posedge)
    def planner():
        if reset:
            planning.next = False
            next_valid.next = False
        else:
            if start:
                planning.next = True
                what.next = LOAD_K
            elif plan:
                if what == LOAD_K and tile.first:
                    what.next = LOAD_Q
                elif what == LOAD_V:
                    what.next = LOAD_K
                    planning.next = not tile.end
                else:
                    what.next = LOAD_V
            if plan:
                next_valid.next = True
                next_kind.next = what
                next_first.next = tile.first
                if what == LOAD_Q:
                    next_rows.next = block_rows
                else:
                    next_rows.next = tile.keys
            elif take:
                next_valid.next = False

    @always(clk.posedge)
    def credits():
        if reset:
            k_used.next = 0
            q_used.next = 0
            v_used.next = 0
        else:
            if k_plan and not k_release:
                k_used.next = k_used + 1
            elif k_release and not k_plan:
                k_used.next = k_used - 1
            if q_plan and not q_release:
                q_used.next = q_used + 1
            elif q_release and not q_plan:
                q_used.next = q_used - 1
            if v_plan and not v_release:
                v_used.next = v_used + 1
            elif v_release and not v_plan:
                v_used.next = v_used - 1

    @always_comb
    def next_address():
        if take:
            row_kind.next = next_kind
        else:
            row_kind.next = kind
        if (take and next_kind == LOAD_K) or (not take and kind == LOAD_K):
            stride.next = descriptor.k_stride
            if take and next_first:
                address.next = descriptor.k_address
            else:
                address.next = k_next
        elif (take and next_kind == LOAD_V) or (not take and kind == LOAD_V):
            stride.next = descriptor.v_stride
            if take and next_first:
                address.next = descriptor.v_address
            else:
                address.next = v_next
        else:
            stride.next = descriptor.q_stride
            if q_first:
                address.next = descriptor.q_address
            else:
                address.next = q_next

    @always(clk.posedge)
    def bursts():
        if reset:
            read.valid.next = False
            read.address.next = 0
            kind.next = LOAD_K
        else:
            if take:
                read.valid.next = True
                kind.next = next_kind
                rows_left.next = next_rows - 1
            elif accepted:
                read.valid.next = rows_left != 0
                if rows_left != 0:
                    rows_left.next = rows_left - 1
            if start:
                q_first.next = True
            elif take and next_kind == LOAD_Q:
                q_first.next = False
            if take or (accepted and rows_left != 0):
                read.address.next = address
                if row_kind == LOAD_K:
                    k_next.next = address + stride
                elif row_kind == LOAD_Q:
                    q_next.next = address + stride
                else:
                    v_next.next = address + stride

    @always_comb
    def length():
        if kind == LOAD_V:
            read.bytes.next = descriptor.v_bytes
        else:
            read.bytes.next = descriptor.qk_bytes

    @always(clk.posedge)
    def count():
        if reset or start:
            counters.k_bytes.next = 0
            counters.q_bytes.next = 0
            counters.v_bytes.next = 0
            counters.k_loads.next = 0
            counters.v_loads.next = 0
        else:
            if accepted and kind == LOAD_K:
                counters.k_bytes.next = counters.k_bytes + descriptor.qk_bytes
            if accepted and kind == LOAD_Q:
                counters.q_bytes.next = counters.q_bytes + descriptor.qk_bytes
            if accepted and kind == LOAD_V:
                counters.v_bytes.next = counters.v_bytes + descriptor.v_bytes
            if k_plan:
                counters.k_loads.next = counters.k_loads + 1
            if v_plan:
                counters.v_loads.next = counters.v_loads + 1

    walker = tile_walker(
        clk, start, advance, descriptor.n_q, descriptor.n_kv, descriptor.q_rows, descriptor.q_position,
        descriptor.causal, tile, block_rows, config,
    )  # fmt: skip
    return reserve, decide, strobes, planner, credits, next_address, bursts, length, count, walker
