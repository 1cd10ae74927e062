"""The register map: gen/flashtile.rdl as hardware (hw.register_file), C header, HTML page, and addresses in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, RegNode

from golden.config import EngineConfig
from hw.register_file import Field, Register

SOURCE = Path(__file__).with_name("flashtile.rdl")
REGISTER_BYTES = 4


@dataclass(frozen=True)
class RegisterMap:
    """The registers of one build. top: as systemrdl-compiler elaborated them."""

    top: AddrmapNode

    @cached_property
    def registers(self) -> tuple[Register, ...]:
        """In the order of their addresses."""
        return tuple(
            Register(name, node.absolute_address // REGISTER_BYTES, tuple(_field(name, part) for part in node.fields()))
            for name, node in _registers(self.top)
        )

    @cached_property
    def _places(self) -> dict[str, tuple[int, int, int]]:
        return {
            field.name: (REGISTER_BYTES * register.index, field.low, field.width)
            for register in self.registers
            for field in register.fields
        }

    def field(self, name: str) -> tuple[int, int, int]:
        """Byte address of the register that holds a field such as "descriptor.causal", its lowest bit, its width.

        Raises:
            KeyError: this build has no such field.
        """
        return self._places[name]

    def address(self, name: str) -> int:
        """Byte address of the register that holds a field."""
        return self.field(name)[0]

    def write_header(self, path: Path) -> None:
        """Write the registers as a C header: structures with bit fields, and masks."""
        from peakrdl_cheader.exporter import CHeaderExporter  # only builds need it, drivers do not

        CHeaderExporter().export(self.top, str(path), generate_bitfields=True, reuse_typedefs=False)

    def write_html(self, folder: Path) -> None:
        """Write the registers as a web page, index.html in a folder."""
        from peakrdl_html import HTMLExporter  # likewise

        HTMLExporter().export(self.top, str(folder))


def register_map(config: EngineConfig, build: int = 0, clock_hz: int = 0, bus_bits: int = 0) -> RegisterMap:
    """The registers of an engine.

    Args:
        build: first 32 bits of gen.verilog.fingerprint. clock_hz: clock of the engine. bus_bits: width of the AXI4
            master, 0 where the memory is on chip; then there is no interrupt and no base address.
    """
    parameters = {
        "BUILD": build,
        "CLOCK_HZ": clock_hz,
        "BUS_BITS": bus_bits,
        "ELEMENT_BITS": config.element_bits,
        "ARRAY_DEPTH": config.array_depth,
        "ARRAY_KEYS": config.array_keys,
        "WORD_BYTES": config.word_bytes,
        "MAX_DIM": config.max_dim,
        "MAX_ROWS": config.max_rows,
        "MAX_KEYS": config.max_keys,
        "MEMORY_BYTES": config.memory_bytes,
        "SOFTMAX_LANES": config.softmax_units,
    }
    compiler = RDLCompiler()
    compiler.compile_file(str(SOURCE))
    return RegisterMap(compiler.elaborate("flashtile", parameters=parameters).top)


def _registers(top: AddrmapNode) -> Iterator[tuple[str, RegNode]]:
    for node in top.descendants():
        if isinstance(node, RegNode):
            yield node.get_path().removeprefix(f"{top.get_path()}."), node


def _field(register: str, node: FieldNode) -> Field:
    bundle, _, name = register.partition(".")
    software, hardware = node.get_property("sw").name, node.get_property("hw").name
    access = {
        ("r", "na"): "constant",
        ("rw", "r"): "stored",
        ("w", "r"): "pulse",
        ("r", "w"): "shown",
    }[software, hardware]
    signal = name if node.inst_name == "value" else node.inst_name
    return Field(f"{bundle}.{signal}", node.low, node.width, access, node.get_property("reset") or 0)
