"""Who is there: identity and configuration of a device, and whether it is the one expected."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from fpga.host.errors import DeviceError
from fpga.host.link import Link
from fpga.host.registers import bundle, unpack
from golden.config import ELEMENT_BITS, NAMED, ConfigError, EngineConfig, load_config

MAGIC = 0x464C5348
VERSION = 1


@dataclass(frozen=True)
class Identity:
    """What a device says about itself; clock_hz: of the engine, 0 if unknown; bus_bits: 0 if memory is on chip."""

    config: EngineConfig
    build: int
    clock_hz: int
    bus_bits: int


def identify(link: Link) -> Identity:
    """Read a device's identity.

    Raises:
        DeviceError: it is no flashtile accelerator, or one with another register map.
    """
    first, count = bundle("identity")
    identity = unpack("identity", link.read_registers(first, count))
    if identity["magic"] != MAGIC:
        raise DeviceError(
            f"{link.name} is no flashtile accelerator (identity 0x{identity['magic']:08X}, not 0x{MAGIC:08X}); "
            "load a bitstream of flashtile build"
        )
    if identity["version"] != VERSION:
        raise DeviceError(
            f"{link.name} has version {identity['version']} of the register map and this driver version {VERSION}; "
            "load a bitstream that was built with this version of flashtile"
        )
    first, count = bundle("configuration")
    config = _config(link, unpack("configuration", link.read_registers(first, count)))
    return Identity(config, identity["build"], identity["clock_hz"], identity["bus_bits"])


def check_expected(name: str, config: EngineConfig, expected: EngineConfig | str | None) -> None:
    """Raise DeviceError if a device's configuration is not the expected one.

    Args:
        name: of the device. expected: a record, which must be equal but for its name; or a name or file, where memory
            may differ, too, because boards have memories of their own; or None for any.
    """
    if expected is None:
        return
    wanted = load_config(expected) if isinstance(expected, str) else expected
    skipped = ("name", "memory_bytes") if isinstance(expected, str) else ("name",)
    for field in fields(EngineConfig):
        ours, theirs = (_value(record, field.name) for record in (wanted, config))
        if field.name not in skipped and ours != theirs:
            raise DeviceError(
                f"{name} has {field.name} {theirs}, not the {ours} of {wanted.name}; load the bitstream of "
                f"{wanted.name}, or expect what is there"
            )


def _value(config: EngineConfig, name: str):
    return config.softmax_units if name == "softmax_lanes" else getattr(config, name)


def _config(link: Link, values: dict[str, int]) -> EngineConfig:
    """The record, by its own name if it is a named one but for its memory, else `device`."""
    elements = {bits: element for element, bits in ELEMENT_BITS.items()}
    values = dict(values)
    element = elements.get(values.pop("element_bits"), "unknown")
    if values["softmax_lanes"] == values["array_keys"]:
        values["softmax_lanes"] = None
    try:
        config = EngineConfig("device", element, **values)
    except ConfigError as error:
        raise DeviceError(
            f"{link.name} reports a configuration that does not exist ({error}); load a bitstream of flashtile build"
        ) from None
    for named in NAMED.values():
        if replace(config, name=named.name, memory_bytes=named.memory_bytes) == named:
            return replace(config, name=named.name)
    return config
