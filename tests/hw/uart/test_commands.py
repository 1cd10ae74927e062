"""Commands on models of registers and memory, of words of all widths."""

import random

import pytest

from hw.ports import RegisterBus
from hw.signals import bit, unsigned
from hw.uart.commands import commands
from hw.uart.frame_reader import Request
from hw.uart.protocol import MAX_PAYLOAD, REGISTER_BYTES, Command, FrameStatus
from tests.hw.harness import BACKENDS, run
from tests.hw.uart.serial_line import WRITES, DeviceModel

OUTPUTS = [
    "payload_address", "send", "status", "left", "data", "data_valid", "bus_address", "bus_write", "bus_data",
    "bus_strobe", "memory_write", "memory_address", "memory_data",
]  # fmt: skip
WORDS = pytest.mark.parametrize("word", [2, 4, 8, 16])


class World:
    """Frame reader, frame writer, registers and memory around the block, for a list of requests."""

    def __init__(self, word, memory_bytes=1024, latency=4, seed=1):
        rng = random.Random(seed)
        self.word, self.latency = word, latency
        self.registers, self.memory = bytearray(rng.randbytes(REGISTER_BYTES)), bytearray(rng.randbytes(memory_bytes))
        self.model = DeviceModel(bytearray(self.registers), bytearray(self.memory), word)
        self.rng, self.answers, self.expected, self.starts, self.busy = rng, [], [], 0, False

    def ports(self):
        names = ("reset", "ended", "send", "data_valid", "take", "done", "busy", "memory_write")
        signals = {name: bit() for name in names} | {name: unsigned(3) for name in ("error", "status")}
        signals |= {name: unsigned(8) for name in ("payload", "data")}
        signals |= {"request": Request(), "payload_address": unsigned(10), "left": unsigned(11), "bus": RegisterBus()}
        address = (len(self.memory) // self.word - 1).bit_length()
        signals |= {"memory_address": unsigned(address)}
        return signals | {name: unsigned(8 * self.word) for name in ("memory_data", "memory_q")}

    def step(self, seen, inputs):
        """One cycle: what the surroundings drive, from what they saw in the last one."""
        bus_word = int.from_bytes(self.registers[4 * seen["bus_address"] :][:4], "little")
        at = self.word * seen["memory_address"]
        self.bus_line.append(bus_word)
        self.memory_line.append(int.from_bytes(self.memory[at : at + self.word], "little"))
        if seen["bus_write"]:
            assert seen["bus_strobe"] == 15 and not seen["memory_write"]
            if seen["bus_address"] == 0x80 // 4 and self.command == Command.START:
                assert seen["bus_data"] == 1
                self.starts += 1
            else:
                place = 4 * seen["bus_address"]
                self.registers[place : place + 4] = seen["bus_data"].to_bytes(4, "little")
        if seen["memory_write"]:
            self.memory[at : at + self.word] = seen["memory_data"].to_bytes(self.word, "little")
        place = self.payload_line.pop(0)
        self.payload_line.append(seen["payload_address"])
        length = len(self.payload)
        byte = self.payload[(length - place) % MAX_PAYLOAD] if length and (length - place) % MAX_PAYLOAD < length else 0
        return inputs | {
            "bus_q": self.bus_line[-2], "memory_q": self.memory_line[-self.latency], "payload": byte,
        }  # fmt: skip

    def run(self, requests, backend, error=()):
        """Execute (command, address, length, payload, busy); compares answers, registers and memory with the model.

        error: an error of the frame reader before each request, which is then not looked at.
        """
        self.bus_line, self.memory_line, self.payload_line = [0] * 8, [0] * 8, [0]
        self.payload, self.command = b"", 0

        def stimulus():
            seen = yield {"reset": 1, "ended": 0, "error": 0, "take": 0, "done": 0, "busy": 0}
            seen = yield {"reset": 0}
            for number, (command, address, length, payload, busy) in enumerate(requests):
                fault = error[number] if error else 0
                self.payload, self.command, self.model.busy = payload, command, busy
                fields = {"request_command": command, "request_length": length, "request_address": address}
                for _ in range(3):
                    seen = yield self.step(seen, fields | {"busy": int(busy), "done": 0})
                    assert not seen["send"]
                before = self.model.starts
                if fault:
                    self.expected.append((FrameStatus(fault), b""))
                else:
                    self.expected.append(self.model.answer(command, address, length, payload))
                expected_starts = self.starts + self.model.starts - before
                seen = yield self.step(seen, {"ended": 1, "error": fault})
                for _ in range(3 * len(payload) + len(payload) // 2 + 8):
                    if seen["send"]:
                        break
                    seen = yield self.step(seen, {})
                assert seen["send"], "no answer"
                out, promised = bytearray(), seen["left"]
                status = FrameStatus(seen["status"])
                seen = yield self.step(seen, {})
                while seen["left"]:
                    assert not seen["send"] and seen["status"] == status
                    for _ in range(self.rng.randrange(3)):
                        seen = yield self.step(seen, {"take": 0})
                    # take is asked for in the cycle in which it is given
                    if seen["data_valid"]:
                        seen = yield self.step(seen, {"take": 1})
                        out.append(seen["data"])
                        assert seen["data_valid"]
                    seen = yield self.step(seen, {"take": 0})
                assert len(out) == promised
                self.answers.append((status, bytes(out)))
                for _ in range(self.rng.randrange(8)):
                    seen = yield self.step(seen, {"take": 0})
                    assert not seen["send"]
                seen = yield self.step(seen, {"done": 1})
                seen = yield self.step(seen, {"done": 0, "ended": 0, "error": 0})
                assert self.starts == expected_starts, number

        run(commands, self.ports(), stimulus, OUTPUTS, backend, {"memory_latency": self.latency})
        assert self.answers == self.expected
        assert self.registers == self.model.registers
        assert self.memory == self.model.memory


def each(command, address=0, length=0, payload=b"", busy=False):
    return command, address, len(payload) or length, payload, busy


@BACKENDS
@WORDS
def test_random_requests(word, backend):
    """All commands; lengths and addresses that are right, that just are not, and wild ones."""
    rng, requests = random.Random(word), []
    for _ in range(100):
        command = rng.choice([*Command, 1, 2, 3, 4, 1, 2, 3, 4, rng.randrange(7, 256)])
        of_memory = command in (3, 4)
        size, unit = (1024, word) if of_memory else (REGISTER_BYTES, 4)
        length = unit * rng.choice([0, 1, 1, 2, 3, 5]) + rng.choice([0, 0, 0, 0, 1, unit // 2])
        address = unit * rng.randrange(size // unit)
        last = size - length
        address = rng.choice([address, address, 0, last, last + unit, size, address + unit // 2, address + 1])
        address += rng.choice([0] * 12 + [size, 1 << 31, 1 << 16])
        if command in (0, 5, 6):
            length, address = rng.choice([(0, 0), (0, 0), (0, 4), (4, 0), (0, 1 << 31), (1 << 8, 0)])
        payload = rng.randbytes(length) if command in WRITES else b""
        requests.append((command, address % (1 << 32), length, payload, rng.random() < 0.2))
    world = World(word)
    world.run(requests, backend)
    assert {0, 2, 3, 4} <= {status for status, _ in world.answers}


@BACKENDS
@pytest.mark.parametrize(("word", "latency"), [(2, 1), (4, 2), (8, 7), (16, 4)])
def test_all_of_registers_and_memory(word, latency, backend):
    rng = random.Random(latency)
    requests = [
        each(2, 0, 0, rng.randbytes(512)), each(1, 0, 512), each(4, 0, 0, rng.randbytes(256)), each(3, 0, 256),
        each(0), each(6),
    ]  # fmt: skip
    world = World(word, 256, latency)
    world.run(requests, backend)
    assert [status for status, _ in world.answers] == [0] * 6
    assert world.answers[3][1] == requests[2][3]


@BACKENDS
@pytest.mark.parametrize("memory_bytes", [256, 512, 4096, 1 << 26])
def test_the_end_of_memory(memory_bytes, backend):
    """The last word, the one after it, and lengths that reach beyond it by little and by much."""
    word, requests = 4, []
    for command in (3, 4):
        for address, length in (
            (memory_bytes - 4, 4), (memory_bytes - 4, 8), (memory_bytes, 4), (memory_bytes - 8, 8),
            (memory_bytes - 4, 1024), (2 * memory_bytes, 4), (0xFFFFFFFC, 4), (0xFFFFFFFC, 8), (memory_bytes - 32, 32),
        ):  # fmt: skip
            payload = bytes([length & 255, *range(3)]) * (length // 4) if command == 4 else b""
            requests.append((command, address, length, payload, False))
    requests += [each(1, address, length) for address, length in ((508, 4), (508, 8), (4, 512), (512, 4), (0, 1024))]
    world = World(word, memory_bytes)
    world.run(requests, backend)
    assert {status for status, _ in world.answers} == {FrameStatus.OK, FrameStatus.BAD_ADDRESS}


@BACKENDS
def test_errors_of_the_reader_are_handed_on(backend):
    """Nothing is done and nothing read, whatever the fields say."""
    faults = [1, 3, 5, 7]
    requests = [each(4, 0, 0, b"12345678"), each(2, 0x80, 0, b"\1\0\0\0"), each(5), each(3, 0, 8)]
    world = World(4)
    world.run(requests * 4, backend, [fault for fault in faults for _ in requests])
    assert world.starts == 0


@BACKENDS
def test_busy_keeps_memory_only(backend):
    requests = [
        each(*item, busy=True)
        for item in ((0,), (1, 0x100, 8), (2, 0x100, 0, b"abcd"), (3, 0, 8), (4, 0, 0, b"abcd"), (5,), (6,))
    ]
    world = World(4)
    world.run(requests, backend)
    assert [int(status) for status, _ in world.answers] == [0, 0, 0, 6, 6, 0, 0]


@BACKENDS
def test_reset_in_a_command(backend):
    """It ends in whatever state it is; what follows is a command like any other."""
    world = World(4)
    world.bus_line, world.memory_line, world.payload_line = [0] * 8, [0] * 8, [0]
    world.payload, world.command = b"12345678", 4

    def stimulus():
        seen = yield {"reset": 1, "error": 0, "take": 0, "done": 0, "busy": 0, "ended": 0}
        for cycles in range(1, 40):
            fields = {"reset": 0, "ended": 1, "request_command": 4 - cycles % 2, "request_length": 8}
            seen = yield world.step(seen, fields)
            for _ in range(cycles):
                seen = yield world.step(seen, {})
            yield world.step(seen, {"reset": 1, "ended": 0})
            seen = yield world.step(seen, {"reset": 0})
            for _ in range(8):
                seen = yield world.step(seen, {})
                assert not (seen["send"] or seen["bus_write"] or seen["memory_write"] or seen["data_valid"])

    run(commands, world.ports(), stimulus, OUTPUTS, backend, {"memory_latency": 4})


def test_refuses_a_memory_without_latency():
    with pytest.raises(AssertionError, match="memory answers after a cycle at least, not 0"):
        World(4, latency=0).run([each(0)], "myhdl")
