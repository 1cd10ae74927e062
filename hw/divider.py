"""Serial divider."""

from myhdl import always, always_comb, block

from hw.signals import unsigned, wrapping


@block
def divider(clk, load, step, dividend, divisor, quotient, remainder):
    """quotient and remainder of dividend / divisor, a bit a cycle.

    Latency: load, then as many steps as dividend has bits. Before the first step quotient is the dividend and remainder
    0, as for a divisor of 1. With divisor 0 the result means nothing.

    Ports: clk; load: take the dividend; step: next bit; dividend, divisor: unsigned; quotient: as wide as dividend;
    remainder: as wide as divisor.
    """
    bits, divisor_bits = len(dividend), len(divisor)
    partial, difference = unsigned(divisor_bits + 1), wrapping(divisor_bits + 1)

    @always_comb
    def bring_down():
        partial.next = (remainder << 1) | quotient[bits - 1]

    @always_comb
    def subtract():
        difference.next = partial - divisor

    @always(clk.posedge)
    def divide():
        if load:
            quotient.next = dividend
            remainder.next = 0
        elif step:
            if not difference[divisor_bits]:
                remainder.next = difference[divisor_bits:]
                quotient.next = (quotient[bits - 1 :] << 1) | 1
            else:
                remainder.next = partial[divisor_bits:]
                quotient.next = quotient[bits - 1 :] << 1

    return bring_down, subtract, divide
