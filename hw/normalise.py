"""Normalise: one chunk of an O row divided by l."""

from myhdl import always, always_comb, block, intbv

from golden.formats import NORMAL_BITS, NORMALISE_SHIFT, OUTPUT_BITS, RECIPROCAL_BITS
from hw.delay import delay
from hw.shifter import shifter
from hw.signals import bit, join, signed, split, to_signed, unsigned


@block
def normalise(clk, o, shift, inverse, seen, quotients, lanes):
    """quotient = half_up(half_up(O >> shift) * inverse >> 18), saturated to 16 bits; zero for a row that saw no key.

    Latency: 7 cycles (golden.latency.NORMALISE): shifter 3, round 1, multiply 2, round and saturate 1. Throughput:
    one chunk a cycle, one multiplier an element.

    Ports: clk; o: `lanes` signed accumulators; shift, inverse: see reciprocal; seen; quotients: `lanes` 16-bit lanes.
    """
    bits = len(o) // lanes
    factor = unsigned(RECIPROCAL_BITS)
    shown = bit()
    results = [signed(OUTPUT_BITS) for _ in range(lanes)]
    instances = [delay(clk, inverse, factor, 4), delay(clk, seen, shown, 6), join(results, quotients)]
    for lane, accumulator in enumerate(split(o, lanes)):
        value, shifted = signed(bits), signed(bits + 1)
        instances += [
            to_signed(accumulator, value),
            shifter(clk, value, shift, shifted),
            quotient(clk, shifted, factor, shown, results[lane]),
        ]
    return instances


@block
def quotient(clk, shifted, factor, shown, result):
    """Round the shifted accumulator to 18 bits, multiply by the reciprocal, round and saturate. Four cycles."""
    dividend = signed(NORMAL_BITS)
    multiplier = signed(RECIPROCAL_BITS + 1)
    product, late_product = signed(NORMAL_BITS + RECIPROCAL_BITS + 1), signed(NORMAL_BITS + RECIPROCAL_BITS + 1)
    top, bottom = (1 << (OUTPUT_BITS - 1)) - 1, -(1 << (OUTPUT_BITS - 1))
    half = 1 << (NORMALISE_SHIFT - 1)
    wide = 1 << len(shifted)
    limit = 1 << (NORMAL_BITS + RECIPROCAL_BITS + 1 - NORMALISE_SHIFT)

    @always_comb
    def widen():
        multiplier.next = factor

    @always(clk.posedge)
    def divide():
        rounded = intbv(0, min=-limit, max=limit)
        # Fits 18 bits for a final row (docs/numerics.md, 7); for others it may not, and is dropped.
        narrowed = intbv(0, min=-wide, max=wide)
        narrowed[:] = (shifted + 1) >> 1
        dividend.next = narrowed[NORMAL_BITS:].signed()
        product.next = dividend * multiplier
        late_product.next = product
        rounded[:] = (late_product + half) >> NORMALISE_SHIFT
        if not shown:
            result.next = 0
        elif rounded > top:
            result.next = top
        elif rounded < bottom:
            result.next = bottom
        else:
            result.next = rounded

    return widen, divide
