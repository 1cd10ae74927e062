"""Ring buffer of probability rows between softmax and P.V."""

from myhdl import always, always_comb, block, concat

from golden.formats import P_BITS, SHIFT_BITS
from hw.delay import delay
from hw.ram import ram
from hw.signals import join, unsigned, wrapping


@block
def p_buffer(
    clk, reset, write, p, row, shift, fresh, row_final, last_final, write_index,
    read_index, act, act_row, act_shift, act_fresh, act_final, act_last_final, config,
):  # fmt: skip
    """Rows of p with their rescale shift and flags, written in order, read by index as often as P.V has chunks.

    Latency: read_index to act and its companions, 3 cycles (golden.latency.FEED). Throughput: one row written and
    one read a cycle. Room is the controller's business.

    Ports: clk, reset; write, p (C lanes UQ1.16), row, shift, fresh, row_final (the row's last tile), last_final
    (last of the tile's final rows); write_index: where the row being written lands; read_index; act: C signed
    lanes, one bit wider than p; act_*: the companions of act.
    """
    lanes = config.array_keys
    row_bits = len(row)
    depth = config.p_rows
    p_bits = lanes * P_BITS
    entry_bits = p_bits + row_bits + SHIFT_BITS + 3
    entry, read, held, out = (unsigned(entry_bits) for _ in range(4))
    position = wrapping(len(write_index))
    row_at = p_bits
    shift_at = row_at + row_bits
    flags_at = shift_at + SHIFT_BITS

    @always_comb
    def pack():
        entry.next = concat(last_final, row_final, fresh, shift, row, p)

    @always(clk.posedge)
    def advance():
        if reset:
            position.next = 0
        elif write:
            position.next = position + 1

    @always_comb
    def land():
        write_index.next = position

    @always_comb
    def unpack():
        act_row.next = out[shift_at:row_at]
        act_shift.next = out[flags_at:shift_at]
        act_fresh.next = out[flags_at]
        act_final.next = out[flags_at + 1]
        act_last_final.next = out[flags_at + 2]

    extended = [unsigned(P_BITS + 1) for _ in range(lanes)]
    instances = [
        pack,
        advance,
        land,
        unpack,
        ram(clk, write, position, entry, read_index, read, depth),
        delay(clk, read, held, 1),
        delay(clk, held, out, 1),
        join(extended, act),
    ]
    for lane in range(lanes):
        instances.append(delay(clk, out((lane + 1) * P_BITS, lane * P_BITS), extended[lane], 0))
    return instances

