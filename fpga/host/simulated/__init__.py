"""Devices that run the generated Verilog of a board, behind the very links that boards have."""

from __future__ import annotations

from collections.abc import Callable

from fpga.host.link import Link
from golden.config import EngineConfig


def simulated_link(target: str, config: EngineConfig | None, notice: Callable[[str], None]) -> Link:
    """A link to "sim:ulx3s" or "sim:zuboard"; the device ends when the link is closed.

    Args:
        config: None for `base` with the board's memory. notice: called before something that takes long.

    Raises:
        ConfigError: the board cannot have this configuration. SimulatorError: it cannot be built.
    """
    if target == "sim:zuboard":
        from fpga.host.simulated.zuboard import SimulatedZuboard

        return SimulatedZuboard(config, notice=notice)
    from fpga.host.simulated.ulx3s import SimulatedUlx3s

    return SimulatedUlx3s(config, notice=notice)
