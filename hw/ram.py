"""Simple dual-port RAM."""

from myhdl import always, block

DISTRIBUTED = 64  # words, of which synthesis tools may make distributed RAM


@block
def ram(clk, write, write_address, d, read_address, q, depth):
    """One write and one read port, synchronous read; maps to block RAM.

    Latency: q shows the word at read_address one cycle later. The word being written is not read in the same cycle
    by any block of this design, so that synthesis need not provide for it.

    Simulated on a list of integers and converted as the memory that synthesis tools recognise: a MyHDL signal for
    each word would make a large memory slow to build.

    Ports: clk; write, write_address, d (in); read_address (in); q (out), as wide as d, unsigned.

    Parameters: depth: words.
    """
    words = [0] * depth

    @always(clk.posedge)
    def access():
        q.next = words[int(read_address)]
        if write:
            words[int(write_address)] = int(d)

    for port in (clk, write, write_address, d, read_address):
        port.read = True
    q.driven = "reg"
    # Synthesis tools would make distributed RAM of a narrow one.
    style = '(* ram_style = "block" *)\n' if depth > DISTRIBUTED else ""
    ram.verilog_code = f"""
{style}reg [{len(d) - 1}:0] ${{q}}_ram [0:{depth - 1}];
always @(posedge $clk) begin
    if ($write) ${{q}}_ram[$write_address] <= $d;
    $q <= ${{q}}_ram[$read_address];
end
"""
    return access
