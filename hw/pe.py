"""Processing element of the weight-stationary systolic arrays."""

from myhdl import Signal, always, block

from hw.signals import signed


@block
def pe(clk, act_in, act_out, psum_in, psum_out, weight_in, weight_out, shift, swap):
    """psum_out = psum_in + act * active weight, with a second weight register that loads meanwhile.

    act_in at cycle t leaves as act_out at t+1 and is in psum_out at t+4, so that psum_in is due at t+3.
    shift at t moves weight_in into the next-weight register, visible as weight_out at t+1. swap at t makes the next
    weight active for act_in of t and later; shift may follow in the same cycle.

    Ports: clk; act_in, act_out, weight_in, weight_out, psum_in, psum_out: signed; shift, swap: one bit. psum_in is
    None in the first row, which adds to nothing.
    """
    active = Signal(weight_in.val)
    # Registers before and after the multiplier and nothing else: multiplier blocks have them inside.
    operand, factor = Signal(act_in.val), Signal(weight_in.val)
    # The first row's sum is as wide as its products get, which is less where an activation is never negative.
    product = signed(min(len(act_in) + len(weight_in), len(psum_out)))

    @always(clk.posedge)
    def multiply():
        act_out.next = act_in
        if shift:
            weight_out.next = weight_in
        if swap:
            active.next = weight_out
        operand.next = act_out
        factor.next = active
        product.next = operand * factor

    if psum_in is None:

        @always(clk.posedge)
        def first():
            psum_out.next = product

        return multiply, first

    @always(clk.posedge)
    def accumulate():
        psum_out.next = psum_in + product

    return multiply, accumulate
