"""Row cursor: addresses of the rows of Q, O or (m, l) in the order in which they stream."""

from myhdl import always, always_comb, block

from hw.signals import bit, wrapping


@block
def row_cursor(clk, start, step, mark, rewind, first, stride, head_stride, n_q, group, address):
    """Walk KV heads, their queries, and for each query the heads of the group.

    Latency: address of the next row one cycle after step. Throughput: a row a cycle.

    Ports: clk; start: to the first row, at `first`; step: on to the next row; with step, mark:
    rows from the next one on may be walked again, rewind: back to the row after the last mark (or the first) instead
    (both None: it never goes back); stride, head_stride: of a query and of a head, in words; n_q, group: rows of a
    head, heads of a group; address: of the row, in words.
    """
    bits = len(address)
    # base: the query's row of the group's first head; next_group: row of query 0 of the next KV head.
    row, base, next_group = (wrapping(bits) for _ in range(3))
    saved_row, saved_base, saved_group = (wrapping(bits) for _ in range(3))  # after the last mark
    on_row, on_base, on_group = (wrapping(bits) for _ in range(3))  # after this row
    # Queries and heads left, this one among them. What a step depends on is kept beside them: it comes late.
    queries, saved_queries, on_queries = (wrapping(len(n_q)) for _ in range(3))
    members, saved_members, on_members = (wrapping(len(group)) for _ in range(3))
    first_query, last_query, last_member = (bit() for _ in range(3))
    saved_first_query, saved_last_query, saved_last_member = (bit() for _ in range(3))
    on_first_query, on_last_query, on_last_member = (bit() for _ in range(3))
    one_query, one_member = bit(), bit()
    after_head, after_query = wrapping(bits), wrapping(bits)

    @always_comb
    def sums():
        after_head.next = row + head_stride
        after_query.next = base + stride
        one_query.next = n_q == 1
        one_member.next = group == 1
        address.next = row

    @always_comb
    def follow():
        on_group.next = next_group
        on_base.next = base
        on_queries.next = queries
        on_first_query.next = first_query
        on_last_query.next = last_query
        if first_query:
            on_group.next = after_head
        if not last_member:
            on_members.next = members - 1
            on_last_member.next = members == 2
            on_row.next = after_head
        else:
            on_members.next = group
            on_last_member.next = one_member
            if not last_query:
                on_queries.next = queries - 1
                on_first_query.next = False
                on_last_query.next = queries == 2
                on_row.next = after_query
                on_base.next = after_query
            else:
                on_queries.next = n_q
                on_first_query.next = True
                on_last_query.next = one_query
                if first_query:
                    on_row.next = after_head
                    on_base.next = after_head
                else:
                    on_row.next = next_group
                    on_base.next = next_group

    if mark is None:
        to_row, to_base, to_group, to_queries, to_members = on_row, on_base, on_group, on_queries, on_members
        to_first_query, to_last_query, to_last_member = on_first_query, on_last_query, on_last_member
        returns = ()
    else:
        to_row, to_base, to_group = (wrapping(bits) for _ in range(3))
        to_queries, to_members = wrapping(len(n_q)), wrapping(len(group))
        to_first_query, to_last_query, to_last_member = (bit() for _ in range(3))

        @always_comb
        def turn():
            if rewind:
                to_row.next = saved_row
                to_base.next = saved_base
                to_group.next = saved_group
                to_queries.next = saved_queries
                to_members.next = saved_members
                to_first_query.next = saved_first_query
                to_last_query.next = saved_last_query
                to_last_member.next = saved_last_member
            else:
                to_row.next = on_row
                to_base.next = on_base
                to_group.next = on_group
                to_queries.next = on_queries
                to_members.next = on_members
                to_first_query.next = on_first_query
                to_last_query.next = on_last_query
                to_last_member.next = on_last_member

        @always(clk.posedge)
        def remember():
            if start:
                saved_row.next = first
                saved_base.next = first
                saved_queries.next = n_q
                saved_members.next = group
                saved_first_query.next = True
                saved_last_query.next = one_query
                saved_last_member.next = one_member
            elif step and mark:
                saved_row.next = on_row
                saved_base.next = on_base
                saved_group.next = on_group
                saved_queries.next = on_queries
                saved_members.next = on_members
                saved_first_query.next = on_first_query
                saved_last_query.next = on_last_query
                saved_last_member.next = on_last_member

        returns = turn, remember

    @always(clk.posedge)
    def walk():
        if start:
            row.next = first
            base.next = first
            queries.next = n_q
            members.next = group
            first_query.next = True
            last_query.next = one_query
            last_member.next = one_member
        elif step:
            row.next = to_row
            base.next = to_base
            next_group.next = to_group
            queries.next = to_queries
            members.next = to_members
            first_query.next = to_first_query
            last_query.next = to_last_query
            last_member.next = to_last_member

    return sums, follow, returns, walk
