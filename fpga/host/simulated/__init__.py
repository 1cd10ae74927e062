"""Devices that run the generated Verilog of a board, behind the very links that boards have."""

from __future__ import annotations

from collections.abc import Callable

from fpga.host.link import Link
from golden.config import EngineConfig, load_config


def simulated_link(target: str, config: EngineConfig | str | None, notice: Callable[[str], None]) -> Link:
    """A link to "sim:ulx3s" or "sim:zuboard"; the device ends when the link is closed.

    Args:
        config: a record, or a name or file, which gets the board's memory; None for `base`. notice: called with a
            sentence before something that takes long.

    Raises:
        ConfigError: the board cannot have this configuration. SimulatorError: it cannot be built.
    """
    if target == "sim:zuboard":
        from fpga.host.simulated.zuboard import SimulatedZuboard
        from fpga.zuboard.top import board_config

        return SimulatedZuboard(_with_memory(config, board_config), notice=notice)
    from fpga.host.simulated.ulx3s import SimulatedUlx3s
    from fpga.ulx3s.board import BOARDS

    return SimulatedUlx3s(_with_memory(config, BOARDS["ulx3s"].with_memory), notice=notice)


def _with_memory(config: EngineConfig | str | None, of_board: Callable[[EngineConfig], EngineConfig]) -> EngineConfig:
    return config if isinstance(config, EngineConfig) else of_board(load_config(config or "base"))
