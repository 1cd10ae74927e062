"""Read-only table in block RAM."""

from myhdl import always, block


@block
def rom(clk, address, q, contents, label=None):
    """q shows contents[address] one cycle later.

    Converted as an initialised memory instead of MyHDL's case statement, which simulators search from the top and
    which synthesis cannot share between ports.

    Ports: clk; address (in); q (out), unsigned.

    Parameters: contents: tuple of 2**len(address) values; label: what they are, for the name of the module.
    """
    assert len(contents) == 1 << len(address), f"a table of {1 << len(address)} entries, not {len(contents)}"

    @always(clk.posedge)
    def read():
        q.next = contents[int(address)]

    clk.read = True
    address.read = True
    q.driven = "reg"
    entries = "\n".join(f"    ${{q}}_rom[{index}] = {len(q)}'d{value};" for index, value in enumerate(contents))
    rom.verilog_code = f"""
reg [{len(q) - 1}:0] ${{q}}_rom [0:{len(contents) - 1}];
initial begin
{entries}
end
always @(posedge $clk) $q <= ${{q}}_rom[$address];
"""
    return read
