"""Blocks wrong_* whose expressions convert to other values, and right_* beside them; see miscompile_examples."""

from __future__ import annotations

from myhdl import always_comb, block, intbv

from hw.signals import signed, unsigned

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
