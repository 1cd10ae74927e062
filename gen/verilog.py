"""The engine as Verilog: a module for each distinct block, or one flat module; the same bytes each time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import golden
import hw
from gen import block_ports, explicit_widths, hierarchy, module_names, module_text, verilog_expression
from gen.block_ports import flat_signals
from gen.hierarchy import Module, closure, modules, outline
from golden.config import EngineConfig
from hw.engine import engine
from hw.engine_system import SystemPorts, engine_system
from hw.ports import ReadPort, WritePort
from hw.signals import bit

TOP = "engine_system"
# Inputs of engine_system besides the descriptor.
INPUTS = "clk", "reset", "start", "latency", "stall", "host_write", "host_address", "host_data"


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


@dataclass(frozen=True)
class Core:
    """Verilog of a configuration.

    files: text by file name; engine, system: the files of each top, leaves first; outline: depth, module and number of
    instances in its parent, from `engine` downwards; top: the module `engine`, whose arguments describe its ports.
    """

    files: dict[str, str]
    engine: list[str]
    system: list[str]
    outline: list[tuple[int, str, int]]
    top: Module


def core(
    config: EngineConfig, flat: bool = False, progress: Callable[[int, int], None] = lambda done, total: None
) -> Core:
    """The two tops, `engine` and `engine_system` (engine, memory and a host port), each in a file of its name.

    Args:
        flat: each top is one module; else a module for each distinct block, shared by both.
        progress: called with the modules done, and how many there will be.

    Raises:
        GenerationError: another version of MyHDL is installed than the one this was written for.
    """
    arguments = _system_arguments(config, bit(), bit(), SystemPorts(config))
    ordered = modules(engine_system, arguments, TOP, flat, progress)
    if flat:
        read, write = ReadPort(config), WritePort(config)
        shared = "clk", "reset", "start", "busy", "descriptor", "status", "counters", "debug"
        inside = {name: arguments[name] for name in shared}
        inner = modules(engine, inside | {"read": read, "write": write, "config": config}, "engine", flat, progress)
        ordered = inner + ordered
    else:
        inner = closure(next(module for module in ordered if module.name == "engine"))
    files = {f"{module.name}.v": module_text.module_text(module) for module in ordered}
    system = ordered[-1:] if flat else ordered
    names = ([f"{module.name}.v" for module in part] for part in (inner, system))
    return Core(files, *names, outline(inner[-1]), inner[-1])


def system_sources(config: EngineConfig, folder: Path) -> list[Path]:
    """Write the files of `engine_system` into a folder, and return them, leaves first."""
    made = core(config)
    return write_sources({name: made.files[name] for name in made.system}, folder)


def is_input(port: str) -> bool:
    """Whether a port of engine_system is an input."""
    return port in INPUTS or port.startswith("descriptor_")


def cosimulation_harness(config: EngineConfig) -> str:
    """Verilog module `tb_engine_system`: engine_system on the registers and nets that MyHDL's VPI module drives."""
    ports = flat_signals(_system_arguments(config, bit(), bit(), SystemPorts(config)))
    driven = [name for name in ports if is_input(name)]
    seen = [name for name in ports if name not in driven]
    lines = [f"    reg {_range(ports[name])}{name};" for name in driven]
    lines += [f"    wire {_range(ports[name])}{name};" for name in seen]
    connections = ",\n".join(f"        .{name}({name})" for name in ports)
    return (
        f"module tb_{TOP};\n" + "\n".join(lines) + "\n    initial begin\n"
        f"        $from_myhdl({', '.join(driven)});\n        $to_myhdl({', '.join(seen)});\n    end\n"
        f"    {TOP} dut (\n{connections}\n    );\nendmodule\n"
    )


def _range(signal) -> str:
    return "" if len(signal) == 1 else f"[{len(signal) - 1}:0] "


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
        for source in sorted(Path(package.__file__).parent.rglob("*.py")):
            digest.update(source.read_bytes())
    for module in (block_ports, explicit_widths, hierarchy, module_names, module_text, verilog_expression):
        digest.update(Path(module.__file__).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:24]
