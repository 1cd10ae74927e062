"""Score to log domain: z = saturate(half_up(S * mantissa >> shift))."""

from myhdl import always, always_comb, block, intbv

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
    low, high = signed(LOW_BITS + 1), signed(bits - LOW_BITS)
    low_product, high_product = signed(LOW_BITS + SCALE_BITS + 2), signed(len(high) + SCALE_BITS + 1)
    product = signed(bits + SCALE_BITS + 1)
    shifted = signed(len(product) + 1)
    factor = signed(SCALE_BITS + 1)
    z_max, z_min = (1 << (Z_BITS - 1)) - 1, -(1 << (Z_BITS - 1))

    rounded_limit = 1 << len(product)

    @always_comb
    def extend():
        wide.next = s

    @always(clk.posedge)
    def multiply():
        low.next = wide[LOW_BITS:]
        high.next = wide >> LOW_BITS
        factor.next = mantissa
        low_product.next = low * factor
        high_product.next = high * factor
        product.next = (high_product << LOW_BITS) + low_product

    @always(clk.posedge)
    def round_and_saturate():
        rounded = intbv(0, min=-rounded_limit, max=rounded_limit)
        rounded[:] = (shifted + 1) >> 1
        # In range if the sign bit and all above it agree; no comparison with constants of 32 bits, which
        # MyHDL writes as unsigned.
        saturated.next = (rounded >> (Z_BITS - 1)) != 0 and (rounded >> (Z_BITS - 1)) != -1
        if (rounded >> (Z_BITS - 1)) > 0:
            z.next = z_max
        elif (rounded >> (Z_BITS - 1)) < -1:
            z.next = z_min
        else:
            z.next = rounded

    return extend, multiply, shifter(clk, product, shift, shifted), round_and_saturate
