"""The generated `zuboard` under cocotb, between cocotbext-axi's models of a processor and of memory."""

from __future__ import annotations

import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from gen.bench import Run, described
from gen.register_map import RegisterMap, register_map
from golden.config import EngineConfig
from golden.layout import Layout, extents, layout
from golden.memory_image import UNTOUCHED, memory_after, memory_image
from golden.predict import MOVED, predict
from tests.fpga.zuboard.monitor import Monitor
from tests.fpga.zuboard.steady_ram import SteadyRam

BASE = 0x12_3450_7000
GUARD = 256  # bytes looked at on both sides of an image


def shifted(config: EngineConfig, run: Run, offset: int) -> Run:
    """The run with every operand `offset` bytes further up."""
    place = run.place or layout(config, run.job)
    names = [name for name in vars(place) if name.endswith("_address")]
    return replace(run, place=replace(place, **{name: getattr(place, name) + offset for name in names}))


class Board:
    """Verbs of a host; its memory is `ram`, an AxiRam, or a SteadyRam if latency is given."""

    def __init__(self, dut, config: EngineConfig, base: int = BASE, seed: int = 1, latency: int | None = None):
        self.dut, self.config, self.base, self._random = dut, config, base, random.Random(seed)
        self._described = None
        self.registers: RegisterMap = register_map(config, 7, 150_000_000, config.word_bits)
        cocotb.start_soon(Clock(dut.aclk, 10, "ns").start())
        dut.aresetn.value = 0
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.aclk, dut.aresetn, False)
        self.monitor = Monitor(dut, config.word_bytes, base, config.memory_bytes)
        cocotb.start_soon(self.monitor.watch())
        self.channels = {}
        if latency is None:
            self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, dut.aresetn, False, size=1 << 40)
            write, read = self.ram.write_if, self.ram.read_if
            self.channels = {
                "aw": write.aw_channel, "w": write.w_channel, "b": write.b_channel, "ar": read.ar_channel,
                "r": read.r_channel,
            }  # fmt: skip
        else:
            start = base - GUARD
            self.ram = SteadyRam(dut, start, config.memory_bytes + 2 * GUARD, config.word_bytes, latency)
            cocotb.start_soon(self.ram.serve())
        self.channels |= {f"host_{name}": getattr(part, f"{name}_channel") for part, names in (
            (self.host.write_if, ("aw", "w", "b")), (self.host.read_if, ("ar", "r")),
        ) for name in names}  # fmt: skip
        for name in {"aw", "w", "ar"} & set(self.channels):
            self.channels[name].queue_occupancy_limit = 16

    async def reset(self, cycles: int = 4) -> None:
        self.dut.aresetn.value, self._described = 0, None
        await ClockCycles(self.dut.aclk, cycles)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 3)
        await self.write("control.memory_base_low", self.base & 0xFFFFFFFF)
        await self.write("control.memory_base_high", self.base >> 32)
        await self.write("control.interrupt_enable", 1)

    def slow(self, **shares: float) -> None:
        """Pause channels in a share of the cycles; those not named run freely."""
        for name, channel in self.channels.items():
            channel.clear_pause_generator()
            channel.pause = False
            if shares.get(name):
                channel.set_pause_generator(self._pauses(shares[name]))

    def _pauses(self, share: float):
        while True:
            yield self._random.random() < share

    def answer(self, channel: str, number: int, response: int) -> None:
        """Answer a beat on R or a burst on B, counted from now on, with a response."""
        source, left = self.channels[channel], [number]
        send = type(source).send

        async def sends(item):
            if left[0] == 0:
                setattr(item, f"{channel}resp", response)
                source.send = send.__get__(source)
            left[0] -= 1
            await send(source, item)

        source.send = sends

    async def write(self, name: str, value: int) -> None:
        """Write a register that holds one field."""
        await self.host.write_dword(self.registers.address(name), value)

    async def read(self, name: str) -> int:
        """Read a field."""
        address, low, width = self.registers.field(name)
        return await self.host.read_dword(address) >> low & ((1 << width) - 1)

    async def command(self, *names: str) -> None:
        """Write ones to bits of control.command."""
        fields = [self.registers.field(f"control.{name}") for name in names]
        await self.host.write_dword(fields[0][0], sum(1 << low for _, low, _ in fields))

    async def describe(self, run: Run) -> None:
        """Write the descriptor."""
        words: dict[int, int] = {}
        for name, value in described(run.job, run.place or layout(self.config, run.job)).items():
            address, low, width = self.registers.field(f"descriptor.{name}")
            words[address] = words.get(address, 0) | (value & ((1 << width) - 1)) << low
        for address, word in words.items():
            await self.host.write_dword(address, word)
        self._described = run

    def load(self, run: Run) -> np.ndarray:
        """Write operands to memory, and what must stay as it is around them; returns the image."""
        place = run.place or layout(self.config, run.job)
        image = memory_image(self.config, run.job, place, run.q, run.k, run.v)
        guard = bytes([UNTOUCHED] * GUARD)
        self.ram.write(self.base - GUARD, guard + image.tobytes() + guard)
        return image

    async def ended(self, limit: int = 20_000) -> None:
        """Wait until status.busy falls; it has risen three cycles after the write that starts a run is answered."""
        await ClockCycles(self.dut.aclk, 3)
        for _ in range(limit):
            await RisingEdge(self.dut.aclk)
            if self.dut.axi_system.status_busy.value == 0:
                return
        raise AssertionError(f"still busy after {limit} cycles")

    async def begin(self, run: Run) -> np.ndarray:
        """Load, describe (unless that is done) and start a run; returns the image of memory."""
        image = self.load(run)
        if self._described is not run:
            await self.describe(run)
        await self.command("start")
        return image

    async def run(self, run: Run, limit: int = 20_000) -> None:
        """A good run: everything in memory, status and counters as golden says."""
        await self.check(run, await self.begin(run), limit)

    async def check(self, run: Run, image: np.ndarray, limit: int = 20_000) -> None:
        """Wait for the end of a run and compare."""
        await self.ended(limit)
        # Nothing of the run is left on the bus when it is done, and nothing comes after.
        assert self.monitor.unanswered == (0, 0, 0)
        assert self.outcome() == {"done": 1, "error": 0, "refusal": 0, "interrupt": 1}
        self.compare(run, image)
        prediction = predict(self.config, run.job, run.q, run.k, run.v)
        system = self.dut.axi_system
        counters = {name: int(getattr(system, f"counters_{name}").value) for name in (*MOVED, "saturations")}
        assert counters == {name: prediction.counters[name] for name in counters}

    def compare(self, run: Run, image: np.ndarray) -> None:
        """Memory is as golden says, byte for byte."""
        config, place = self.config, run.place or layout(self.config, run.job)
        result = predict(config, run.job, run.q, run.k, run.v).result
        wanted = memory_after(config, run.job, place, image, result)
        seen = np.frombuffer(bytes(self.ram.read(self.base - GUARD, len(image) + 2 * GUARD)), dtype=np.uint8)
        assert (seen[:GUARD] == UNTOUCHED).all() and (seen[-GUARD:] == UNTOUCHED).all()
        wrong = seen[GUARD:-GUARD] != wanted
        if run.job.naive:
            first, end = extents(config, run.job, place)["scratch"]
            wrong[first * config.word_bytes : end * config.word_bytes] = False
        assert not wrong.any(), f"byte {np.flatnonzero(wrong)[0]} differs, {wrong.sum()} in all"

    def outcome(self) -> dict[str, int]:
        """Status of the last run, without a read on the bus."""
        return {
            name: int(getattr(self.dut.axi_system, f"status_{name}").value)
            for name in ("done", "error", "refusal", "interrupt")
        }


__all__ = ["BASE", "Board", "Layout", "shifted"]
