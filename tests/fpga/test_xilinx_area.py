"""Area and depth by yosys: counts of small designs, and the limits of the ZUBoard's."""

import pytest

from fpga.xilinx_area import AreaError, area, cell_counts
from fpga.zuboard.board import DEVICE
from fpga.zuboard.project import verilog
from fpga.zuboard.top import board_config
from gen.hierarchy import modules
from gen.module_text import module_text
from gen.verilog import write_sources
from golden.config import EngineConfig
from hw.p_buffer import p_buffer

SMALL = """
module small(input clk, input we, input [6:0] wa, ra, input [15:0] a, b, input [35:0] x, output reg [31:0] p,
             output reg [23:0] far, output reg [7:0] near, output reg parity, output reg late);
    reg [15:0] a1, b1;
    always @(posedge clk) begin a1 <= a; b1 <= b; p <= a1 * b1; end
    (* ram_style = "block" *)
    reg [23:0] big [0:127];
    always @(posedge clk) begin if (we) big[wa] <= {a, b[7:0]}; far <= big[ra]; end
    reg [7:0] little [0:31];
    always @(posedge clk) begin if (we) little[wa[4:0]] <= a[7:0]; near <= little[ra[4:0]]; end
    reg [35:0] x1;
    always @(posedge clk) begin x1 <= x; parity <= ^x1; end
    reg [9:0] line;
    always @(posedge clk) {late, line} <= {line, we};
endmodule
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return area(folder, write_sources({"small.v": SMALL}, folder), "small")


def test_cells_of_a_small_design(small):
    assert (small["dsp"], small["bram36"], small["latch"], small["uram"]) == (1, 0.5, 0, 0)
    # Eight LUTs are the smallest distributed RAM, and one a shift register. Of its tree of 36 bits abc makes 9 + 2 + 1.
    assert small["lut_logic"] == 12 and small["lut_memory"] == 8 + 1
    assert small["lut"] == small["lut_logic"] + small["lut_memory"]


def test_memories_of_a_small_design(small):
    found = {memory["name"]: (memory["words"], memory["bits"], memory["kind"]) for memory in small["memories"]}
    assert found == {"big": (128, 24, "block"), "little": (32, 8, "distributed")}


def test_depth_of_a_small_design(small):
    longest = small["paths"][0]
    assert (longest["levels"], longest["carries"], longest["end"]) == (3, 0, "parity")


def test_a_memory_of_a_small_engine_is_block_ram(tmp_path):
    config = EngineConfig("small", "int8", 2, 2, 8, 16, 64, 256, 1 << 16)
    names = "write", "d", "row", "shift", "fresh", "final", "last_final"
    made = modules(*p_buffer_arguments(config, names))
    found = area(tmp_path, write_sources({f"{m.name}.v": module_text(m) for m in made}, tmp_path), "p_buffer")
    (memory,) = found["memories"]
    assert memory["words"] > 64 and memory["kind"] == "block"
    assert found["paths"][0]["levels"] <= 4 and found["lut"] < 200 and found["dsp"] == 0


def p_buffer_arguments(config, names):
    """Block, arguments and name of the buffer of probability rows."""
    import inspect

    from golden.formats import P_BITS, SHIFT_BITS
    from hw.signals import bit, index_bits, unsigned

    lanes, index = config.array_keys, index_bits(config.p_rows)
    rows = index_bits(config.max_rows)
    widths = {
        "p": lanes * P_BITS, "row": rows, "shift": SHIFT_BITS, "write_index": index, "read_index": index,
        "act": lanes * (P_BITS + 1), "act_row": rows, "act_shift": SHIFT_BITS,
    }  # fmt: skip
    arguments = {}
    for name in inspect.signature(p_buffer.func).parameters:
        arguments[name] = config if name == "config" else unsigned(widths[name]) if name in widths else bit()
    return p_buffer, arguments, "p_buffer"


def test_distributed_memory_and_shift_registers_take_luts():
    cells = {"LUT6": 3, "LUT2": 1, "INV": 1, "RAM64M8": 2, "SRL16E": 5, "SRLC32E": 1, "FDRE": 7, "FDSE": 1}
    counts = cell_counts(cells)
    assert (counts["lut"], counts["lut_logic"], counts["lut_memory"], counts["ff"]) == (27, 5, 22, 8)
    assert cell_counts({"RAMB36E2": 2, "RAMB18E2": 3})["bram36"] == 3.5
    with pytest.raises(AreaError, match="LUTs of RAM1024X1 are not known"):
        cell_counts({"RAM1024X1": 1})


def test_what_yosys_says_is_passed_on(tmp_path):
    with pytest.raises(AreaError, match=r"could not synthesise absent: ERROR.*see .*yosys.log"):
        area(tmp_path, write_sources({"small.v": SMALL}, tmp_path), "absent")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    return area(folder, write_sources(verilog(board_config()), folder), "zuboard")


@pytest.mark.slow
def test_area_of_base(base):
    assert base["lut"] <= 25_000
    assert base["dsp"] <= 160
    assert base["latch"] == base["uram"] == 0
    assert base["ff"] <= DEVICE.ff / 2 and base["bram36"] <= DEVICE.bram36 / 2


@pytest.mark.slow
def test_memories_of_base(base):
    large = [memory for memory in base["memories"] if memory["words"] > 64]
    assert len(large) > 10 and [memory for memory in large if memory["kind"] != "block"] == []


@pytest.mark.slow
def test_depth_of_base(base):
    long = [f"{path['levels']}: {path['start']} to {path['end']}" for path in base["paths"] if path["levels"] > 8]
    assert long == []


