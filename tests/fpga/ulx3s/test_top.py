"""The generated top with a stand-in for the PLL, under cocotb."""

import xml.etree.ElementTree as ElementTree

from cocotb_tools.runner import get_runner

from fpga.ulx3s.top import LEDS, ulx3s
from gen.hierarchy import modules
from gen.module_text import module_text
from golden.config import NAMED
from hw.signals import bit, unsigned
from tests.engine_runs import need
from tests.hw.uart import line_host
from tests.hw.uart.test_uart_system import clock_gated

# A PLL that makes of the oscillator what is asked for, and locks after a while; and the pins by the names of the bench.
AROUND = """
module ecp5_pll (input clkin, output clkout0, output locked);
    reg [3:0] count = 0;
    assign clkout0 = clkin;
    assign locked = count == 15;
    always @(posedge clkin) if (!locked) count <= count + 1;
endmodule

module board (input clk, input reset, input rx, output tx, output [7:0] led, output wifi_gpio0);
    ulx3s ulx3s (.clk_25mhz(clk), .ftdi_txd(rx), .ftdi_rxd(tx), .led(led), .wifi_gpio0(wifi_gpio0));
endmodule
"""


def test_top_under_cocotb(tmp_path):
    need("icarus")
    config = NAMED["tiny"]
    arguments = {
        "clk_25mhz": bit(), "ftdi_txd": bit(), "ftdi_rxd": bit(), "led": unsigned(LEDS), "wifi_gpio0": bit(),
        "config": config, "registers": line_host.MAP.registers, "clock_hz": line_host.CLOCK_HZ, "baud": line_host.BAUD,
    }  # fmt: skip
    sources = []
    for module in modules(ulx3s, arguments, "ulx3s"):
        sources.append(tmp_path / f"{module.name}.v")
        sources[-1].write_text(module_text(module))
    sources = clock_gated(sources, tmp_path)
    sources.append(tmp_path / "around.v")
    sources[-1].write_text(AROUND)
    runner = get_runner("icarus")
    runner.build(sources=sources, hdl_toplevel="board", build_dir=tmp_path / "build", timescale=("1ns", "1ps"))
    results = runner.test(
        test_module="tests.fpga.ulx3s.cocotb_top",
        seed=1,
        hdl_toplevel="board",
        build_dir=tmp_path / "build",
        test_dir=tmp_path,
        results_xml=str(tmp_path / "results.xml"),
        extra_env={"FLASHTILE_CONFIG": "tiny", "FLASHTILE_SEED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    cases = [*ElementTree.parse(results).getroot().iter("testcase")]
    assert [case.find("failure") is None and case.find("error") is None for case in cases] == [True]
