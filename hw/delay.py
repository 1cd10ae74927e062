"""Delay line."""

from myhdl import Signal, always, always_comb, block, concat

from hw.ring import ring
from hw.signals import copy, join, to_signed, unsigned

RINGS = 16, 8  # cycles of the rings that long lines share


@block
def delay(clk, d, q, cycles, reset=None):
    """q is d, `cycles` clock cycles later (0: a wire). One value a cycle.

    Ports: clk; d (in) and q (out), of the same shape; reset (in, optional, for one-bit signals): clears every
    stage, for bits that start something when they arrive.
    """
    if cycles == 0:

        @always_comb
        def wire():
            q.next = d

        return wire

    if cycles == 1 and reset is None:

        @always(clk.posedge)
        def register():
            q.next = d

        return register

    if reset is not None:
        return bit_line(clk, reset, d, q, cycles)
    return line(clk, d, q, cycles)


@block
def line(clk, d, q, cycles):
    """Delay of two cycles and more. The stages are one vector: simulators shift it at once, not stage by stage."""
    width, stages = len(d), cycles - 1
    total, last = width * stages, width * (stages - 1)
    held = unsigned(total) if stages > 1 else Signal(d.val)

    if stages == 1:

        @always(clk.posedge)
        def shift():
            held.next = d
            q.next = held

    elif isinstance(d.val, bool):

        @always(clk.posedge)
        def shift():
            held.next = concat(held[last:], d)
            q.next = held[last]

    elif d.min < 0:

        @always(clk.posedge)
        def shift():
            held.next = concat(held[last:], d[width:])
            q.next = held[total:last].signed()

    else:

        @always(clk.posedge)
        def shift():
            held.next = concat(held[last:], d)
            q.next = held[total:last]

    return shift


@block
def bit_line(clk, reset, d, q, cycles):
    """Delay of one bit whose stages are cleared by reset."""
    last = cycles - 1
    held = unsigned(cycles)

    if cycles == 1:

        @always(clk.posedge)
        def shift():
            if reset:
                held.next = 0
            else:
                held.next = d

    else:

        @always(clk.posedge)
        def shift():
            if reset:
                held.next = 0
            else:
                held.next = concat(held[last:], d)

    @always_comb
    def leave():
        q.next = held[last]

    return shift, leave


class Delays:
    """Delayed copies of signals, collected while a block is written down and instantiated by it at the end.

        later = Delays(clk, reset)
        x_3 = later(x, 3)
        return logic, delay_lines(later)

    Long lines share two rings, for as much of their way as these take.
    """

    def __init__(self, clk, reset):
        self.lines = []
        self.clk, self.reset = clk, reset

    def __call__(self, signal, cycles, clear=False, into=None):
        """A copy of `signal`, `cycles` later; clear: reset clears it on the way; into: the signal that becomes it."""
        delayed = Signal(signal.val) if into is None else into
        self.lines.append((signal, delayed, cycles, clear))
        return delayed


@block
def delay_lines(later):
    """The lines that a Delays object has collected."""
    shared = {length: ([], []) for length in RINGS}
    instances = []
    for signal, delayed, cycles, clear in later.lines:
        if clear:
            instances.append(delay(later.clk, signal, delayed, cycles, later.reset))
            continue
        part, left = signal, cycles
        for length, (entering, leaving) in shared.items():
            while left >= length:
                entering.append(part)
                part = Signal(signal.val)
                leaving.append(part)
                left -= length
        instances.append(delay(later.clk, part, delayed, left))
    for length, (entering, leaving) in shared.items():
        if entering:
            instances.append(shared_ring(later.clk, later.reset, entering, leaving, length))
    return instances


@block
def shared_ring(clk, reset, signals, delayed, cycles):
    """One ring for several signals."""
    bits = sum(len(signal) for signal in signals)
    entering, leaving = unsigned(bits), unsigned(bits)
    instances, low = [join(signals, entering), ring(clk, reset, entering, leaving, cycles)], 0
    for signal in delayed:
        width = len(signal)
        if isinstance(signal.val, bool):
            instances.append(copy(leaving(low), signal))
        elif signal.min < 0:
            instances.append(to_signed(leaving(low + width, low), signal))
        else:
            instances.append(copy(leaving(low + width, low), signal))
        low += width
    return instances
