"""Register slice whose ready is a register, too."""

from myhdl import always, always_comb, block

from hw.signals import bit, unsigned


@block
def skid(clk, reset, valid, ready, d, out_valid, out_ready, q):
    """Pass words on with valid and ready, through registers in both directions.

    Latency: one cycle. Throughput: a word a cycle. The word that arrives while ready falls waits in a second register.

        valid      _|1 1 1|_______
        ready      1|1 1|0 0|1 1 1     falls a cycle after out_ready
        out_valid  ___|1 1 1 1 1|_
        out_ready  1 1|1|0 0|1 1 1

    Ports: clk; reset: what is held is dropped; valid, ready, d: input; out_valid, out_ready, q: output.
    """
    spare, spare_valid, move = unsigned(len(d)), bit(), bit()

    @always_comb
    def moves():
        move.next = out_ready or not out_valid

    @always(clk.posedge)
    def flow():
        if reset:
            ready.next = False
            out_valid.next = False
            spare_valid.next = False
        elif move:
            ready.next = True
            spare_valid.next = False
            out_valid.next = spare_valid or (valid and ready)
        elif valid and ready:
            ready.next = False
            spare_valid.next = True
        else:
            ready.next = not spare_valid

    @always(clk.posedge)
    def carry():
        if ready:
            spare.next = d
        # A port shows nothing that was never written.
        if reset:
            q.next = 0
        elif move:
            if spare_valid:
                q.next = spare
            elif valid:
                q.next = d

    return moves, flow, carry
