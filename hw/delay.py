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
