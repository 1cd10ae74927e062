"""Simple dual-port RAM."""

from myhdl import Signal, always, block, intbv


@block
def ram(clk, write, write_address, d, read_address, q, depth):
    """One write and one read port, synchronous read; maps to block RAM.

    Latency: q shows the word at read_address one cycle later. Reading an address in the cycle in which it is written
    is not defined: no block of this design does.

    Ports: clk; write, write_address, d (in); read_address (in); q (out), as wide as d.

    Parameters: depth: words.
    """
    width = len(d)
    memory = [Signal(intbv(0)[width:]) for _ in range(depth)]

    @always(clk.posedge)
    def write_port():
        if write:
            memory[write_address].next = d

    @always(clk.posedge)
    def read_port():
        q.next = memory[read_address]

    return write_port, read_port
