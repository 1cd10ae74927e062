"""For each rule of tests.hw.miscompiles, a block that breaks it and converts wrong, and its remedy.

The blocks `wrong_*` and `right_*` of a pair have ports of the same shapes, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from myhdl import ConcatSignal, Signal, always, always_comb, block, intbv

from hw.signals import copy, signed, split, unsigned

TABLE = (3, 1, 2, 0)
BIG = 1 << 30


@block
def wrong_conditional(clk, a, b, n, y):
    @always_comb
    def compute():
        y.next = a if n[0] else b

    return compute


@block
def right_conditional(clk, a, b, n, y):
    @always_comb
    def compute():
        if n[0]:
            y.next = a
        else:
            y.next = b

    return compute


@block
def wrong_division(clk, a, y):
    @always_comb
    def compute():
        y.next = a // 4

    return compute


@block
def right_division(clk, a, y):
    @always_comb
    def compute():
        y.next = a >> 2

    return compute


@block
def wrong_remainder(clk, a, y):
    @always_comb
    def compute():
        y.next = a % 4

    return compute


@block
def right_remainder(clk, a, y):
    @always_comb
    def compute():
        y.next = a & 3

    return compute


@block
def wrong_call(clk, a, b, y):
    @always_comb
    def compute():
        y.next = min(a, b)

    return compute


@block
def right_call(clk, a, b, y):
    @always_comb
    def compute():
        if a < b:
            y.next = a
        else:
            y.next = b

    return compute


@block
def wrong_invert(clk, a, y):
    @always_comb
    def compute():
        y.next = ~a

    return compute


@block
def right_invert(clk, a, y):
    @always_comb
    def compute():
        y.next = a ^ 255

    return compute


@block
def wrong_product(clk, a, b, y):
    @always_comb
    def compute():
        y.next = (a * b) >> 8

    return compute


@block
def right_product(clk, a, b, y):
    product = unsigned(16)

    @always_comb
    def multiply():
        product.next = a * b

    @always_comb
    def compute():
        y.next = product >> 8

    return multiply, compute


@block
def wrong_mean(clk, a, b, y):
    @always_comb
    def compute():
        y.next = (a + b) >> 1

    return compute


@block
def right_mean(clk, a, b, y):
    @always_comb
    def compute():
        total = intbv(0)[9:]
        total[:] = a + b
        y.next = total >> 1

    return compute


@block
def wrong_carry(clk, a, b, y):
    @always_comb
    def compute():
        y.next = a + b > a

    return compute


@block
def right_carry(clk, a, b, y):
    @always_comb
    def compute():
        total = intbv(0)[9:]
        total[:] = a + b
        y.next = total > a

    return compute


@block
def wrong_truth(clk, a, b, y):
    @always_comb
    def compute():
        y.next = not (a + b)

    return compute


@block
def right_truth(clk, a, b, y):
    @always_comb
    def compute():
        y.next = a == 0 and b == 0

    return compute


@block
def wrong_difference(clk, a, b, y):
    @always_comb
    def compute():
        y.next = a - 1 < b

    return compute


@block
def right_difference(clk, a, b, y):
    @always_comb
    def compute():
        y.next = a < b + 1

    return compute


@block
def wrong_shift_amount(clk, a, n, y):
    @always_comb
    def compute():
        y.next = a >> (n << 1)

    return compute


@block
def right_shift_amount(clk, a, n, y):
    amount = unsigned(3)

    @always_comb
    def double():
        amount.next = n << 1

    @always_comb
    def compute():
        y.next = a >> amount

    return double, compute


@block
def wrong_mixed_signs(clk, a, b, y):
    left, right = signed(8), unsigned(8)

    @always_comb
    def enter():
        left.next = a
        right.next = b

    @always_comb
    def compute():
        y.next = left + (right >> 1)

    return enter, compute


@block
def right_mixed_signs(clk, a, b, y):
    left, right = signed(8), signed(9)

    @always_comb
    def enter():
        left.next = a
        right.next = b

    @always_comb
    def compute():
        y.next = left + (right >> 1)

    return enter, compute


@block
def wrong_mixed_comparison(clk, a, b, y):
    left, right = signed(8), unsigned(8)

    @always_comb
    def enter():
        left.next = a
        right.next = b

    @always_comb
    def compute():
        y.next = (left >> 1) < right

    return enter, compute


@block
def right_mixed_comparison(clk, a, b, y):
    left, right = signed(8), signed(9)

    @always_comb
    def enter():
        left.next = a
        right.next = b

    @always_comb
    def compute():
        y.next = (left >> 1) < right

    return enter, compute


@block
def wrong_constant(clk, wide, y):
    @always_comb
    def compute():
        y.next = wide < BIG

    return compute


@block
def right_constant(clk, wide, y):
    @always_comb
    def compute():
        y.next = (wide >> 30) < 1

    return compute


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


@dataclass(frozen=True)
class Example:
    """The pair wrong_`name` and right_`name`.

    Attributes:
        shapes: bits of each port, negative where it is signed; names are those of the wrong block.
        refused: how the conversion or Icarus refuses the wrong block; None if it runs and gives other values.
    """

    rule: str
    name: str
    shapes: dict[str, int]
    refused: str | None = None

    @property
    def wrong(self) -> Callable:
        return globals()[f"wrong_{self.name}"]

    @property
    def right(self) -> Callable:
        return globals()[f"right_{self.name}"]


EXAMPLES = [
    Example("conditional", "conditional", {"a": -8, "b": 8, "n": 2, "y": -9}),
    Example("division", "division", {"a": -8, "y": -8}),
    Example("division", "remainder", {"a": -8, "y": 8}),
    Example("call", "call", {"a": 8, "b": 8, "y": 8}, "No function named `min'"),
    Example("invert", "invert", {"a": 8, "y": 16}),
    Example("width", "product", {"a": 8, "b": 8, "y": 8}),
    Example("width", "mean", {"a": 8, "b": 8, "y": 8}),
    Example("width", "carry", {"a": 8, "b": 8, "y": 1}),
    Example("width", "truth", {"a": 1, "b": 1, "y": 1}),
    Example("difference", "difference", {"a": 3, "b": 3, "y": 1}),
    Example("shift amount", "shift_amount", {"a": 8, "n": 2, "y": 8}),
    Example("mixed signs", "mixed_signs", {"a": -8, "b": 8, "y": -10}),
    Example("mixed signs", "mixed_comparison", {"a": -8, "b": 8, "y": 1}),
    Example("constant", "constant", {"wide": -40, "y": 1}),
    Example("part-select", "part_select", {"a": 8, "y": 4}, "not allowed in a constant expression"),
    Example("table", "table", {"a": 8, "n": 2, "y": 9}, "Unable to bind wire/reg/memory `TABLE"),
    Example("list slice", "list_slice", {"a": 8, "y": 4}),
    Example("list slice", "list_split", {"a": 8, "y": 4}),
    Example("slice list", "slice_list", {"a": 8, "y": 4}),
    Example("slice list", "slice_list_argument", {"a": 8, "y": 4}),
    Example("concat slice", "concat_slice", {"a": 8, "b": 8, "y": 8}, "has no attribute '_right'"),
    Example("initial value", "initial_value", {"reset": 1, "a": 8, "y": 8}),
    Example("keyword", "keyword", {"a": 8, "y": 8}, "syntax error"),
    Example("keyword", "keyword_argument", {"small": 8, "y": 8}, "syntax error"),
    Example("keyword", "keyword_in_process", {"a": 8, "y": 8}, "syntax error"),
    Example("keyword", "process_name", {"a": 8, "y": 8}, "syntax error"),
    Example("tree", "tree", {"tree": 8, "y": 8}, "multiple values for argument 'tree'"),
]
