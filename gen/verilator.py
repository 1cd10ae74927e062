"""Verilator as a simulator: the converted Verilog and the bulk verbs of the testbench as a shared library."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gen.cache import cache_folder, cached
from gen.device import BenchError, Device
from gen.programs import SimulatorError
from gen.verilator_build import build, compiler_command, tools, verilator_binary
from gen.verilog import TOP, fingerprint, flat_ports, system_sources
from golden.config import EngineConfig
from hw.engine_system import SystemPorts

WRAPPER = Path(__file__).with_name("verilator_bench.cpp")
LIBRARY = "system.so"
CHUNK = 20_000  # cycles between looks at Ctrl-C and calls of progress
SEED = 1  # of the random values that registers and memories start with


def missing() -> str | None:
    """Why Verilator cannot be used here, or None."""
    try:
        verilator_binary(), compiler_command()
    except SimulatorError as error:
        return str(error)
    return None


def _library(config: EngineConfig, trace: bool, notice: Callable[[str], None]) -> Path:
    """The shared library of a configuration, built on first use."""
    digest = hashlib.sha256(fingerprint(config).encode() + repr(trace).encode())
    digest.update(tools() + WRAPPER.read_bytes() + Path(__file__).read_bytes())

    def make(folder: Path) -> None:
        notice(f"building the simulator of {config.name}, once for this version ...")
        work = folder / "build"
        work.mkdir()
        names = ["clk", "reset", *flat_ports(SystemPorts(config))]
        (work / "ports.h").write_text(f"#define PORT_LIST {' '.join(f'PORT({name})' for name in names)}\n")
        sources = [source.absolute() for source in system_sources(config, work)]
        build(sources, TOP, WRAPPER, LIBRARY, work, shared=True, trace=trace)
        (work / LIBRARY).rename(folder / LIBRARY)
        shutil.rmtree(work)

    return cached(f"verilator-{config.name}-{digest.hexdigest()[:24]}", make, LIBRARY)


def _load(config: EngineConfig, trace: bool, notice: Callable[[str], None]) -> ctypes.CDLL:
    try:
        library = _library(config, trace, notice)
        try:
            bench = ctypes.CDLL(str(library))
        except OSError:  # another process just replaced it, or the machine changed: build it again, once
            shutil.rmtree(library.parent, ignore_errors=True)
            bench = ctypes.CDLL(str(_library(config, trace, notice)))
    except OSError as error:
        raise SimulatorError(
            f"the build cache {str(cache_folder())!r} cannot be used ({error.strerror or error}); "
            "set XDG_CACHE_HOME to a writable folder with space, or use --simulator myhdl"
        ) from None
    bench.bench_open.restype = ctypes.c_void_p
    bench.bench_fault.restype = ctypes.c_char_p
    bench.bench_cycles.restype = bench.bench_row_count.restype = ctypes.c_uint64
    return bench


class VerilatorDevice(Device):
    """A device compiled to machine code, in this process. Registers and memories start with random values.

    Args:
        trace: file for a waveform (VCD), or None.
        notice: called with a sentence if the library must be built first.

    Raises:
        SimulatorError: Verilator or a C++ compiler is missing, or a build step failed.
        OSError: the waveform cannot be opened.
    """

    def __init__(self, config: EngineConfig, trace: Path | None, notice: Callable[[str], None]):
        self._library = _load(config, trace is not None, notice)
        self._word_bytes = config.word_bytes
        self._handle = ctypes.c_void_p(self._library.bench_open(SEED))
        self._ports = {}  # index, bytes, bits, signed
        for name, port in {"reset": None, **flat_ports(SystemPorts(config))}.items():
            size = ctypes.c_uint32()
            index = self._library.bench_port(self._handle, name.encode(), ctypes.byref(size))
            bits, signed = (1, False) if port is None else (len(port), port.min is not None and port.min < 0)
            self._ports[name] = index, size.value, bits, signed
        if trace is not None:
            error = self._library.bench_trace(self._handle, os.fsencode(trace))
            if error:
                self._library.bench_close(self._handle)
                raise OSError(error, os.strerror(error))

    def set(self, name: str, value: int) -> None:
        index, size, bits, _ = self._ports[name]
        data = (int(value) & ((1 << bits) - 1)).to_bytes(size, "little")
        self._library.bench_set(self._handle, index, data)

    def get(self, name: str) -> int:
        index, size, bits, signed = self._ports[name]
        data = ctypes.create_string_buffer(size)
        self._library.bench_get(self._handle, index, data)
        value = int.from_bytes(data.raw, "little")
        return value - (1 << bits) if signed and value >> (bits - 1) else value

    def _verb(self, verb: Callable, *arguments) -> None:
        if verb(self._handle, *arguments):
            raise BenchError(self._library.bench_fault(self._handle).decode(errors="replace"))
        if self.progress is not None:
            self.progress(self._library.bench_cycles(self._handle))

    def stall(self, reads: int, writes: int, seed: int) -> None:
        self._library.bench_stall(self._handle, reads, writes, ctypes.c_uint64(seed))

    def step(self, cycles: int = 1) -> None:
        for done in range(0, cycles, CHUNK):
            self._verb(self._library.bench_step, ctypes.c_uint64(min(CHUNK, cycles - done)))

    def load(self, address: int, words: Sequence[int]) -> None:
        for start in range(0, len(words), CHUNK):
            chunk = words[start : start + CHUNK]
            data = b"".join(int(word).to_bytes(self._word_bytes, "little") for word in chunk)
            size, count = ctypes.c_uint32(self._word_bytes), ctypes.c_uint64(len(chunk))
            self._verb(self._library.bench_load, ctypes.c_uint32(address + start), data, size, count)

    def read(self, address: int, count: int) -> list[int]:
        words = []
        for start in range(0, count, CHUNK):
            chunk = min(CHUNK, count - start)
            data = ctypes.create_string_buffer(chunk * self._word_bytes)
            size = ctypes.c_uint32(self._word_bytes)
            self._verb(self._library.bench_read, ctypes.c_uint32(address + start), data, size, ctypes.c_uint64(chunk))
            raw = np.frombuffer(data.raw, dtype=np.uint8).reshape(chunk, self._word_bytes)
            words += [int.from_bytes(word.tobytes(), "little") for word in raw]
        return words

    def wait(self, limit: int) -> None:
        for done in range(0, limit, CHUNK):
            if not self.get("busy"):
                return
            self._verb(self._library.bench_wait, ctypes.c_uint64(min(CHUNK, limit - done)))

    def rows(self) -> np.ndarray:
        rows = np.zeros((self._library.bench_row_count(self._handle), 2), dtype=np.int64)
        self._library.bench_take_rows(self._handle, rows.ctypes.data_as(ctypes.c_void_p))
        _, _, bits, _ = self._ports["debug_maximum"]
        rows[:, 0] -= (rows[:, 0] >> (bits - 1)) << bits
        return rows

    def close(self) -> None:
        error = self._library.bench_close(self._handle)
        if error:
            raise OSError(error, os.strerror(error))
