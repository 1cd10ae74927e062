"""Blocks wrong_* whose signals, names or tables convert wrong, and right_* beside them; see miscompile_examples."""

from __future__ import annotations

from myhdl import ConcatSignal, Signal, always, always_comb, block, intbv

from hw.signals import copy, signed, split, unsigned

TABLE = (3, 1, 2, 0)
BIG = 1 << 30


@block
def wrong_part_select(clk, a, y):
    @always_comb
    def compute():
        count = intbv(0)[4:]
        for i in range(4):
            if a[2 * i + 2 : 2 * i] == 3:
                count[:] = count + 1
        y.next = count

    return compute


@block
def right_part_select(clk, a, y):
    @always_comb
    def compute():
        count = intbv(0)[4:]
        for i in range(4):
            if ((a >> (2 * i)) & 3) == 3:
                count[:] = count + 1
        y.next = count

    return compute


@block
def wrong_table(clk, a, n, y):
    @always_comb
    def compute():
        y.next = TABLE[int(n)] + a

    return compute


@block
def right_table(clk, a, n, y):
    entry = unsigned(2)

    @always_comb
    def look_up():
        entry.next = TABLE[int(n)]

    @always_comb
    def compute():
        y.next = entry + a

    return look_up, compute


@block
def wrong_list_slice(clk, a, y):
    pair = [unsigned(8) for _ in range(2)]

    @always_comb
    def compute():
        for i in range(2):
            pair[i].next = a ^ i

    return compute, copy(pair[1](4, 0), y)


@block
def right_list_slice(clk, a, y):
    pair = [unsigned(8) for _ in range(2)]

    @always_comb
    def compute():
        for i in range(2):
            pair[i].next = a ^ i

    @always_comb
    def low():
        y.next = pair[1][4:]

    return compute, low


@block
def wrong_list_split(clk, a, y):
    pair = [unsigned(8) for _ in range(2)]

    @always_comb
    def compute():
        for i in range(2):
            pair[i].next = a ^ i

    low, _ = split(pair[1], 2)
    return compute, copy(low, y)


right_list_split = right_list_slice


@block
def wrong_slice_list(clk, a, y):
    halves = [a(4, 0), a(8, 4)]

    @always_comb
    def compute():
        y.next = halves[0] ^ halves[1]

    return compute


@block
def right_slice_list(clk, a, y):
    halves = [unsigned(4), unsigned(4)]

    @always_comb
    def compute():
        y.next = halves[0] ^ halves[1]

    return compute, copy(a(4, 0), halves[0]), copy(a(8, 4), halves[1])


@block
def exclusive_or(pair, y):
    @always_comb
    def compute():
        y.next = pair[0] ^ pair[1]

    return compute


@block
def wrong_slice_list_argument(clk, a, y):
    return exclusive_or(split(a, 2), y)


@block
def right_slice_list_argument(clk, a, y):
    halves = [unsigned(4), unsigned(4)]
    return [copy(part, half) for part, half in zip(split(a, 2), halves, strict=True)], exclusive_or(halves, y)


@block
def wrong_concat_slice(clk, a, b, y):
    both = ConcatSignal(a, b)
    return copy(both(12, 4), y)


@block
def right_concat_slice(clk, a, b, y):
    both = ConcatSignal(a, b)

    @always_comb
    def compute():
        y.next = both[12:4]

    return compute


@block
def wrong_initial_value(clk, reset, a, y):
    kept = Signal(intbv(5)[8:])

    @always(clk.posedge)
    def register():
        if a > 127:
            kept.next = a
        y.next = kept

    return register


@block
def right_initial_value(clk, reset, a, y):
    kept = unsigned(8)

    @always(clk.posedge)
    def register():
        if reset:
            kept.next = 5
        elif a > 127:
            kept.next = a
        y.next = kept

    return register


@block
def wrong_keyword(clk, a, y):
    output = unsigned(8)

    @always_comb
    def enter():
        output.next = a

    return enter, copy(output, y)


@block
def right_keyword(clk, a, y):
    out = unsigned(8)

    @always_comb
    def enter():
        out.next = a

    return enter, copy(out, y)


@block
def wrong_keyword_argument(clk, small, y):
    @always_comb
    def compute():
        y.next = small

    return compute


@block
def right_keyword_argument(clk, value, y):
    @always_comb
    def compute():
        y.next = value

    return compute


@block
def wrong_keyword_in_process(clk, a, y):
    @always_comb
    def compute():
        reg = intbv(0)[8:]
        reg[:] = a
        y.next = reg

    return compute


@block
def right_keyword_in_process(clk, a, y):
    @always_comb
    def compute():
        value = intbv(0)[8:]
        value[:] = a
        y.next = value

    return compute


@block
def wrong_process_name(clk, a, y):
    @always(clk.posedge)
    def release():
        y.next = a

    return release


@block
def right_process_name(clk, a, y):
    @always(clk.posedge)
    def register():
        y.next = a

    return register


@block
def wrong_system_verilog(clk, a, y):
    packed = unsigned(8)

    @always_comb
    def enter():
        packed.next = a

    return enter, copy(packed, y)


@block
def right_system_verilog(clk, a, y):
    joined = unsigned(8)

    @always_comb
    def enter():
        joined.next = a

    return enter, copy(joined, y)


@block
def wrong_tree(clk, tree, y):
    return copy(tree, y)


@block
def right_tree(clk, a, y):
    return copy(a, y)


@block
def undriven(clk, a, y):
    """Recognised at conversion, not in the source: nothing drives `offset`, which is unsigned in Verilog."""
    offset = signed(8)

    @always_comb
    def compute():
        y.next = a + offset

    return compute
