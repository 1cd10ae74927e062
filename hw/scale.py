"""Score to log domain: z = saturate(half_up(S * mantissa >> shift))."""

from myhdl import always, always_comb, block, concat, intbv

from golden.formats import SCALE_BITS, Z_BITS
from hw.shifter import shifter
from hw.signals import bit, signed, unsigned, wrapping

LOW_BITS = 18  # of s, signed, that fit one side of a signed 18 x 18 multiplier
FEW = 4  # the largest factor for which picking a multiple of the mantissa takes the place of a second multiplier


@block
def scale(clk, s, mantissa, shift, z, saturated):
    """One lane of the score scale, s20.12 result.

    Latency: 7 cycles (golden.latency.SCALE): operand registers, two partial products, their sum, shifter (3),
    round and saturate. Throughput: one a cycle. mantissa and shift are constant during a run.

    Ports: clk; s: signed score, at most 2**(bits - 2) above or below 0, which a sum of products with one sign bit to
    spare is; mantissa: 16 bits, unsigned; shift: 0..47; z: signed 32 bits; saturated: z was clamped.
    """
    bits = max(len(s), LOW_BITS + 2)
    wide = signed(bits)
    # s = high * 2**LOW_BITS + low, low signed: high is rounded to the nearest.
    # It wraps around where what is no score passes through, between the rows.
    low, high = signed(LOW_BITS), signed(bits - LOW_BITS)
    rounded = wrapping(bits - LOW_BITS)
    # A product needs no bit for the sign of mantissa, which is positive: no product is -1 * -1 at full scale.
    low_product = signed(LOW_BITS + SCALE_BITS)
    product = signed(bits + SCALE_BITS)
    shifted = signed(len(product) + 1)
    factor = signed(SCALE_BITS + 1)

    @always_comb
    def extend():
        wide.next = s

    @always_comb
    def show():
        high.next = rounded.signed()

    @always(clk.posedge)
    def multiply():
        low.next = wide[LOW_BITS:].signed()
        rounded.next = wide[bits:LOW_BITS] + wide[LOW_BITS - 1]
        factor.next = mantissa
        low_product.next = low * factor

    if 1 << (bits - 2 - LOW_BITS) <= FEW:
        high_part = few_multiples(clk, high, mantissa, low_product, product)
    else:
        high_part = high_multiplier(clk, high, factor, low_product, product)
    return (
        extend,
        show,
        multiply,
        high_part,
        shifter(clk, product, shift, shifted),
        round_and_saturate(clk, shifted, z, saturated),
    )


@block
def high_multiplier(clk, high, factor, low_product, product):
    """product = high * factor * 2**LOW_BITS + low_product, which is a cycle later than the factors. Two cycles."""
    high_product = signed(len(high) + len(factor) - 1)

    @always(clk.posedge)
    def multiply():
        high_product.next = high * factor
        product.next = (high_product << LOW_BITS) + low_product

    return multiply


@block
def few_multiples(clk, high, mantissa, low_product, product):
    """The same without a multiplier, for high from -FEW to FEW: one to four times the mantissa, which is constant, or
    nothing, is added or subtracted."""
    bits, low_bits, top_bits = len(high), len(low_product), len(product) - LOW_BITS
    ones = (1 << top_bits) - 1
    times = unsigned(2)
    none, negative, borrow, pick = bit(), bit(), bit(), unsigned(2)
    single, triple = unsigned(SCALE_BITS), unsigned(SCALE_BITS + 2)
    multiple, addend, above, top = unsigned(top_bits), unsigned(top_bits), signed(top_bits), wrapping(top_bits)
    low_part = unsigned(LOW_BITS)

    @always_comb
    def widen():
        times.next = high[2:]
        none.next = high == 0
        negative.next = high[bits - 1]
        above.next = low_product[low_bits:LOW_BITS].signed()

    @always_comb
    def count():
        # 0 to 3 for once to four times.
        if negative:
            pick.next = times ^ 3
        else:
            pick.next = concat(times[1] == times[0], not times[0])

    @always_comb
    def choose():
        if pick[1] and pick[0]:
            multiple.next = single << 2
        elif pick[1]:
            multiple.next = triple
        elif pick[0]:
            multiple.next = single << 1
        else:
            multiple.next = single

    @always(clk.posedge)
    def add():
        single.next = mantissa
        triple.next = (mantissa << 1) + mantissa
        # A negative multiple is its complement, plus one.
        borrow.next = negative
        if none:
            addend.next = 0
        elif negative:
            addend.next = multiple ^ ones
        else:
            addend.next = multiple
        top.next = above[top_bits:] + addend + borrow
        low_part.next = low_product[LOW_BITS:]

    @always_comb
    def put_together():
        product.next = concat(top, low_part).signed()

    return widen, count, choose, add, put_together


@block
def round_and_saturate(clk, shifted, z, saturated):
    """z = half of shifted, rounded half up and clamped, and whether it was. One cycle."""
    sign_bit, top = Z_BITS - 1, len(shifted) - 1
    z_max, z_min, ones = (1 << sign_bit) - 1, -(1 << sign_bit), (1 << (top - Z_BITS)) - 1
    # Only the bits of z are added up. Whether it fits is known from the bits above and z's sign before and after:
    # rounding carries into the sign of the largest z, and back into range from just below the smallest.
    rounded, beyond = wrapping(Z_BITS), bit()

    @always_comb
    def half_up():
        rounded.next = shifted[Z_BITS + 1 : 1] + shifted[0]

    @always_comb
    def judge():
        if shifted[Z_BITS] or rounded[sign_bit]:
            beyond.next = shifted[top + 1 : Z_BITS + 1] != ones
        else:
            beyond.next = shifted[top + 1 : Z_BITS + 1] != 0

    @always(clk.posedge)
    def saturate():
        saturated.next = beyond
        if not beyond:
            z.next = rounded.signed()
        elif shifted[top]:
            z.next = intbv(z_min)[Z_BITS:].signed()
        else:
            z.next = intbv(z_max)[Z_BITS:].signed()

    return half_up, judge, saturate
