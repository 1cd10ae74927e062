"""Normalise: one chunk of an O row divided by l."""

from myhdl import always, always_comb, block, modbv

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
    results = [unsigned(OUTPUT_BITS) for _ in range(lanes)]
    instances = [delay(clk, inverse, factor, 4), delay(clk, seen, shown, 6), join(results, quotients)]
    for lane, accumulator in enumerate(split(o, lanes)):
        value, shifted = signed(bits), signed(NORMAL_BITS + 1)
        instances += [
            to_signed(accumulator, value),
            shifter(clk, value, shift, shifted),
            quotient(clk, shifted, factor, shown, results[lane]),
        ]
    return instances


@block
def quotient(clk, shifted, factor, shown, result):
    """Round the shifted accumulator to 18 bits, multiply by the reciprocal, round and saturate. Four cycles.

    shifted: 18 bits and the guard bit; these hold it for a final row (docs/numerics.md, 7), and wrap for others.
    result: the bits of a signed number.
    """
    dividend = signed(NORMAL_BITS)
    multiplier = signed(RECIPROCAL_BITS + 1)
    bits = NORMAL_BITS + RECIPROCAL_BITS
    product, late_product = signed(bits), signed(bits)
    sign_bit = OUTPUT_BITS - 1
    top, bottom = (1 << sign_bit) - 1, 1 << sign_bit
    half, ones = 1 << (NORMALISE_SHIFT - 1), (1 << (bits - sign_bit)) - 1

    @always_comb
    def widen():
        multiplier.next = factor

    @always(clk.posedge)
    def divide():
        narrowed = modbv(0)[NORMAL_BITS:]
        narrowed[:] = shifted[:1] + shifted[0]
        dividend.next = narrowed.signed()
        product.next = dividend * multiplier
        late_product.next = product
        rounded = modbv(0)[bits:]
        rounded[:] = (late_product + half) >> NORMALISE_SHIFT
        # In range if the result's sign bit and all above it agree.
        if not shown:
            result.next = 0
        elif rounded[bits:sign_bit] == 0 or rounded[bits:sign_bit] == ones:
            result.next = rounded[OUTPUT_BITS:]
        elif rounded[bits - 1]:
            result.next = bottom
        else:
            result.next = top

    return widen, divide
