"""Serial lines and frames, as tests see them: levels clock by clock, bytes, requests and responses."""

import zlib

from hw.uart.protocol import BYTE_BITS, IDENTITY_BYTES, MAX_PAYLOAD, REQUEST, RESPONSE, Command, FrameStatus

WRITES = Command.WRITE_REGISTERS, Command.WRITE_MEMORY
# Clock and baud rate: bits of 8 clocks, 8 1/3, 16 2/3 and 25.
RATES = (8_000, 1_000), (25_000, 3_000), (50_000_000, 3_000_000), (100_000_000, 4_000_000)


def byte_bits(value, stop=1):
    """A byte on the line: start bit, data from the low bit up, stop bit."""
    return [0, *(value >> place & 1 for place in range(8)), stop]


def levels(bits, clocks, offset=0.0, idle=0):
    """The level at each clock of bits that take `clocks` each, from time `offset` on; then `idle` bits high."""
    bits = [*bits, *[1] * idle]
    count = int(len(bits) * clocks + offset)
    return [1 if at < offset else bits[min(len(bits) - 1, int((at - offset) / clocks))] for at in range(count)]


def line_of(data, clocks, offset=0.0, idle=2, gap=0):
    """Levels of bytes, `gap` idle bits between them."""
    return levels([bit for value in data for bit in [*byte_bits(value), *[1] * gap]], clocks, offset, idle)


def bytes_on(line, clocks):
    """The bytes on a line; each bit has its value in its middle, and the line is high between bytes."""
    found, at = [], 1
    while at < len(line):
        if line[at - 1] == 1 and line[at] == 0:
            places = [at + int((place + 0.5) * clocks) for place in range(BYTE_BITS)]
            if places[-1] >= len(line):
                break
            start, *data, stop = (line[place] for place in places)
            assert (start, stop) == (0, 1), f"no byte at clock {at}"
            found.append(sum(bit << place for place, bit in enumerate(data)))
            at = places[-1]
        at += 1
    return bytes(found)


def sealed(body):
    """A frame with its CRC."""
    return body + zlib.crc32(body).to_bytes(4, "little")


def request(command, address=0, length=None, payload=b""):
    """The bytes of a request; length: of the payload unless given."""
    length = len(payload) if length is None else length
    head = bytes([REQUEST, command]) + length.to_bytes(2, "little") + address.to_bytes(4, "little")
    return sealed(head + payload)


def response(status, payload=b""):
    """The bytes of a response."""
    return sealed(bytes([RESPONSE, status]) + len(payload).to_bytes(2, "little") + payload)


class DeviceModel:
    """What registers and memory hold, and what the hardware answers to a request that is whole.

    registers: byte array of the register space, which keeps what is written; memory: byte array; word: bytes of a word.
    """

    def __init__(self, registers, memory, word):
        self.registers, self.memory, self.word = registers, memory, word
        self.busy = False
        self.starts = 0

    def answer(self, command, address=0, length=None, payload=b""):
        """(status, payload) of a request, which is carried out."""
        length = len(payload) if length is None else length
        if length > MAX_PAYLOAD:
            return FrameStatus.BAD_LENGTH, b""
        if command not in list(Command):
            return FrameStatus.BAD_COMMAND, b""
        command = Command(command)
        if command in (Command.PING, Command.START, Command.STATUS):
            if length:
                return FrameStatus.BAD_LENGTH, b""
            if address:
                return FrameStatus.BAD_ADDRESS, b""
            self.starts += command == Command.START
            shown = {Command.PING: self.registers[:IDENTITY_BYTES], Command.STATUS: self.registers[0xA0:0xA4]}
            return FrameStatus.OK, bytes(shown.get(command, b""))
        of_memory = command in (Command.READ_MEMORY, Command.WRITE_MEMORY)
        space, unit = (self.memory, self.word) if of_memory else (self.registers, 4)
        if length == 0 or length % unit:
            return FrameStatus.BAD_LENGTH, b""
        if address % unit or address + length > len(space):
            return FrameStatus.BAD_ADDRESS, b""
        if of_memory and self.busy:
            return FrameStatus.BUSY, b""
        if command in WRITES:
            space[address : address + length] = payload
            return FrameStatus.OK, b""
        return FrameStatus.OK, bytes(space[address : address + length])
