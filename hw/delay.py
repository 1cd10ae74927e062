"""Delay line."""

from myhdl import Signal, always, always_comb, block


@block
def delay(clk, d, q, cycles, reset=None):
    """q is d, `cycles` clock cycles later (0: a wire). One value a cycle.

    Ports: clk; d (in) and q (out), of the same shape; reset (in, optional): clears every stage, for bits that
    start something when they arrive.
    """
    if cycles == 0:

        @always_comb
        def wire():
            q.next = d

        return wire

    if reset is not None:
        return cleared_line(clk, reset, d, q, cycles)

    if cycles == 1:

        @always(clk.posedge)
        def register():
            q.next = d

        return register

    stages = cycles - 1
    line = [Signal(d.val) for _ in range(stages)]

    @always(clk.posedge)
    def shift():
        line[0].next = d
        for stage in range(1, stages):
            line[stage].next = line[stage - 1]
        q.next = line[stages - 1]

    return shift


@block
def cleared_line(clk, reset, d, q, cycles):
    """Delay line of at least one cycle whose stages are cleared by reset."""
    if cycles == 1:

        @always(clk.posedge)
        def register():
            if reset:
                q.next = 0
            else:
                q.next = d

        return register

    stages = cycles - 1
    line = [Signal(d.val) for _ in range(stages)]

    @always(clk.posedge)
    def shift():
        if reset:
            for stage in range(stages):
                line[stage].next = 0
            q.next = 0
        else:
            line[0].next = d
            for stage in range(1, stages):
                line[stage].next = line[stage - 1]
            q.next = line[stages - 1]

    return shift


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
