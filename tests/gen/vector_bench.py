"""A testbench in plain Verilog for the vectors of a generated core, as a user of the core would write it."""

import json
import subprocess
from pathlib import Path

from gen.verilog import TOP, flat_ports
from golden.config import EngineConfig
from hw.engine_system import SystemPorts

DRIVEN = "start", "latency", "stall", "host_write", "host_address", "host_data"


def bench(config: EngineConfig, vector: dict, folder: Path, number: int) -> str:
    """Load memory through the host port, run, compare every word and counter; complain of every X after reset."""
    ports = flat_ports(SystemPorts(config))
    driven = [name for name in ports if name in DRIVEN or name.startswith("descriptor_")]
    seen = [name for name in ports if name not in driven]
    declarations = "".join(f"reg [{len(ports[name]) - 1}:0] {name} = 0;\n" for name in driven)
    declarations += "".join(f"wire [{len(ports[name]) - 1}:0] {name};\n" for name in seen)
    settings = "".join(f"descriptor_{name} = {value};\n" for name, value in vector["descriptor"].items())
    # host_q is a word of memory, which holds nothing before it is loaded.
    unknown = "".join(
        f'if (^{name} === 1\'bx) begin $display("X on {name} at cycle %0d", cycle); $finish; end\n'
        for name in seen
        if name != "host_q"
    )
    counters = {f"counters_{name}": value for name, value in vector["counters"].items()}
    counters |= {f"{name}_bytes": counters.pop(f"counters_memory_{name}_bytes") for name in ("read", "write")}
    checks = "".join(
        f'if ({name} !== {value}) begin $display("{name} is %0d, not {value}", {name}); $finish; end\n'
        for name, value in counters.items()
    )
    words = vector["words"]
    return f"""module bench;
reg clk = 0, reset = 1;
integer cycle = 0, index;
reg [{config.word_bits - 1}:0] before [0:{words - 1}], after [0:{words - 1}];
{declarations}
{TOP} dut (.clk(clk), .reset(reset), {", ".join(f".{name}({name})" for name in ports)});
always #5 clk = !clk;
always @(negedge clk) begin
    cycle = cycle + 1;
    if (cycle > 4) begin
{unknown}
    end
end
initial begin
    $readmemh("{folder}/{number:03}_before.hex", before);
    $readmemh("{folder}/{number:03}_after.hex", after);
    repeat (3) @(negedge clk);
    reset = 0;
    repeat (3) @(negedge clk);
    host_write = 1;
    for (index = 0; index < {words}; index = index + 1) begin
        host_address = index;
        host_data = before[index];
        @(negedge clk);
    end
    host_write = 0;
    latency = {vector["latency"]};
    {settings}
    start = 1;
    @(negedge clk);
    start = 0;
    while (busy) @(negedge clk);
{checks}
    for (index = 0; index < {words}; index = index + 1) begin
        host_address = index;
        @(negedge clk);
        if (host_q !== after[index]) begin
            $display("word %0d is %h, not %h", index, host_q, after[index]);
            $finish;
        end
    end
    $display("equal after %0d cycles", cycle);
    $finish;
end
endmodule
"""


def play(core: Path, number: int, work: Path) -> str:
    """Run vector `number` of the core in folder `core` in Icarus; returns what the bench says."""
    config = EngineConfig.from_file(core / "config.json")
    vector = json.loads((core / "vectors" / f"{number:03}.json").read_text())
    (work / "bench.v").write_text(bench(config, vector, core / "vectors", number))
    sources = [core / name for name in (core / "filelist_system.f").read_text().split()]
    program = work / "bench.vvp"
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", program, work / "bench.v", *sources], check=True)
    return subprocess.run(["vvp", program], capture_output=True, text=True, check=True).stdout.strip()
