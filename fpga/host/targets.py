"""From the name of a target to an accelerator."""

from __future__ import annotations

from collections.abc import Callable

from fpga.host.accelerator import Accelerator
from fpga.host.errors import DeviceError
from fpga.host.link import Link
from fpga.ulx3s.board import DEFAULT_BAUD, MAX_BAUD, MIN_BAUD
from golden.config import EngineConfig, load_config

SIMULATED = ("sim:ulx3s", "sim:zuboard")
PYNQ = "pynq:"


def connect(
    target: str, config: EngineConfig | str | None = None, baud: int = DEFAULT_BAUD, timeout: float = 1.0,
    notice: Callable[[str], None] = lambda sentence: None,
) -> Accelerator:  # fmt: skip
    """Connect to a board, or to a simulated one.

    Args:
        target: name of a serial port; "pynq:FILE.bit" on a board that runs PYNQ; or "sim:ulx3s", "sim:zuboard", which
            run the generated Verilog in Verilator.
        config: what the device is expected to be, see fpga.host.identity.check_expected; for a simulated device what
            it is to be: a record, or a name or file, which gets the board's memory (None: `base`).
        baud, timeout: of a serial port: bits a second, and seconds until an answer is missed.
        notice: called with a sentence before something that takes long.

    Raises:
        DeviceError: there is no such device, it does not answer, or it is another one.
        ConfigError: config is no configuration. SimulatorError: the simulator cannot be built.
    """
    if isinstance(config, str):
        load_config(config)  # a slip of the pen comes before anything else
    link = _link(target, config, baud, timeout, notice)
    try:
        return Accelerator(link, config)
    except BaseException:
        link.close()
        raise


def _link(target: str, config: EngineConfig | str | None, baud: int, timeout: float, notice) -> Link:
    if target in SIMULATED:
        from fpga.host.simulated import simulated_link  # needs what builds Verilog

        return simulated_link(target, config, notice)
    if target.startswith("sim:"):
        raise DeviceError(f"there is no simulated device {target!r}; choose one of {', '.join(SIMULATED)}")
    if target.startswith(PYNQ):
        from fpga.host.pynq_link import PynqLink

        return PynqLink(target.removeprefix(PYNQ))
    try:
        from fpga.host.serial_link import SerialLink
    except ImportError as error:
        raise DeviceError(f"a serial port needs pyserial ({error}); pip install 'flashtile[host]'") from None
    if not MIN_BAUD <= baud <= MAX_BAUD:
        raise DeviceError(f"the baud rate must be between {MIN_BAUD:,} and {MAX_BAUD:,}, not {baud:,}")
    return SerialLink(target, baud, timeout)
