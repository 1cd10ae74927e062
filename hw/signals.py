"""Signal constructors and lane packing shared by all blocks."""

from myhdl import ConcatSignal, Signal, always_comb, block, intbv, modbv


def bit():
    """One-bit signal."""
    return Signal(bool(0))


def unsigned(width):
    """Unsigned vector of `width` bits."""
    return Signal(intbv(0)[width:])


def wrapping(width):
    """Unsigned vector of `width` bits that wraps around."""
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
def any_of(bits, result):
    """result = OR of a list of bits. Combinational."""
    joined = unsigned(len(bits))

    @always_comb
    def reduce():
        result.next = joined != 0

    return join(bits, joined), reduce
