"""Signal constructors and lane packing shared by all blocks."""

from myhdl import ConcatSignal, Signal, always_comb, block, intbv


def bit():
    """One-bit signal."""
    return Signal(bool(0))


def unsigned(width):
    """Unsigned vector of `width` bits."""
    return Signal(intbv(0)[width:])


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
    packed = ConcatSignal(*reversed(lanes)) if len(lanes) > 1 else lanes[0](len(lanes[0]), 0)

    @always_comb
    def drive():
        vector.next = packed

    return drive
