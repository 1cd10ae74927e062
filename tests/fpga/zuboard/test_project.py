"""The generated project, executed with stub commands in place of Vivado's."""

import re

import pytest

from fpga.zuboard import board
from fpga.zuboard.project import settings, verilog, with_attributes
from fpga.zuboard.top import board_config
from golden.config import NAMED, ConfigError
from tests.fpga.zuboard import vivado_stub
from tests.fpga.zuboard.projects import config, project


def executed(folder, bits=64, **stub):
    """The commands of the project script of a bus width, as lists of words, after it has ended well."""
    folder = project(folder, bits)
    done = vivado_stub.run(folder, ["zuboard.tcl"], **stub)
    assert done.returncode == 0, done.stderr
    return vivado_stub.calls(folder)


def refused(folder, bits=64, **stub):
    """What the project script says when it stops."""
    done = vivado_stub.run(project(folder, bits), ["zuboard.tcl"], **stub)
    assert done.returncode != 0
    return done.stdout


def properties(calls, owner):
    """All that was set on an object."""
    found = {}
    for call in calls:
        if call[0] == "set_property" and call[-1] == owner:
            words = call[2].split() if call[1] == "-dict" else call[1:3]
            found |= dict(zip(words[::2], words[1::2], strict=True))
    return found


def nets(calls):
    return {tuple(call[1:]) for call in calls if call[0] in ("connect_bd_net", "connect_bd_intf_net")}


@pytest.mark.parametrize("bits", [64, 128])
def test_order_of_the_project(tmp_path, bits):
    calls = executed(tmp_path, bits)
    # Part, then all Verilog with the top last, then constraints, then the block design, and Edalize's top at the end.
    assert calls[0] == ["create_project", "zuboard", "-force"]
    assert calls[1] == ["set_property", "part", "xczu1cg-sbva484-1-e", "zuboard"]
    names = [call[0] for call in calls]
    sources = [call[1] for call in calls if call[0] == "read_verilog"]
    assert names[2 : 2 + len(sources)] == ["read_verilog"] * len(sources)
    assert sources[-1] == "rtl/zuboard.v"
    assert sorted(sources) == sorted(f"rtl/{path.name}" for path in (tmp_path / "project" / "rtl").iterdir())
    assert calls[2 + len(sources)] == ["read_xdc", "-unmanaged", "zuboard.xdc"]
    order = [
        "read_xdc", "create_bd_design", "create_bd_cell", "connect_bd_net", "assign_bd_address", "validate_bd_design",
        "save_bd_design", "generate_target", "make_wrapper",
    ]  # fmt: skip
    assert [names.index(name) for name in order] == sorted(names.index(name) for name in order)
    last = [call for call in calls if call[:2] == ["set_property", "top"]][-1]
    assert last == ["set_property", "top", "zuboard_system_wrapper", "sources_1"]
    assert names.index("make_wrapper") < calls.index(last)
    assert calls[names.index("make_wrapper") + 1][:2] == ["add_files", "-norecurse"]
    # A module reference does not work with the compile order that Edalize sets otherwise.
    assert properties(calls, "zuboard")["source_mgmt_mode"] == "All"


@pytest.mark.parametrize("bits", [64, 128])
def test_processing_system(tmp_path, bits):
    found = properties(executed(tmp_path, bits), "/ps")
    expected = {
        "PSU__FPGA_PL0_ENABLE": "1",
        "PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ": "150",
        "PSU__USE__M_AXI_GP0": "1",
        "PSU__USE__M_AXI_GP1": "0",
        "PSU__USE__M_AXI_GP2": "0",
        "PSU__USE__S_AXI_GP2": "1",
        "PSU__SAXIGP2__DATA_WIDTH": str(bits),
        "PSU__USE__IRQ0": "1",
    }
    assert {name: found[f"CONFIG.{name}"] for name in expected} == expected


def test_connections(tmp_path):
    calls = executed(tmp_path)
    clocked = (
        "ps/maxihpm0_fpd_aclk", "ps/saxihp0_fpd_aclk", "reset/slowest_sync_clk", "registers/aclk", "memory/aclk",
        "zuboard/aclk",
    )  # fmt: skip
    assert nets(calls) == {("/ps/pl_clk0", f"/{pin}") for pin in clocked} | {
        ("/ps/pl_resetn0", "/reset/ext_reset_in"),
        ("/reset/interconnect_aresetn", "/registers/aresetn"),
        ("/reset/interconnect_aresetn", "/memory/aresetn"),
        ("/reset/peripheral_aresetn", "/zuboard/aresetn"),
        ("/ps/M_AXI_HPM0_FPD", "/registers/S00_AXI"),
        ("/registers/M00_AXI", "/zuboard/s_axi"),
        ("/zuboard/m_axi", "/memory/S00_AXI"),
        ("/memory/M00_AXI", "/ps/S_AXI_HP0_FPD"),
        ("/zuboard/interrupt", "/ps/pl_ps_irq0"),
    }
    cells = [call[1:] for call in calls if call[0] == "create_bd_cell"]
    assert [cell[-1] for cell in cells] == ["ps", "zuboard", "reset", "registers", "memory"]
    # The newest of each IP, by number and not by letter.
    assert all(cell[3].endswith(":3.10") for cell in cells if cell[1] == "ip")
    assert ["-type", "module", "-reference", "zuboard", "zuboard"] in cells


def test_addresses(tmp_path):
    calls = executed(tmp_path)
    given = [call[1:] for call in calls if call[0] == "assign_bd_address"]
    assert given == [
        [
            "-offset", "0xA0000000", "-range", "4096", "-target_address_space", "/ps/Data", "/zuboard/s_axi/reg0",
            "-force",
        ],
        ["-target_address_space", "/zuboard/m_axi", "/ps/SAXIGP2/HP0_DDR_LOW", "-force"],
    ]  # fmt: skip
    excluded = [call[-1] for call in calls if call[0] == "exclude_bd_addr_seg"]
    assert excluded == ["/ps/SAXIGP2/HP0_QSPI", "/ps/SAXIGP2/HP0_LPS_OCM"]


def test_clock_reset_and_interrupt_are_named_to_vivado(tmp_path):
    inferred = {call[1]: call[2] for call in executed(tmp_path) if call[0] == "inferred"}
    assert inferred == {"busif": "s_axi:m_axi", "reset": "ACTIVE_LOW", "interrupt": "LEVEL_HIGH"}


def test_hardware_description_is_beside_the_bitstream(tmp_path):
    executed(tmp_path)
    assert (tmp_path / "project" / "zuboard.hwh").read_text() == "<EDKSYSTEM/>\n"


def test_constraints_and_reports_belong_to_the_implementation(tmp_path):
    calls = executed(tmp_path)
    assert properties(calls, "zuboard.xdc") == {"used_in_synthesis": "false"}
    assert properties(calls, "impl_1")["STEPS.WRITE_BITSTREAM.TCL.PRE"].endswith("/reports.tcl")


def test_board_files_are_used_where_they_are(tmp_path):
    boards = "avnet.com:zuboard_1cg:part0:1.0 avnet.com:zuboard_1cg:part0:1.2"
    calls = executed(tmp_path, boards=boards)
    assert properties(calls, "zuboard")["board_part"] == "avnet.com:zuboard_1cg:part0:1.2"
    preset = next(call for call in calls if call[0] == "apply_bd_automation")
    assert preset[1:] == [
        "-rule", "xilinx.com:bd_rule:zynq_ultra_ps_e", "-config", 'apply_board_preset "1"', "/ps"
    ]  # fmt: skip
    # The preset first: it sets all of the processing system.
    assert calls.index(preset) < next(i for i, call in enumerate(calls) if call[1:2] == ["-dict"] and call[3] == "/ps")
    assert "CONFIG.PSU__PSS_REF_CLK__FREQMHZ" not in properties(calls, "/ps")


def test_without_board_files_the_reference_clock_is_given(tmp_path):
    calls = executed(tmp_path)
    assert "apply_bd_automation" not in [call[0] for call in calls]
    assert properties(calls, "/ps")["CONFIG.PSU__PSS_REF_CLK__FREQMHZ"] == "33.333"
    assert not any("board_part" in call for call in calls)


@pytest.mark.parametrize(
    "stub, sentence",
    [
        ({"missing": "m_axi"}, "did not infer the interface m_axi on module zuboard"),
        ({"missing": "s_axi"}, "did not infer the interface s_axi on module zuboard"),
        ({"hz": "142857132"}, "pl_clk0 runs at 142857132 Hz instead of 150000000 Hz"),
        ({"hz": "166666656"}, "pl_clk0 runs at 166666656 Hz instead of 150000000 Hz"),
        ({"segments": "/ps/SAXIGP2/HP0_QSPI"}, "no segment HP0_DDR_LOW"),
        ({"handoff": "0"}, "wrote no zuboard_system.hwh"),
        (
            {"boards": "acme:zuboard_1cg:part0:9.0", "board_device": "xczu2cg-sbva484-1-e"},
            "part is xczu2cg-sbva484-1-e instead of xczu1cg-sbva484-1-e",
        ),
    ],
)
def test_what_is_wrong_stops_the_project(tmp_path, stub, sentence):
    assert sentence in refused(tmp_path, **stub)


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("m_axi_rready", "m_axi_read_ready", "did not infer the interface m_axi"),
        ("m_axi_awlen", "m_axi_awbeats", "m_axi of zuboard has CONFIG.PROTOCOL AXI4LITE instead of AXI4"),
        ("[63:0] m_axi_wdata", "[31:0] m_axi_wdata", "m_axi of zuboard has CONFIG.DATA_WIDTH 32 instead of 64"),
        ("input  wire s_axi_bready", "input  wire s_axi_b_ready", "did not infer the interface s_axi"),
    ],
)
def test_another_top_stops_the_project(tmp_path, old, new, sentence):
    folder = project(tmp_path)
    top = folder / "rtl" / "zuboard.v"
    assert old in top.read_text()
    top.write_text(top.read_text().replace(old, new))
    done = vivado_stub.run(folder, ["zuboard.tcl"])
    assert done.returncode != 0 and sentence in done.stdout


def test_a_missing_file_stops_the_project(tmp_path):
    folder = project(tmp_path)
    (folder / "rtl" / "engine.v").unlink()
    assert "rtl/engine.v" in vivado_stub.run(folder, ["zuboard.tcl"]).stderr


@pytest.mark.parametrize(
    "stub, sentence",
    [
        ({"setup": "-0.001"}, "setup slack is -0.001 ns"),
        ({"hold": "-0.001"}, "hold slack is -0.001 ns"),
        ({"setup": "none"}, "no setup path is timed"),
        ({"clocks": ""}, "there is no clock clk_pl_0"),
    ],
)
def test_make_by_hand_gives_no_bitstream_that_is_too_slow(tmp_path, stub, sentence):
    folder = project(tmp_path)
    assert vivado_stub.run(folder, ["zuboard.tcl"]).returncode == 0
    scripts = ["zuboard_synth.tcl", "zuboard_run.tcl", "zuboard.xpr"]
    done = vivado_stub.run(folder, scripts, **stub)
    assert done.returncode != 0 and sentence in done.stdout and not (folder / "zuboard.bit").exists()
    assert vivado_stub.run(folder, scripts).returncode == 0 and (folder / "zuboard.bit").exists()


def test_no_source_is_a_target_of_the_makefile(tmp_path):
    # Edalize's Makefile makes NAME.v, which would take the place of a source of that name.
    folder = project(tmp_path)
    rules = re.findall(r"^(\S[^:\n]*):(.*)", (folder / "Makefile").read_text(), re.M)
    targets = {target for names, _ in rules for target in names.split()}
    sources = {f"rtl/{path.name}" for path in (folder / "rtl").iterdir()}
    assert "zuboard.v" in targets and targets & sources == set()
    needed = next(depends for names, depends in rules if names == "zuboard.xpr").split()
    assert sources | {"zuboard.xdc", "settings.tcl", "block_design.tcl"} <= set(needed)


def test_attributes_need_their_ports():
    with pytest.raises(ValueError, match="0 ports aresetn instead of one"):
        with_attributes("module zuboard (\n    input  wire aclk,\n    output wire interrupt\n);")


def test_a_word_that_is_no_axi_width_is_refused():
    with pytest.raises(ConfigError, match="use a configuration such as base"):
        board_config(NAMED["tiny"])


def test_the_attributes_change_nothing_else():
    text = verilog(config())["zuboard.v"]
    plain = re.sub(r"^ *\(\*.*\*\)\n", "", text, flags=re.M)
    assert text.count("(*") - plain.count("(*") == 3  # `@(*)` has one, too
    assert re.search(r"\(\* .*aclk CLK.*\*\)\n    input  wire aclk,", text)


def test_the_clock_is_that_of_the_registers():
    from fpga.zuboard.top import CLOCK_HZ

    assert CLOCK_HZ == board.CLOCK_HZ == 150_000_000
    assert "bus_bits {64}" in settings(config(64)) and "bus_bits {128}" in settings(config(128))
