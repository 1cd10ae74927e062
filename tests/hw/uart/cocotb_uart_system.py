"""cocotb bench of the generated `uart_system`: a host with cocotbext-uart on its line.

cocotb loads this file into the simulator; tests/hw/uart/test_uart_system.py starts it, with the configuration's name in
FLASHTILE_CONFIG and the seed of random tests in FLASHTILE_SEED.
"""

import random

import cocotb
from cocotb.triggers import ClockCycles

from golden.layout import Refusal, layout
from golden.predict import predict
from hw.uart.protocol import (
    IDENTITY_BYTES,
    MAX_PAYLOAD,
    REQUEST,
    RESYNC_BITS,
    TIMEOUT_BITS,
    Command,
    FrameStatus,
)
from tests.hw.uart.line_host import BUILD, CLOCK_HZ, CONFIG, MAP, SEED, SOFT_RESET, SOFT_RESET_ERROR, head, host_of
from tests.hw.uart.serial_line import DeviceModel, request

# ---- commands


@cocotb.test()
async def ping_tells_what_this_is(dut):
    host = await host_of(dut)
    await host.silence(20)
    data = await host.expect(FrameStatus.OK, Command.PING)
    assert len(data) == IDENTITY_BYTES
    words = {4 * index: int.from_bytes(data[4 * index :][:4], "little") for index in range(len(data) // 4)}
    expected = {
        "identity.magic": 0x464C5348, "identity.version": 1, "identity.build": BUILD, "identity.clock_hz": CLOCK_HZ,
        "identity.bus_bits": 0, "configuration.element_bits": CONFIG.element_bits,
        "configuration.array_depth": CONFIG.array_depth, "configuration.array_keys": CONFIG.array_keys,
        "configuration.word_bytes": CONFIG.word_bytes, "configuration.max_dim": CONFIG.max_dim,
        "configuration.max_rows": CONFIG.max_rows, "configuration.max_keys": CONFIG.max_keys,
        "configuration.memory_bytes": CONFIG.memory_bytes, "configuration.softmax_lanes": CONFIG.softmax_units,
    }  # fmt: skip
    assert {name: words[MAP.address(name)] for name in expected} == expected
    assert sum(words.values()) == sum(expected.values())
    assert await host.state() == dict.fromkeys(("busy", "done", "interrupt", "error", "refusal"), 0)
    assert (dut.busy.value, dut.fault.value) == (0, 0)


@cocotb.test()
async def registers_and_memory_against_a_model(dut):
    """Random reads and writes, right and wrong; in the end, all of the registers and some memory."""
    host, rng, word = await host_of(dut), random.Random(SEED), CONFIG.word_bytes
    first, size = MAP.address("descriptor.n_q"), 64 * word
    space = await host.read_all(Command.READ_REGISTERS, 0, 512)
    model = DeviceModel(bytearray(space), bytearray(CONFIG.memory_bytes), word)
    await host.write(Command.WRITE_MEMORY, 0, bytes(size))
    stored = [  # whole registers that keep all bits
        4 * register.index for register in MAP.registers
        if register.index >= first // 4 and all((f.access, f.width) == ("stored", 32) for f in register.fields)
    ]  # fmt: skip
    for _ in range(30):
        command = rng.choice([1, 2, 3, 4, 1, 2, 3, 4, 0, 6, 7, 0xA5])
        if command == 2:
            address = rng.choice(stored)
            length = 4 * (1 + (address + 4 in stored)) if rng.random() < 0.8 else rng.choice([0, 2])
            address = rng.choice([address] * 4 + [address + 1, 512, 1 << 31])
        elif command == 1:
            address, length = 4 * rng.randrange(126), rng.choice([4, 8, 12, 3, 0])
        elif command in (3, 4):
            address = rng.choice([word * rng.randrange(60)] * 5 + [1, CONFIG.memory_bytes, 1 << 20])
            length = rng.choice([word, 2 * word, 4 * word, word - 1])
        else:
            address, length = rng.choice([(0, 0)] * 3 + [(0, 4), (4, 0)])
        payload = rng.randbytes(length) if command in (2, 4) else b""
        expected = model.answer(command, address, length, payload)
        assert await host.ask(command, address, length, payload) == expected, (command, address, length)
    assert await host.read_all(Command.READ_MEMORY, 0, size) == bytes(model.memory[:size])
    assert await host.read_all(Command.READ_REGISTERS, 0, 512) == bytes(model.registers)


@cocotb.test()
async def the_ends_of_memory(dut):
    """The largest payload, the last word, and what is beyond it."""
    host, rng, word = await host_of(dut), random.Random(SEED), CONFIG.word_bytes
    data, last = rng.randbytes(MAX_PAYLOAD), CONFIG.memory_bytes - word
    place = CONFIG.memory_bytes - MAX_PAYLOAD
    await host.expect(FrameStatus.OK, Command.WRITE_MEMORY, place, None, data)
    assert await host.expect(FrameStatus.OK, Command.READ_MEMORY, last, word) == data[-word:]
    await host.expect(FrameStatus.OK, Command.WRITE_MEMORY, 0, None, bytes(word))
    for command, payload in ((Command.READ_MEMORY, b""), (Command.WRITE_MEMORY, bytes(2 * word))):
        await host.expect(FrameStatus.BAD_ADDRESS, command, last, 2 * word, payload)
        await host.expect(FrameStatus.BAD_ADDRESS, command, CONFIG.memory_bytes, 2 * word, payload)
        await host.expect(FrameStatus.BAD_ADDRESS, command, (1 << 32) - word, 2 * word, payload)
    assert await host.expect(FrameStatus.OK, Command.READ_MEMORY, 0, word) == bytes(word)
    assert await host.expect(FrameStatus.OK, Command.READ_MEMORY, place, MAX_PAYLOAD) == data


# ---- runs


@cocotb.test()
async def whole_heads_back_to_back(dut):
    """Written, run and read back, one after the other: several heads, masks, (m, l), NAIVE; golden in every bit and
    counter. A refused descriptor in between does no harm."""
    host = await host_of(dut)
    runs = [
        head(1, heads=2, state=True),
        head(2, n_q=5, n_kv=17, dim=16, value_dim=16, causal=True, heads=2, group=2),
        head(3, naive=True),
    ]
    for number, run in enumerate(runs):
        await host.run(run)
        if number == 0:
            place = layout(CONFIG, run.job)
            await host.write(Command.WRITE_REGISTERS, MAP.address("descriptor.n_kv"), bytes(4))
            await host.expect(FrameStatus.OK, Command.START)
            state = await host.wait_for_end()
            assert state == {"busy": 0, "done": 0, "interrupt": 1, "error": 0, "refusal": Refusal.KEYS}
            assert dut.fault.value == 1
            await host.describe(run.job, place)
            await host.expect(FrameStatus.OK, Command.START)
            assert (await host.wait_for_end())["refusal"] == 0 and dut.fault.value == 0
            prediction = predict(CONFIG, run.job, run.q, run.k, run.v)
            assert (await host.counters())["busy"] == prediction.counters["busy"]
    await host.command(4)
    assert (await host.state())["interrupt"] == 0


@cocotb.test()
async def a_head(dut):
    host = await host_of(dut)
    await host.run(head(9, n_q=3, n_kv=5, dim=4, value_dim=4, heads=2, group=2, state=True))


def long_run():
    """A run of few bytes, under way while a host asks several things: 20,000 cycles for `tiny`."""
    return head(4, n_q=32, n_kv=32, dim=1, value_dim=1, q_rows=1, naive=True)


@cocotb.test()
async def while_a_run_is_under_way(dut):
    """Memory is refused, a second start is, too; registers may be read and the next descriptor written."""
    host, run = await host_of(dut), long_run()
    place, before = await host.load(run)
    await host.expect(FrameStatus.OK, Command.START)
    assert (await host.state())["busy"] == 1 and dut.busy.value == 1
    await host.expect(FrameStatus.BUSY, Command.READ_MEMORY, 0, CONFIG.word_bytes)
    await host.expect(FrameStatus.BUSY, Command.WRITE_MEMORY, 0, None, bytes(CONFIG.word_bytes))
    await host.expect(FrameStatus.BAD_ADDRESS, Command.READ_MEMORY, 1, CONFIG.word_bytes)
    await host.write(Command.WRITE_REGISTERS, MAP.address("descriptor.n_q"), (5).to_bytes(4, "little"))
    await host.expect(FrameStatus.OK, Command.START)
    state = await host.state()
    assert (state["busy"], state["refusal"]) == (1, Refusal.BUSY) and dut.busy.value == 1
    state = await host.wait_for_end()
    assert state == {"busy": 0, "done": 1, "interrupt": 1, "error": 0, "refusal": Refusal.BUSY}
    await host.check(run, place, before)
    data = await host.expect(FrameStatus.OK, Command.READ_REGISTERS, MAP.address("descriptor.n_q"), 4)
    assert data == (5).to_bytes(4, "little")


@cocotb.test()
async def soft_reset(dut):
    """In a run it ends it, with error 5; while idle it clears the status. The next run is right either way."""
    host = await host_of(dut)
    await host.load(long_run())
    await host.expect(FrameStatus.OK, Command.START)
    assert (await host.state())["busy"] == 1
    await host.command(SOFT_RESET)
    state = await host.state()
    assert state == {"busy": 0, "done": 0, "interrupt": 1, "error": SOFT_RESET_ERROR, "refusal": 0}
    assert (dut.busy.value, dut.fault.value) == (0, 1)
    await host.run(head(5))
    await host.command(SOFT_RESET)
    assert await host.state() == {"busy": 0, "done": 0, "interrupt": 1, "error": 0, "refusal": 0}
    assert dut.fault.value == 0
    await host.run(head(6))


# ---- the line


@cocotb.test()
async def garbage_and_broken_frames(dut):
    """Each kind of broken frame has its answer, and the next request is answered as if nothing had been."""
    host, rng = await host_of(dut), random.Random(SEED)
    good = request(Command.STATUS)

    async def healthy():
        assert await host.state() == dict.fromkeys(("busy", "done", "interrupt", "error", "refusal"), 0)

    garbage = bytes(value for value in rng.randbytes(20) if value != REQUEST)
    await host.send(garbage + good)  # without a gap
    assert (await host.receive())[0] == FrameStatus.OK
    await healthy()

    await host.send(good[:-1] + bytes([good[-1] ^ 0x80]) + good + garbage)
    assert (await host.receive(RESYNC_BITS + 20))[0] == FrameStatus.BAD_CRC
    await healthy()

    for cut in (1, 3, 9):
        await host.send(good[:cut])
        await host.silence(TIMEOUT_BITS - 10)
        assert (await host.receive(30))[0] == FrameStatus.TIMEOUT
        await healthy()

    await host.send(request(Command.WRITE_MEMORY, 0, MAX_PAYLOAD + 4) + good + garbage)
    await host.silence(RESYNC_BITS - 10)
    assert (await host.receive(30))[0] == FrameStatus.BAD_LENGTH
    await healthy()

    await host.expect(FrameStatus.BAD_COMMAND, 7)
    await host.expect(FrameStatus.BAD_COMMAND, 255, 4, 4)
    await host.expect(FrameStatus.BAD_LENGTH, Command.READ_MEMORY, 0, 0)
    await host.expect(FrameStatus.BAD_LENGTH, Command.WRITE_REGISTERS, 0x100)
    await host.expect(FrameStatus.BAD_LENGTH, Command.PING, 0, 4)
    await healthy()

    # What comes before the response is over is ignored.
    await host.send(good)
    await host.send(good[:4])
    assert (await host.receive())[0] == FrameStatus.OK
    await host.silence(TIMEOUT_BITS + 20)
    await healthy()


@cocotb.test()
async def framing_errors_and_breaks(dut):
    host = await host_of(dut)
    good = request(Command.STATUS)

    async def byte(value, stop):
        for level in (0, *(value >> place & 1 for place in range(8)), stop, 1):
            dut.rx.value = level
            await host.bits(1)

    # Outside a frame: nothing, though the byte would begin one.
    await byte(REQUEST, 0)
    dut.rx.value = 0
    await host.bits(25)
    dut.rx.value = 1
    await host.silence(TIMEOUT_BITS + 20)
    assert (await host.ask(Command.STATUS))[0] == FrameStatus.OK

    # Inside: an answer when the line is idle.
    await host.send(good[:5])
    await byte(0, 0)
    await host.send(good)
    assert (await host.receive(RESYNC_BITS + 20))[0] == FrameStatus.FRAMING
    assert (await host.ask(Command.STATUS))[0] == FrameStatus.OK

    # A break inside a frame, longer than any time-out.
    await host.send(good[:5])
    dut.rx.value = 0
    await host.silence(TIMEOUT_BITS + 50)
    dut.rx.value = 1
    await host.silence(RESYNC_BITS - 5)
    assert (await host.receive(30))[0] == FrameStatus.FRAMING

    # Glitches of less than half a bit, before and in the pauses of a frame.
    for part in (good[:1], good[1:6], good[6:]):
        for low in (1, 2):
            dut.rx.value = 0
            await ClockCycles(dut.clk, low)
            dut.rx.value = 1
            await host.bits(2)
        await host.send(part)
    assert (await host.receive())[0] == FrameStatus.OK


@cocotb.test()
async def a_host_two_percent_fast(dut):
    await at_baud_error(dut, 0.02)


@cocotb.test()
async def a_host_two_percent_slow(dut):
    await at_baud_error(dut, -0.02)


async def at_baud_error(dut, error):
    """Both ways without a gap, through a whole run."""
    host = await host_of(dut, error)
    rng = random.Random(SEED)
    data = bytes([0x00] * 16 + [0xFF] * 16 + [0x55, 0xAA] * 8) + rng.randbytes(48)
    await host.write(Command.WRITE_MEMORY, 64, data)
    assert await host.read_all(Command.READ_MEMORY, 64, len(data)) == data
    await host.run(head(7, n_q=3, n_kv=5, dim=4, value_dim=4))


@cocotb.test()
async def hardware_reset(dut):
    """In a request, in a response and in a run: the line is idle, and everything is as at the beginning."""
    host = await host_of(dut)
    idle = dict.fromkeys(("busy", "done", "interrupt", "error", "refusal"), 0)
    frame = request(Command.WRITE_REGISTERS, MAP.address("descriptor.n_q"), None, b"\1\2\3\4")
    await host.expect(FrameStatus.OK, Command.WRITE_REGISTERS, MAP.address("descriptor.n_q"), None, b"\5\6\7\0")
    for cut in (1, 6, 13):
        await host.send(frame[:cut])
        await host.bits(3)
        await host.reset()
        await host.silence(TIMEOUT_BITS + 20)
        assert await host.state() == idle
        data = await host.expect(FrameStatus.OK, Command.READ_REGISTERS, MAP.address("descriptor.n_q"), 4)
        assert data == bytes(4)

    await host.send(request(Command.PING))
    await host.bits(233)
    await host.reset(1)
    assert dut.tx.value == 1
    await host.bits(12)
    host.sink.clear()
    await host.silence(100)
    assert await host.state() == idle

    await host.load(long_run())
    await host.expect(FrameStatus.OK, Command.START)
    await host.bits(30)
    assert dut.busy.value == 1
    await host.reset(1)
    assert dut.busy.value == 0
    assert await host.state() == idle
    assert not any((await host.counters()).values())
    await host.run(head(8, n_q=3, n_kv=5, dim=4, value_dim=4))
