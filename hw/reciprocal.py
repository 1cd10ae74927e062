"""Reciprocal of a row sum."""

from myhdl import always, always_comb, block

from golden.formats import MANTISSA_BITS, NORMAL_BITS, RECIPROCAL_BITS
from golden.tables import RECIPROCAL_GUARD, REMAINDER_BITS, SEGMENT_BITS, reciprocal_table
from hw.delay import delay
from hw.rom import rom
from hw.signals import unsigned, wrapping

LEVELS = (16, 8, 4, 2, 1)


def shift_bits(config):
    """Bits of the largest shift that l can ask for, five at least."""
    return max(5, (config.sum_bits - 1 + config.element_bits - (NORMAL_BITS - 1)).bit_length())


@block
def reciprocal(clk, total, inverse, shift, element_bits):
    """1/l: l is normalised to an 18-bit mantissa, looked up in 512 segments and interpolated.

    Latency: 11 cycles (golden.latency.RECIPROCAL): leading one 5, round 1, table 2, interpolate 3. Throughput: one
    a cycle. A total below 2**15, which no row that saw a key has, gives a meaningless result.

    Ports: clk; total: l, 16 fraction bits, at most 33 bits; inverse: UQ0.17, the reciprocal of l's mantissa in [1, 2);
    shift: what brings O to 18 bits, l's exponent + element_bits - 17,
    in shift_bits.
    """
    bits = max(len(total), MANTISSA_BITS + 1)
    value_bits = RECIPROCAL_BITS + RECIPROCAL_GUARD
    slope_bits = max(slope for _, slope in reciprocal_table()).bit_length()
    table = tuple((value << slope_bits) | slope for value, slope in reciprocal_table())
    one = (1 << RECIPROCAL_BITS) - 1
    # Exponent of a number of `bits` bits without leading zeros, plus what O's format adds to it.
    top_shift = (bits - 1 + element_bits - (NORMAL_BITS - 1)) % (1 << len(shift))

    # Each level hands on as many bits as can still reach the mantissa and its rounding bit.
    entered, normal = unsigned(bits), unsigned(MANTISSA_BITS + 1)
    # Counted modulo what shift holds.
    no_zeros, zero_count = (wrapping(len(shift)) for _ in range(2))
    x = [entered, *(unsigned(min(bits, MANTISSA_BITS + level)) for level in LEVELS[:-1]), normal]
    zeros = [no_zeros, *(wrapping(len(shift)) for _ in LEVELS[1:]), zero_count]
    rounded = wrapping(MANTISSA_BITS)
    rounded_shift, mantissa_shift = wrapping(len(shift)), wrapping(len(shift))
    segment = unsigned(SEGMENT_BITS)
    read = unsigned(value_bits + slope_bits)
    value, late_value, line_value = (unsigned(value_bits) for _ in range(3))
    slope, slope_factor = unsigned(slope_bits), unsigned(slope_bits)
    read_remainder, remainder, remainder_factor = (unsigned(REMAINDER_BITS) for _ in range(3))
    product, line = unsigned(slope_bits + REMAINDER_BITS), unsigned(value_bits)

    @always_comb
    def enter():
        entered.next = total
        no_zeros.next = 0

    @always(clk.posedge)
    def round_mantissa():
        rounded.next = normal[:1] + normal[0]
        rounded_shift.next = top_shift - zero_count
        # Where rounding has carried out of the mantissa, there are only zeros, and no leading one.
        mantissa_shift.next = rounded_shift + (not rounded[MANTISSA_BITS - 1])

    @always_comb
    def address():
        segment.next = rounded[MANTISSA_BITS - 1 : REMAINDER_BITS]
        line.next = line_value - (product >> REMAINDER_BITS)

    @always(clk.posedge)
    def interpolate():
        read_remainder.next = rounded[REMAINDER_BITS:]
        remainder.next = read_remainder
        value.next = read[value_bits + slope_bits : slope_bits]
        slope.next = read[slope_bits:]
        slope_factor.next = slope
        remainder_factor.next = remainder
        late_value.next = value
        product.next = slope_factor * remainder_factor
        line_value.next = late_value
        if line >= (one << RECIPROCAL_GUARD):
            inverse.next = one
        else:
            inverse.next = line[:RECIPROCAL_GUARD] + line[RECIPROCAL_GUARD - 1]

    levels = [
        leading_one(clk, x[index], zeros[index], x[index + 1], zeros[index + 1], distance)
        for index, distance in enumerate(LEVELS)
    ]
    late_shift = delay(clk, mantissa_shift, shift, 4)
    return enter, levels, round_mantissa, address, rom(clk, segment, read, table, "reciprocal"), interpolate, late_shift


@block
def leading_one(clk, x, zeros, y, zeros_out, distance):
    """Shift left by `distance` if that many top bits are zero, and count it. One cycle.

    A narrower y has the upper bits of the result, and has lost at most `distance` of the lower ones.
    """
    bits, keep, lost = len(x), len(x) - distance, len(x) - len(y)
    left, step = distance - lost, distance % (1 << len(zeros))

    @always(clk.posedge)
    def level():
        if x[bits:keep] == 0:
            y.next = x[keep:] << left
            zeros_out.next = zeros + step
        else:
            y.next = x[bits:lost]
            zeros_out.next = zeros

    return level
