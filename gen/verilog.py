"""The engine as Verilog: a module for each distinct block, or one flat module; the same bytes each time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import golden
import hw
from gen import explicit_widths, hierarchy, module_text
from gen.hierarchy import flat_signals, modules
from golden.config import EngineConfig
from hw.engine import engine
from hw.engine_system import SystemPorts, engine_system
from hw.ports import Counters, Debug, Descriptor, ReadPort, WritePort
from hw.signals import bit

TOP = "engine_system"


def shallow(build: Callable):
    """build() in a thread of its own: MyHDL inspects the whole call stack for every block, which a deep one slows."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(build).result()


def system(config: EngineConfig, clk, reset, ports: SystemPorts):
    """The design under test: engine and memory on the given ports."""
    return engine_system(**_system_arguments(config, clk, reset, ports))


def _system_arguments(config, clk, reset, ports) -> dict[str, object]:
    return {"clk": clk, "reset": reset} | {name: getattr(ports, name) for name in ports.names()} | {"config": config}


def flat_ports(ports: SystemPorts) -> dict[str, object]:
    """Signals by the names that conversion gives them: those of a bundle behind its name."""
    return flat_signals({name: getattr(ports, name) for name in ports.names()})


def engine_sources(config: EngineConfig, flat: bool = False) -> dict[str, str]:
    """Verilog of the engine without memory, by file name, leaves first; the last is engine.v.

    Args:
        flat: one module, engine.v, instead of one for each distinct block.

    Raises:
        GenerationError: another version of MyHDL is installed than the one this was written for.
    """
    ports = {"clk": bit(), "reset": bit(), "start": bit(), "busy": bit(), "descriptor": Descriptor(config)}
    ports |= {"read": ReadPort(config), "write": WritePort(config), "counters": Counters(), "debug": Debug(config)}
    return _sources(engine, ports | {"config": config}, "engine", flat)


def system_sources(config: EngineConfig, flat: bool = False) -> dict[str, str]:
    """As engine_sources, for engine_system: engine, memory and a host port."""
    return _sources(engine_system, _system_arguments(config, bit(), bit(), SystemPorts(config)), TOP, flat)


def _sources(function, arguments, name, flat):
    return {f"{module.name}.v": module_text.module_text(module) for module in modules(function, arguments, name, flat)}


def write_sources(sources: dict[str, str], folder: Path) -> list[Path]:
    """Write files by name into a folder; returns their paths in the same order."""
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in sources]


def fingerprint(config: EngineConfig) -> str:
    """Hash of everything the Verilog follows from: the sources, the configuration, MyHDL."""
    digest = hashlib.sha256(config.to_json().encode())
    digest.update(metadata.version("myhdl").encode())
    for package in (golden, hw):
        for source in sorted(Path(package.__file__).parent.glob("*.py")):
            digest.update(source.read_bytes())
    for module in (hierarchy, explicit_widths, module_text):
        digest.update(Path(module.__file__).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:24]
