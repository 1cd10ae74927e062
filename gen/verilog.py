"""MyHDL to Verilog: one flat module, the same bytes for the same configuration."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from myhdl import ToVerilogWarning
from myhdl import _block as myhdl_block
from myhdl import _simulator as myhdl_state

import golden
import hw
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
    return engine_system(
        clk, reset, ports.start, ports.busy, ports.descriptor, ports.counters, ports.debug, ports.latency,
        ports.host_write, ports.host_address, ports.host_data, ports.host_q, ports.read_bytes, ports.write_bytes,
        config,
    )  # fmt: skip


def flat_ports(ports: SystemPorts) -> dict[str, object]:
    """Signals by the names that conversion gives them: those of a bundle behind its name."""
    flat = {}
    for name in ports.names():
        port = getattr(ports, name)
        if hasattr(port, "names"):
            flat |= {f"{name}_{inner}": getattr(port, inner) for inner in port.names()}
        else:
            flat[name] = port
    return flat


def convert(config: EngineConfig, folder: Path) -> None:
    """Write engine_system.v and MyHDL's co-simulation harness tb_engine_system.v into `folder`."""
    _write(lambda: system(config, bit(), bit(), SystemPorts(config)), TOP, folder)


def convert_engine(config: EngineConfig, folder: Path) -> None:
    """Write engine.v, the engine without memory, into `folder`."""
    ports = Descriptor(config), ReadPort(config), WritePort(config), Counters(), Debug(config)
    _write(lambda: engine(bit(), bit(), bit(), bit(), *ports, config), "engine", folder)


def _write(build: Callable, name: str, folder: Path) -> None:
    # MyHDL numbers instances across conversions; start again, so that the text depends on the configuration alone.
    myhdl_block._name_set.clear()
    for decorator in myhdl_state._blocks:
        decorator.calls = 0
    design = shallow(build)
    with warnings.catch_warnings():
        # The receiver always finds a load in its queue, and the last key position starts no further one.
        warnings.filterwarnings("ignore", message="Signal is driven but not read", category=ToVerilogWarning)
        design.convert(hdl="Verilog", path=str(folder), name=name, no_myhdl_header=True)


def fingerprint(config: EngineConfig) -> str:
    """Hash of everything the Verilog follows from: the sources, the configuration, MyHDL."""
    digest = hashlib.sha256(config.to_json().encode())
    digest.update(metadata.version("myhdl").encode())
    for package in (golden, hw):
        for source in sorted(Path(package.__file__).parent.glob("*.py")):
            digest.update(source.read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:24]




def system_sources(config: EngineConfig, folder: Path) -> list[Path]:
    """Write the Verilog of engine_system into `folder`; returns its source files, all that a simulator needs."""
    convert(config, folder)
    return [folder / f"{TOP}.v"]
