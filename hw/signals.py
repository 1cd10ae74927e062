"""Signal constructors and lane packing shared by all blocks."""

from myhdl import ConcatSignal, Signal, always_comb, block, concat, intbv, modbv


def bit():
    """One-bit signal."""
    return Signal(bool(0))


def unsigned(width):
    """Unsigned vector of `width` bits."""
    return Signal(intbv(0)[width:])


def wrapping(width):
    """Unsigned vector of `width` bits that keeps the low bits of what it is set to: for counters that wrap around."""
    return Signal(modbv(0)[width:])


def signed(width):
    """Two's complement vector of `width` bits."""
    return Signal(intbv(0, min=-(1 << (width - 1)), max=1 << (width - 1)))


def index_bits(count):
    """Bits of an index below `count`, at least one."""
    return max(1, (count - 1).bit_length())


def split(vector, lanes):
    """The `lanes` equal slices of a packed vector, lane 0 in the low bits (unsigned)."""
    width = len(vector) // lanes
    return [vector((lane + 1) * width, lane * width) for lane in range(lanes)]


@block
def join(lanes, vector):
    """Drive a packed vector from a list of signals, lane 0 in the low bits. Combinational."""
    if len(lanes) == 1:
        return copy(lanes[0], vector)
    joined = ConcatSignal(*reversed(lanes))

    @always_comb
    def drive():
        vector.next = joined

    return drive


@block
def copy(value, result):
    """result = the bits of value. Combinational."""
    width = len(value)
    if isinstance(value.val, bool) or value.min == 0:

        @always_comb
        def drive():
            result.next = value

    else:

        @always_comb
        def drive():
            result.next = value[width:]

    return drive


@block
def to_signed(vector, value):
    """Reinterpret a slice, which is unsigned, as signed. Combinational."""

    @always_comb
    def cast():
        value.next = vector.signed()

    return cast


@block
def place(high, low, address, skip=0):
    """address = high, and below it as many bits of low, from bit `skip` up, as there is room for. Combinational."""
    bits = len(address) - len(high)
    if bits == 0:
        return copy(high, address)

    @always_comb
    def drive():
        address.next = concat(high, low[skip + bits : skip])

    return drive


@block
def round_up(value, shift, result):
    """result = value / 2**shift, to the next whole number. Combinational."""
    if shift == 0:
        return copy(value, result)

    if shift >= len(value):

        @always_comb
        def drive():
            result.next = value != 0

    else:

        @always_comb
        def drive():
            if value[shift:] != 0:
                result.next = value[:shift] + 1
            else:
                result.next = value[:shift]

    return drive


@block
def any_of(bits, result):
    """result = OR of a list of bits. Combinational."""
    joined = unsigned(len(bits))

    @always_comb
    def reduce():
        result.next = joined != 0

    return join(bits, joined), reduce


@block
def slice_of(vector, index, selected):
    """selected = slice number `index` of a vector of 2**n of them. Combinational.

    index: at least n bits; the low ones count.
    """
    instances, part = [], vector
    for level in reversed(range((len(vector) // len(selected) - 1).bit_length())):
        half = unsigned(len(part) // 2)
        instances.append(half_of(part, index(level), half))
        part = half
    return instances, copy(part, selected)


@block
def half_of(vector, upper, half):
    """half = the upper or the lower half of a vector. Combinational."""
    width = len(half)

    @always_comb
    def choose():
        if upper:
            half.next = vector[2 * width : width]
        else:
            half.next = vector[width:]

    return choose
