"""Memory of registers, written byte by byte."""

from myhdl import always, block


@block
def register_memory(clk, strobe, write_address, d, read_address, q, contents):
    """q shows the word at read_address one cycle later, at first that of `contents`.

    Throughput: a write and a read a cycle. A word that is read in the cycle in which it is written means nothing.

    Converted as the initialised memory that synthesis tools recognise as block RAM with write enables for bytes.

    Ports: clk; strobe: which bytes of d to write; write_address, d (in); read_address (in); q (out), unsigned, of as
    many bytes as strobe has bits.

    Parameters: contents: tuple of 2**len(read_address) values.
    """
    assert len(contents) == 1 << len(read_address), f"contents of {1 << len(read_address)} words, not {len(contents)}"
    words, lanes = list(contents), len(strobe)
    masks = tuple(sum(0xFF << 8 * lane for lane in range(lanes) if value >> lane & 1) for value in range(1 << lanes))

    @always(clk.posedge)
    def access():
        q.next = words[int(read_address)]
        old = words[int(write_address)]
        mask = masks[int(strobe)]
        words[int(write_address)] = old ^ ((old ^ int(d)) & mask)

    for port in (clk, strobe, write_address, d, read_address):
        port.read = True
    q.driven = "reg"
    entries = "\n".join(f"    ${{q}}_ram[{index}] = {len(q)}'d{value};" for index, value in enumerate(contents))
    stores = "\n".join(
        f"    if ($strobe[{lane}]) ${{q}}_ram[$write_address][{8 * lane + 7}:{8 * lane}] <= "
        f"$d[{8 * lane + 7}:{8 * lane}];"
        for lane in range(lanes)
    )
    register_memory.verilog_code = f"""
(* ram_style = "block" *)
reg [{len(q) - 1}:0] ${{q}}_ram [0:{len(contents) - 1}];
initial begin
{entries}
end
always @(posedge $clk) begin
{stores}
    $q <= ${{q}}_ram[$read_address];
end
"""
    return access
