"""A board whose engine is the golden model: registers, memory and runs; and a link straight to it."""

import numpy as np

from fpga.host.identity import MAGIC, VERSION
from fpga.host.link import Link
from fpga.host.registers import RunState, address, field, host_map, pack, unpack
from golden.job import Job
from golden.layout import Layout, refusal
from golden.memory_image import memory_after, unpack_operands
from golden.predict import predict


class GoldenBoard:
    """Registers by byte address, and memory. jobs: those that ran.

    stuck: runs never end, but by a soft reset; wedged: not even so. trouble: what status says after each run, besides
    or instead of done.
    """

    def __init__(self, config, magic=MAGIC, version=VERSION, bus_bits=0, clock_hz=0):
        self.config, self.jobs, self.trouble = config, [], {}
        self.stuck = self.wedged = False
        self.memory = np.full(config.memory_bytes, 0x5A, dtype=np.uint8)
        self.registers = [0] * 128
        self._set("identity", magic=magic, version=version, build=1, clock_hz=clock_hz, bus_bits=bus_bits)
        names = ("array_depth", "array_keys", "word_bytes", "max_dim", "max_rows", "max_keys", "memory_bytes")
        shape = {name: getattr(config, name) for name in names}
        self._set("configuration", element_bits=config.element_bits, softmax_lanes=config.softmax_units, **shape)

    @property
    def busy(self):
        return bool(self.registers[address("status.busy") // 4] & 1)

    def _set(self, name, **values):
        first, words = pack(name, values)
        self.registers[first // 4 : first // 4 + len(words)] = words

    def _descriptor(self):
        first, words = pack("descriptor", {})
        fields = unpack("descriptor", self.registers[first // 4 : first // 4 + len(words)])
        fields["q_position"] -= (fields["q_position"] >> 31) << 32
        place = {name: fields.pop(name) for name in list(fields) if name in Layout.__dataclass_fields__}
        windowed = fields.pop("windowed")
        fields["window"] = fields["window"] if windowed else None
        flags = {name: bool(fields[name]) for name in ("causal", "overlap", "naive", "state")}
        return Job(**fields | flags), Layout(**place)

    def write(self, place, value):
        """Write a register, with what that brings about."""
        if place != address("control.start"):
            self.registers[place // 4] = value
        elif value >> field("control.soft_reset")[1] & 1:
            self.stuck = self.stuck and self.wedged
            self._set("status", busy=int(self.stuck), error=0 if self.stuck else 5)
        elif value & 1:
            self.start()

    def start(self):
        if self.stuck:
            return self._set("status", busy=1)
        job, place = self._descriptor()
        reason = refusal(self.config, job, place)
        if reason or self.trouble:
            return self._set("status", **{"refusal": reason} | self.trouble)
        operands = unpack_operands(self.memory, self.config, job, place)
        prediction = predict(self.config, job, *operands)
        self.memory[:] = memory_after(self.config, job, place, self.memory, prediction.result)
        counters = {name.name.partition(".")[2] for register in host_map().registers for name in register.fields
                    if name.name.startswith("counters.")}  # fmt: skip
        self._set("counters", **{name: prediction.counters[name] for name in counters})
        self._set("status", done=1)
        self.jobs.append(job)


class GoldenLink(Link):
    """To a GoldenBoard. loads: bytes of each write to memory."""

    name = "golden board"

    def __init__(self, board):
        self.board, self.loads, self.closed = board, [], False

    def read_registers(self, address, count):
        return self.board.registers[address // 4 : address // 4 + count]

    def write_registers(self, address, values):
        for index, value in enumerate(values):
            self.board.write(address + 4 * index, value)

    def read_memory(self, address, size):
        assert address + size <= len(self.board.memory)
        return self.board.memory[address : address + size].tobytes()

    def write_memory(self, address, data):
        assert address + len(data) <= len(self.board.memory)
        self.board.memory[address : address + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.loads.append(len(data))

    def start(self):
        self.board.start()

    def state(self):
        return RunState.of(self.board.registers[address("status.busy") // 4])

    def close(self):
        self.closed = True
