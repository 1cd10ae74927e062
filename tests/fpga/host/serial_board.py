"""A GoldenBoard at the other end of a pseudo-terminal, which answers frames, or misbehaves."""

import os
import select
import struct
import threading
import time
import tty
import zlib
from contextlib import suppress

import numpy as np

from fpga.host.frames import response
from fpga.host.registers import address
from hw.uart.protocol import MAX_PAYLOAD, REQUEST, REQUEST_BYTES, Command, FrameStatus

WRITES = Command.WRITE_REGISTERS, Command.WRITE_MEMORY
IDENTITY_BYTES = 0x44


class SerialBoard:
    """port: name of the terminal. requests: (command, address, length) of each whole frame that came.

    faults: what happens to the next answers, one an answer: a function of (board, answer) that returns what is sent
    instead, or None for the answer itself; the request has been carried out by then.
    """

    def __init__(self, board, gap=0.05):
        self.board, self.requests, self.faults, self.gap = board, [], [], gap
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        self._slave = slave
        self._unplugged = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def unplug(self):
        """The port goes away, as that of a USB adapter does."""
        if not self._unplugged.is_set():
            self._unplugged.set()
            os.close(self._slave)
            os.close(self._master)

    def close(self):
        self.unplug()
        self._thread.join(5)
        assert not self._thread.is_alive()

    def _serve(self):
        with suppress(OSError):
            while not self._unplugged.is_set():
                frame = self._frame()
                if frame is None:
                    continue
                answer = self._answer(frame)
                fault = self.faults.pop(0) if self.faults else None
                answer = answer if fault is None else fault(self, answer)
                if answer:
                    os.write(self._master, answer)

    def _frame(self):
        """The next frame, or what came of it when it was not ended; None if nothing begins one."""
        if self._read(1) != bytes([REQUEST]):
            return None
        frame = bytes([REQUEST]) + self._read(REQUEST_BYTES - 5)
        if len(frame) < REQUEST_BYTES - 4:
            return frame
        command, length = struct.unpack_from("<xBH", frame)
        return frame + self._read(4 + (min(length, MAX_PAYLOAD) if command in WRITES else 0))

    def _read(self, count):
        data = b""
        while len(data) < count:
            ready, _, _ = select.select([self._master], [], [], self.gap)
            if self._unplugged.is_set() or (not ready and data):
                break
            if ready:
                data += os.read(self._master, count - len(data))
        return data

    def _answer(self, frame):
        if len(frame) < REQUEST_BYTES:
            return response(FrameStatus.TIMEOUT)
        _, command, length, place = struct.unpack_from("<BBHI", frame)
        payload, (crc,) = frame[8:-4], struct.unpack("<I", frame[-4:])
        if crc != zlib.crc32(frame[:-4]):
            return response(FrameStatus.BAD_CRC)
        self.requests.append((Command(command), place, length))
        status, data = self._carry_out(Command(command), place, length, payload)
        return response(status, data)

    def _carry_out(self, command, place, length, payload):
        board = self.board
        memory = command in (Command.READ_MEMORY, Command.WRITE_MEMORY)
        if command not in (Command.PING, Command.START, Command.STATUS):
            unit, end = (board.config.word_bytes, len(board.memory)) if memory else (4, 0x200)
            if length == 0 or length % unit or length > MAX_PAYLOAD:
                return FrameStatus.BAD_LENGTH, b""
            if place % unit or place + length > end:
                return FrameStatus.BAD_ADDRESS, b""
        if board.busy and memory:
            return FrameStatus.BUSY, b""
        if command in (Command.PING, Command.READ_REGISTERS, Command.STATUS):
            if command == Command.PING:
                place, length = 0, IDENTITY_BYTES
            elif command == Command.STATUS:
                place, length = address("status.busy"), 4
            return FrameStatus.OK, struct.pack("<128I", *board.registers)[place : place + length]
        if command == Command.READ_MEMORY:
            return FrameStatus.OK, board.memory[place : place + length].tobytes()
        if command == Command.WRITE_MEMORY:
            board.memory[place : place + length] = np.frombuffer(payload, dtype=np.uint8)
        elif command == Command.WRITE_REGISTERS:
            values = struct.unpack(f"<{length // 4}I", payload)
            for index, value in enumerate(values):
                board.write(place + 4 * index, value)
        else:
            board.start()
        return FrameStatus.OK, b""


def nothing(board, answer):
    """No answer at all."""
    return b""


def altered(board, answer):
    """A bit of the answer flips on the way."""
    return answer[:-1] + bytes([answer[-1] ^ 1])


def cut(board, answer):
    """The end of the answer is lost."""
    return answer[:-2]


def after_garbage(board, answer):
    """The answer follows bytes that mean nothing, among them what looks like the start of one."""
    return b"\x00\xffboot\x5a\x00\xff\xff" + answer


def garbage(board, answer):
    """Bytes that mean nothing, as at a wrong baud rate."""
    return bytes(range(128, 144))


def late(board, answer):
    """The answer comes when nobody waits for it any more."""
    time.sleep(0.25)
    return answer


def twice(board, answer):
    """The answer, and a moment later that to a request which was thought lost."""
    os.write(board._master, answer)
    time.sleep(0.05)
    return answer


def damaged_request(status):
    """The device says that the request did not arrive well."""
    return lambda board, answer: response(status)


def unplugged(board, answer):
    """The cable is pulled."""
    board.unplug()
    return b""
