"""Row cursor: addresses of the rows of Q, O or (m, l) in the order in which they stream."""

from myhdl import always, always_comb, block

from hw.signals import unsigned, wrapping


@block
def row_cursor(clk, reset, start, step, mark, rewind, first, stride, head_stride, n_q, group, address):
    """Walk KV heads, their queries, and for each query the heads of the group.

    Latency: address of the next row one cycle after step. Throughput: a row a cycle.

    Ports: clk; reset: the address is 0; start: to the first row, at `first`; step: on to the next row; with step, mark:
    rows from the next one on may be walked again, rewind: back to the row after the last mark (or the first) instead
    (both None: it never goes back); stride, head_stride: of a query and of a head, in words; n_q, group: rows of a
    head, heads of a group; address: of the row, in words.
    """
    bits = len(address)
    # base: the query's row of the group's first head; next_group: row of query 0 of the next KV head.
    row, base, next_group = (wrapping(bits) for _ in range(3))
    saved_row, saved_base, saved_group = (wrapping(bits) for _ in range(3))  # after the last mark
    on_row, on_base, on_group = (wrapping(bits) for _ in range(3))  # after this row
    query, saved_query, on_query = (unsigned(len(n_q)) for _ in range(3))
    member, saved_member, on_member = (unsigned(len(group)) for _ in range(3))
    after_head, after_query = wrapping(bits), wrapping(bits)

    @always_comb
    def sums():
        after_head.next = row + head_stride
        after_query.next = base + stride
        address.next = row

    @always_comb
    def follow():
        on_group.next = next_group
        on_base.next = base
        on_query.next = query
        if query == 0:
            on_group.next = after_head
        if member + 1 != group:
            on_member.next = member + 1
            on_row.next = after_head
        else:
            on_member.next = 0
            if query + 1 != n_q:
                on_query.next = query + 1
                on_row.next = after_query
                on_base.next = after_query
            else:
                on_query.next = 0
                if query == 0:
                    on_row.next = after_head
                    on_base.next = after_head
                else:
                    on_row.next = next_group
                    on_base.next = next_group

    if mark is None:
        to_row, to_base, to_group, to_query, to_member = on_row, on_base, on_group, on_query, on_member
        returns = ()
    else:
        to_row, to_base, to_group = (wrapping(bits) for _ in range(3))
        to_query, to_member = unsigned(len(n_q)), unsigned(len(group))

        @always_comb
        def turn():
            if rewind:
                to_row.next = saved_row
                to_base.next = saved_base
                to_group.next = saved_group
                to_query.next = saved_query
                to_member.next = saved_member
            else:
                to_row.next = on_row
                to_base.next = on_base
                to_group.next = on_group
                to_query.next = on_query
                to_member.next = on_member

        @always(clk.posedge)
        def remember():
            if start:
                saved_row.next = first
                saved_base.next = first
                saved_query.next = 0
                saved_member.next = 0
            elif step and mark:
                saved_row.next = on_row
                saved_base.next = on_base
                saved_group.next = on_group
                saved_query.next = on_query
                saved_member.next = on_member

        returns = turn, remember

    @always(clk.posedge)
    def walk():
        if reset:
            row.next = 0
        elif start:
            row.next = first
            base.next = first
            query.next = 0
            member.next = 0
        elif step:
            row.next = to_row
            base.next = to_base
            next_group.next = to_group
            query.next = to_query
            member.next = to_member

    return sums, follow, returns, walk
