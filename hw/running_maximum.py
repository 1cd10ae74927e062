"""Running row maximum of the online softmax, and the rescale shift it causes."""

from myhdl import always, always_comb, block, concat

from golden.formats import MAX_BITS, SHIFT_BITS
from hw.delay import delay
from hw.ram import ram
from hw.signals import bit, index_bits, signed, unsigned


@block
def running_maximum(clk, early_row, top, row, start, valid, any_visible, maximum, shift, fresh, seen, rows):
    """m = max(m_old, ceil(tile maximum)) for a row, with a seen flag instead of a finite minus infinity.

    A row that has seen no key has m = 0.

    Latency: top to maximum 2 cycles (golden.latency.MAXIMUM); to shift, fresh and seen 4. Throughput: one row a
    cycle; a row may come again after 4 cycles.

    Ports: clk; early_row: row, a cycle early; top: see row_maximum; row, valid: with top; start: the row's first tile,
    its old state is ignored; any_visible: the row sees a key of this tile; maximum: signed 21 bits; shift: m - m_old,
    clamped to 63; fresh: no key seen before this tile; seen: a key seen up to this tile.

    Parameters: rows: rows held.
    """
    state_bits = MAX_BITS + 1
    clamp = (1 << SHIFT_BITS) - 1
    write, write_row = bit(), unsigned(index_bits(rows))
    new_state, read_state, old_state = (unsigned(state_bits) for _ in range(3))
    ceiling, carry = signed(MAX_BITS), signed(2)
    start_2, valid_2, any_2 = bit(), bit(), bit()
    row_2 = unsigned(index_bits(rows))
    stored, known = signed(MAX_BITS), bit()
    old_maximum, old_seen = signed(MAX_BITS), bit()
    difference = unsigned(MAX_BITS)
    new_seen, fresh_3, seen_3 = bit(), bit(), bit()

    @always_comb
    def round_up():
        carry.next = top[0]

    @always(clk.posedge)
    def ceil():
        ceiling.next = (top >> 1) + carry
        start_2.next = start
        valid_2.next = valid
        any_2.next = any_visible
        row_2.next = row

    @always_comb
    def unpack():
        stored.next = old_state[MAX_BITS:].signed()
        known.next = old_state[MAX_BITS] and not start_2

    @always(clk.posedge)
    def compare():
        if any_2 and (ceiling > stored or not known):
            maximum.next = ceiling
        elif known:
            maximum.next = stored
        else:
            maximum.next = 0
        old_maximum.next = stored
        old_seen.next = known
        new_seen.next = known or any_2
        write.next = valid_2
        write_row.next = row_2

    @always_comb
    def state():
        new_state.next = concat(new_seen, maximum[MAX_BITS:])

    @always(clk.posedge)
    def rescale():
        if old_seen:
            difference.next = maximum - old_maximum
        else:
            difference.next = 0
        fresh_3.next = not old_seen
        seen_3.next = new_seen
        if difference > clamp:
            shift.next = clamp
        else:
            shift.next = difference[SHIFT_BITS:]
        fresh.next = fresh_3
        seen.next = seen_3

    return (
        round_up, ceil, unpack, compare, state, rescale,
        ram(clk, write, write_row, new_state, early_row, read_state, rows),
        delay(clk, read_state, old_state, 1),
    )  # fmt: skip
