"""Delay line."""

from myhdl import Signal, always, always_comb, block, concat

from hw.signals import unsigned


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
        return logic, [delay(*line) for line in later.lines]
    """

    def __init__(self, clk, reset):
        self.lines = []
        self._clk, self._reset = clk, reset

    def __call__(self, signal, cycles, clear=False):
        """A copy of `signal`, `cycles` later; clear: reset clears it on the way."""
        delayed = Signal(signal.val)
        self.lines.append((self._clk, signal, delayed, cycles, self._reset if clear else None))
        return delayed
