"""gen/flashtile.rdl against the bundles of hw.ports and the configuration record."""

import re
import subprocess

import pytest

from gen.register_map import register_map
from golden.config import NAMED
from hw.ports import Control, Counters, Descriptor, RunStatus

BASE = NAMED["base"]
BUNDLES = {"control": Control(), "status": RunStatus(), "descriptor": Descriptor(), "counters": Counters()}


@pytest.fixture(scope="module")
def bus():
    return register_map(BASE, build=0xDEADBEEF, clock_hz=150_000_000, bus_bits=64)


def test_fields_are_the_signals_of_the_bundles(bus):
    found = {}
    for register in bus.registers:
        for field in register.fields:
            bundle, _, name = field.name.partition(".")
            found.setdefault(bundle, {})[name] = field.width
    for bundle, signals in BUNDLES.items():
        assert found.pop(bundle) == {name: len(getattr(signals, name)) for name in signals.names()}, bundle
    assert set(found) == {"identity", "configuration"}


def test_directions(bus):
    access = {field.name: field.access for register in bus.registers for field in register.fields}
    assert {access[f"descriptor.{name}"] for name in Descriptor().names()} == {"stored"}
    assert {access[f"counters.{name}"] for name in Counters().names()} == {"shown"}
    assert {access[f"status.{name}"] for name in RunStatus().names()} == {"shown"}
    assert access["control.start"] == access["control.soft_reset"] == access["control.clear_interrupt"] == "pulse"


def test_addresses_do_not_collide(bus):
    indices = [register.index for register in bus.registers]
    assert indices == sorted(set(indices))
    assert indices[-1] < 128
    for register in bus.registers:
        ends = [0] + [field.low + field.width for field in register.fields]
        assert all(field.low >= end for field, end in zip(register.fields, ends, strict=False))
        assert ends[-1] <= 32


@pytest.mark.parametrize("name", NAMED)
def test_constants_are_those_of_the_configuration(name):
    config = NAMED[name]
    made = register_map(config, build=7, clock_hz=25, bus_bits=0)
    values = {field.name: field.reset for register in made.registers for field in register.fields}
    for parameter in ("array_depth", "array_keys", "word_bytes", "max_dim", "max_rows", "max_keys", "memory_bytes"):
        assert values[f"configuration.{parameter}"] == getattr(config, parameter)
    assert values["configuration.element_bits"] == config.element_bits
    assert values["configuration.softmax_lanes"] == config.softmax_units
    assert values["identity.magic"] == int.from_bytes(b"FLSH", "big")
    assert (values["identity.build"], values["identity.clock_hz"], values["identity.bus_bits"]) == (7, 25, 0)


def test_on_chip_memory_has_no_bus_registers(bus):
    without = register_map(BASE)
    missing = {register.name for register in bus.registers} - {register.name for register in without.registers}
    assert missing == {"control.interrupt_enable", "control.memory_base_low", "control.memory_base_high"}
    kept = {register.name: register.index for register in without.registers}
    assert kept.items() <= {register.name: register.index for register in bus.registers}.items()


def test_python_view(bus):
    assert bus.field("descriptor.causal") == (0x128, 0, 1)
    assert bus.field("status.refusal") == (0xA0, 8, 5)
    assert bus.address("counters.busy") == 0x180
    with pytest.raises(KeyError):
        bus.field("descriptor.nonsense")


def test_header_compiles_and_has_the_addresses(bus, tmp_path):
    bus.write_header(tmp_path / "flashtile.h")
    checks = "\n".join(
        f"_Static_assert(offsetof(flashtile_t, {register.name}) == {4 * register.index}, \"{register.name}\");"
        for register in bus.registers
    )
    source = tmp_path / "check.c"
    source.write_text(f'#include <stddef.h>\n#include "flashtile.h"\n{checks}\n')
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", str(source)], check=True)
    assert "FLASHTILE" in (tmp_path / "flashtile.h").read_text()


def test_page_describes_every_register(bus, tmp_path):
    bus.write_html(tmp_path)
    assert (tmp_path / "index.html").is_file()
    text = "".join(path.read_text() for path in (tmp_path / "content").glob("*.html"))
    for register in bus.registers:
        assert re.search(rf"\b{register.name.rpartition('.')[2]}\b", text), register.name
