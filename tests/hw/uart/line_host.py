"""A host with cocotbext-uart on the line of a simulated `uart_system`, for cocotb benches.

The configuration's name is in FLASHTILE_CONFIG, the seed of random tests in FLASHTILE_SEED.
"""

import logging
import os

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotbext.uart import UartSink, UartSource

from gen.bench import described
from gen.register_map import register_map
from golden.config import NAMED
from golden.layout import extents, layout
from golden.memory_image import memory_after, memory_image, unpack_state
from golden.predict import predict
from hw.block_memory import first_word_latency
from hw.ports import Counters
from hw.uart.protocol import (
    MAX_PAYLOAD,
    Command,
    FrameStatus,
)
from tests.engine_runs import random_run
from tests.hw.uart.serial_line import request, response

CONFIG = NAMED[os.environ.get("FLASHTILE_CONFIG", "tiny")]
SEED = int(os.environ.get("FLASHTILE_SEED", "1"))
CLOCK_NS, CLOCKS_A_BIT = 100, 8
BIT_NS = CLOCK_NS * CLOCKS_A_BIT
CLOCK_HZ, BAUD = 10**9 // CLOCK_NS, 10**9 // BIT_NS
BUILD = 0x1234ABCD
MAP = register_map(CONFIG, BUILD, CLOCK_HZ)
SOFT_RESET, SOFT_RESET_ERROR = 2, 5


class Host:
    """Requests and responses on the device's line. error: of its baud rate."""

    def __init__(self, dut, error=0.0):
        self.dut = dut
        for name in (dut.rx._path, dut.tx._path):
            logging.getLogger(f"cocotb.{name}").setLevel(logging.WARNING)  # a line for every byte
        self.source = UartSource(dut.rx, baud=BAUD * (1 + error))
        self.sink = UartSink(dut.tx, baud=BAUD * (1 + error))

    async def start(self):
        cocotb.start_soon(Clock(self.dut.clk, CLOCK_NS, "ns").start())
        await self.reset()

    async def reset(self, cycles=2):
        self.dut.reset.value = 1
        await ClockCycles(self.dut.clk, cycles)
        self.dut.reset.value = 0
        await ClockCycles(self.dut.clk, 1)

    async def send(self, data):
        """Put bytes on the line, and wait until the last stop bit is over."""
        await self.source.write(data)
        await self.source.wait()

    async def bits(self, count):
        await Timer(int(count * BIT_NS), "ns")

    async def receive(self, bits=4000):
        """(status, payload) of the next response; fails if none begins within so many bit times."""
        data = await self.read(4, bits)
        length = int.from_bytes(data[2:4], "little")
        data += await self.read(length + 4, 40)
        status, payload = FrameStatus(data[1]), bytes(data[4:-4])
        assert data == response(status, payload), data.hex()
        return status, payload

    async def read(self, count, bits):
        data = bytearray()
        while len(data) < count:
            await self.sink.wait(timeout=int(bits * BIT_NS))
            assert not self.sink.empty(), f"no byte within {bits} bits, after {data.hex()}"
            data += self.sink.read_nowait(min(count - len(data), self.sink.count()))
            bits = 40
        return data

    async def silence(self, bits):
        """Nothing comes from the device for so many bit times."""
        await self.bits(bits)
        assert self.sink.empty() and self.sink.idle()

    async def ask(self, command, address=0, length=None, payload=b""):
        await self.send(request(command, address, length, payload))
        assert self.sink.empty()
        return await self.receive()

    async def expect(self, status, command, address=0, length=None, payload=b""):
        """The payload of a request that ends as it should."""
        found, data = await self.ask(command, address, length, payload)
        assert found == status, f"{command!r} at {address:#x}: {found!r}, not {status!r}"
        return data

    # ---- what a driver does

    async def write(self, command, address, data):
        for at in range(0, len(data), MAX_PAYLOAD):
            await self.expect(FrameStatus.OK, command, address + at, None, bytes(data[at : at + MAX_PAYLOAD]))

    async def read_all(self, command, address, length):
        data = b""
        while len(data) < length:
            part = min(MAX_PAYLOAD, length - len(data))
            data += await self.expect(FrameStatus.OK, command, address + len(data), part)
        return data

    async def command(self, value):
        await self.write(Command.WRITE_REGISTERS, MAP.address("control.start"), value.to_bytes(4, "little"))

    async def state(self):
        """The fields of status.state."""
        word = int.from_bytes(await self.expect(FrameStatus.OK, Command.STATUS), "little")
        names = "busy", "done", "interrupt", "error", "refusal"
        places = {name: MAP.field(f"status.{name}") for name in names}
        return {name: word >> low & (1 << width) - 1 for name, (_, low, width) in places.items()}

    async def wait_for_end(self, polls=200):
        for _ in range(polls):
            state = await self.state()
            if not state["busy"]:
                return state
        raise AssertionError("the run does not end")

    async def describe(self, job, place):
        """Write a descriptor."""
        words = {}
        for name, value in described(job, place).items():
            address, low, width = MAP.field(f"descriptor.{name}")
            words[address] = words.get(address, 0) | (value & (1 << width) - 1) << low
        first, last = min(words), max(words)
        data = b"".join(words.get(address, 0).to_bytes(4, "little") for address in range(first, last + 4, 4))
        await self.write(Command.WRITE_REGISTERS, first, data)

    async def load(self, run):
        """Write operands and descriptor; returns where they lie, and memory as it is now."""
        place = run.place or layout(CONFIG, run.job)
        before = memory_image(CONFIG, run.job, place, run.q, run.k, run.v)
        await self.write(Command.WRITE_MEMORY, 0, before.tobytes())
        await self.describe(run.job, place)
        return place, before

    async def check(self, run, place, before):
        """Memory and counters after a run are golden's."""
        job = run.job
        prediction = predict(CONFIG, job, run.q, run.k, run.v)
        after = memory_after(CONFIG, job, place, before, prediction.result)
        data = await self.read_all(Command.READ_MEMORY, 0, len(after))
        found = np.frombuffer(data, dtype=np.uint8)
        different = np.flatnonzero(found != after)
        if job.naive:
            first, end = (CONFIG.word_bytes * word for word in extents(CONFIG, job, place)["scratch"])
            different = [at for at in different if not first <= at < end]
        assert not len(different), f"byte {different[0]} of memory is wrong"
        if job.state:
            assert (unpack_state(found, job, place) == unpack_state(after, job, place)).all()
        counters = await self.counters()
        wrong = {name: value for name, value in counters.items() if value != prediction.counters[name]}
        assert not wrong, wrong

    async def counters(self):
        names = Counters().names()
        first = MAP.address(f"counters.{names[0]}")
        data = await self.read_all(Command.READ_REGISTERS, first, 4 * len(names))
        return {
            name: int.from_bytes(data[MAP.address(f"counters.{name}") - first :][:4], "little") for name in names
        }

    async def run(self, run):
        """Load, run and check."""
        place, before = await self.load(run)
        await self.expect(FrameStatus.OK, Command.START)
        state = await self.wait_for_end()
        assert state == {"busy": 0, "done": 1, "interrupt": 1, "error": 0, "refusal": 0}, state
        await self.check(run, place, before)


def head(rng_seed, n_q=9, n_kv=11, dim=5, value_dim=6, **fields):
    """A run of normally distributed data at the latency of the board's memory."""
    rng = np.random.default_rng([SEED, rng_seed])
    fields = {"latency": first_word_latency(CONFIG), "q_rows": 8} | fields
    return random_run(CONFIG, n_q, n_kv, dim, value_dim, rng, **fields)


async def host_of(dut, error=0.0):
    dut.rx.value = 1
    host = Host(dut, error)
    await host.start()
    return host
