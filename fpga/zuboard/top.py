"""What the ZUBoard's programmable logic holds: the engine on the processing system's AXI ports."""

from __future__ import annotations

from dataclasses import replace

from myhdl import always, block

from gen.hierarchy import Module, modules
from gen.register_map import register_map
from golden.config import NAMED, ConfigError, EngineConfig
from hw.axi.axi_ports import AxiLite, AxiMaster, check_bus
from hw.axi.axi_system import axi_system
from hw.signals import bit

TOP = "zuboard"
MEMORY_BYTES = 1 << 26  # that a run reaches from control.memory_base on: as much as a configuration may have
CLOCK_HZ = 150_000_000


@block
def zuboard(aclk, aresetn, s_axi, m_axi, interrupt, config, registers):
    """Engine with an AXI4-Lite slave for its registers and an AXI4 master for its memory, on one clock.

    Ports: aclk; aresetn: active low, synchronous, also of whatever is connected to s_axi and m_axi; s_axi: AxiLite;
    m_axi: AxiMaster; interrupt: active high, level.

    Parameters: registers: of gen.register_map, see hw.register_file.
    """
    reset = bit()

    @always(aclk.posedge)
    def reset_register():
        reset.next = not aresetn

    return reset_register, axi_system(aclk, reset, s_axi, m_axi, interrupt, config, registers)


def board_config(config: EngineConfig = NAMED["base"]) -> EngineConfig:
    """A configuration for this board: with memory as large as a descriptor can address.

    Raises:
        ConfigError: its memory word is not the width of an AXI port, 64 or 128 bit.
    """
    try:
        check_bus(config)
    except ValueError as error:
        raise ConfigError(f"{error}; use a configuration such as base (64 bit) or wide (128 bit)") from None
    return replace(config, memory_bytes=MEMORY_BYTES)


def top_modules(config: EngineConfig, build: int = 0, clock_hz: int = CLOCK_HZ) -> list[Module]:
    """The modules of `zuboard`, leaves first, for gen.module_text.

    Args:
        build, clock_hz: for the identity registers, see gen.register_map.

    Raises:
        ConfigError: see board_config.
    """
    board_config(config)
    registers = register_map(config, build, clock_hz, bus_bits=config.word_bits).registers
    arguments = {
        "aclk": bit(), "aresetn": bit(), "s_axi": AxiLite(), "m_axi": AxiMaster(config), "interrupt": bit(),
        "config": config, "registers": registers,
    }  # fmt: skip
    return modules(zuboard, arguments, TOP)
