"""Host drivers: one interface to boards and to simulated ones.

    from fpga.host import connect

    with connect("/dev/ttyUSB0") as device:
        result = device.attention(q, k, v, causal=True)

See fpga.host.targets.connect and fpga.host.accelerator.Accelerator. What is named here is imported when it is used: the
package needs the extra `host`, its errors do not.
"""

from fpga.host.errors import DeviceBusy, DeviceError

__all__ = ["Accelerator", "AttentionResult", "DeviceBusy", "DeviceError", "RawResult", "connect"]


def __getattr__(name: str):
    if name == "connect":
        from fpga.host.targets import connect

        return connect
    if name in __all__:
        from fpga.host import accelerator

        return getattr(accelerator, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
