"""Host drivers: one interface to boards and to simulated ones."""

from fpga.host.accelerator import Accelerator, AttentionResult, RawResult
from fpga.host.connect import connect
from fpga.host.errors import DeviceError

__all__ = ["Accelerator", "AttentionResult", "DeviceError", "RawResult", "connect"]
