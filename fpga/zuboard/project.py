"""The Vivado project of the ZUBoard: Verilog, constraints, block design, and the Makefile and scripts of Edalize."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from edalize.flows.vivado import Vivado

from fpga.zuboard import board
from fpga.zuboard.top import TOP, top_modules
from gen.module_text import module_text
from golden.config import EngineConfig

NAME = "zuboard"  # of project, bitstream and hardware description
DESIGN = "zuboard_system"  # of the block design
RTL = "rtl"  # folder of the Verilog: Edalize's Makefile has a target NAME.v of its own, next to itself
CONSTRAINTS, SETTINGS, BLOCK_DESIGN, REPORTS = "zuboard.xdc", "settings.tcl", "block_design.tcl", "reports.tcl"

# Vivado infers the buses from names; these say which clock and reset they belong to, and what kind the interrupt is.
ATTRIBUTES = {
    "aclk": 'X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 aclk CLK", '
    'X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF s_axi:m_axi, ASSOCIATED_RESET aresetn"',
    "aresetn": 'X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 aresetn RST", '
    'X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW"',
    "interrupt": 'X_INTERFACE_INFO = "xilinx.com:signal:interrupt:1.0 interrupt INTERRUPT", '
    'X_INTERFACE_PARAMETER = "SENSITIVITY LEVEL_HIGH"',
}


def verilog(config: EngineConfig, build: int = 0) -> dict[str, str]:
    """Verilog of the top `zuboard`: text by file name, leaves first.

    Args:
        config: of the board, see fpga.zuboard.top.board_config. build: for the identity registers.
    """
    texts = {f"{module.name}.v": module_text(module) for module in top_modules(config, build)}
    texts[f"{TOP}.v"] = with_attributes(texts[f"{TOP}.v"])
    return texts


def with_attributes(text: str) -> str:
    """The top's Verilog with ATTRIBUTES in front of its ports.

    Raises:
        ValueError: a port is missing.
    """
    for port, attribute in ATTRIBUTES.items():
        text, count = re.subn(rf"^( *)((?:in|out)put\s+\w+ {port}\b)", rf"\1(* {attribute} *)\n\1\2", text, flags=re.M)
        if count != 1:
            raise ValueError(f"the top module has {count} ports {port} instead of one")
    return text


def constraints() -> str:
    """The XDC: the clock comes with the processing system, so that it is checked here instead of made."""
    longest = board.period_ns() * (1 + board.CLOCK_TOLERANCE)
    return f"""\
# {board.CLOCK_HZ / 1e6:g} MHz. The clock of pl_clk0, {board.CLOCK}, is made by the constraints of the processing
# system's IP from what block_design.tcl asks for. A create_clock here would hide it if that were slower; this finds it.
# Read unmanaged, since managed constraints know no `if`, and for the implementation only.
set flashtile_clock [get_clocks -quiet {board.CLOCK}]
if {{[llength $flashtile_clock] != 1}} {{
    error "flashtile: there is no clock {board.CLOCK}; nothing would be timed"
}}
if {{[get_property PERIOD $flashtile_clock] > {longest:.4f}}} {{
    error "flashtile: {board.CLOCK} has [get_property PERIOD $flashtile_clock] ns instead of {board.period_ns():.3f} ns"
}}
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
"""


def settings(config: EngineConfig) -> str:
    """The Tcl array that block_design.tcl reads."""
    values = {
        "part": board.PART,
        "board_parts": board.BOARD_PARTS,
        "design": DESIGN,
        "module": TOP,
        "clock_hz": board.CLOCK_HZ,
        "clock_mhz": f"{board.CLOCK_HZ / 1e6:g}",
        "tolerance": board.CLOCK_TOLERANCE,
        "bus_bits": config.word_bits,
        "registers": f"0x{board.REGISTERS:08X}",
        "register_bytes": board.REGISTER_BYTES,
        "constraints": CONSTRAINTS,
        "reports": REPORTS,
    }
    lines = "".join(f"    {name} {{{value}}}\n" for name, value in values.items())
    return f"# Written by flashtile for configuration {config.name}.\narray set flashtile {{\n{lines}}}\n"


def write_project(
    config: EngineConfig,
    folder: Path,
    build: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Vivado:
    """Write the project into an existing folder; `make` there builds it where Vivado is.

    Args:
        config: of the board, see fpga.zuboard.top.board_config. folder: without anything in it. build: for the identity
            registers. progress: called with the steps done, and how many there are.

    Returns:
        Edalize's flow, configured.
    """
    progress(0, 2)
    (folder / RTL).mkdir()
    texts = verilog(config, build)
    for name, text in texts.items():
        (folder / RTL / name).write_text(text, encoding="utf-8", newline="\n")
    progress(1, 2)
    (folder / "config.json").write_text(config.to_json(), encoding="utf-8")
    (folder / CONSTRAINTS).write_text(constraints(), encoding="utf-8")
    (folder / SETTINGS).write_text(settings(config), encoding="utf-8")
    for name in (BLOCK_DESIGN, REPORTS):
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
    flow = Vivado(_edam(texts), str(folder))
    flow.configure()
    progress(2, 2)
    return flow


def _edam(texts: dict[str, str]) -> dict:
    files = [{"name": f"{RTL}/{name}", "file_type": "verilogSource-2005"} for name in texts]
    files += [
        {"name": CONSTRAINTS, "file_type": "SDC"},  # Edalize's word for unmanaged constraints
        {"name": SETTINGS, "file_type": "tclSource"},
        {"name": BLOCK_DESIGN, "file_type": "tclSource"},
    ]
    # A module reference needs Vivado to keep the hierarchy itself.
    options = {"part": board.PART, "source_mgmt_mode": "All", "jobs": os.cpu_count() or 1}
    return {"name": NAME, "files": files, "toplevel": f"{DESIGN}_wrapper", "flow_options": options}
