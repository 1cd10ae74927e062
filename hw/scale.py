"""Score to log domain: z = saturate(half_up(S * mantissa >> shift))."""

from myhdl import always, always_comb, block, intbv, modbv

from golden.formats import SCALE_BITS, Z_BITS
from hw.shifter import shifter
from hw.signals import signed

LOW_BITS = 17  # S is split so that each half fits one signed 18 x 18 multiplier


@block
def scale(clk, s, mantissa, shift, z, saturated):
    """One lane of the score scale, s20.12 result.

    Latency: 7 cycles (golden.latency.SCALE): operand registers, two partial products, their sum, shifter (3),
    round and saturate. Throughput: one a cycle. mantissa and shift are constant during a run.

    Ports: clk; s: signed score; mantissa: 16 bits, unsigned; shift: 0..47; z: signed 32 bits; saturated: z was
    clamped.
    """
    bits = max(len(s), LOW_BITS + 1)
    wide = signed(bits)
    # A product needs no bit for the sign of mantissa, which is positive: no product is -1 * -1 at full scale.
    low, high = signed(LOW_BITS + 1), signed(bits - LOW_BITS)
    low_product, high_product = signed(LOW_BITS + SCALE_BITS + 1), signed(len(high) + SCALE_BITS)
    product = signed(bits + SCALE_BITS)
    shifted = signed(len(product) + 1)
    factor = signed(SCALE_BITS + 1)
    z_max, z_min = (1 << (Z_BITS - 1)) - 1, -(1 << (Z_BITS - 1))
    rounded_bits, sign_bit = len(product), Z_BITS - 1
    ones = (1 << (rounded_bits - sign_bit)) - 1

    @always_comb
    def extend():
        wide.next = s

    @always(clk.posedge)
    def multiply():
        low.next = wide[LOW_BITS:]
        high.next = wide[bits:LOW_BITS].signed()
        factor.next = mantissa
        low_product.next = low * factor
        high_product.next = high * factor
        product.next = (high_product << LOW_BITS) + low_product

    @always(clk.posedge)
    def round_and_saturate():
        rounded = modbv(0)[rounded_bits:]
        rounded[:] = shifted[rounded_bits + 1 : 1] + shifted[0]
        # In range if z's sign bit and all above it agree.
        if rounded[rounded_bits:sign_bit] == 0 or rounded[rounded_bits:sign_bit] == ones:
            z.next = rounded[Z_BITS:].signed()
            saturated.next = False
        else:
            if rounded[rounded_bits - 1]:
                z.next = intbv(z_min)[Z_BITS:].signed()
            else:
                z.next = intbv(z_max)[Z_BITS:].signed()
            saturated.next = True

    return extend, multiply, shifter(clk, product, shift, shifted), round_and_saturate
