"""A board on a serial port: registers, memory and runs by the frames of fpga.host.frames, through pyserial."""

from __future__ import annotations

import errno
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import serial

from fpga.host.errors import DeviceError
from fpga.host.frames import GAP_BYTES, BadResponse, missing, request, take
from fpga.host.link import Link
from fpga.host.registers import RunState, bundle
from fpga.ulx3s.board import DEFAULT_BAUD, MAX_BAUD, MIN_BAUD
from hw.uart.protocol import BYTE_BITS, MAX_PAYLOAD, Command, FrameStatus

ATTEMPTS = 3  # of a request that was not answered, or badly
POLL = 0.05  # seconds that a read of the port lasts at most
BABBLE = 1.0  # seconds after which a line that does not fall silent is used all the same
LATENCY = 0.05  # seconds that a USB adapter may hold back what it received

try:
    from termios import error as TerminalError
except ImportError:  # Windows

    class TerminalError(Exception):
        """What is not raised there."""


# Answers to a frame that was damaged on its way: to be sent again.
DAMAGED = (FrameStatus.BAD_CRC, FrameStatus.BAD_LENGTH, FrameStatus.TIMEOUT, FrameStatus.FRAMING)


class _Unanswered(Exception):
    """No answer, or none that can be used; says what came instead."""


class SerialLink(Link):
    """A link through a serial port, half duplex.

    Requests that are not answered in time, or badly, are repeated when the line has fallen silent. Answers do not say
    what they answer, so the line must be silent before the request after a repeated one, too.

    Args:
        port: name of the port. baud: that of the bitstream. timeout: seconds to wait for an answer, besides the time
            that its bytes take. settle: seconds of silence that let a device give up a damaged frame; None: as long as
            the baud rate says.

    Raises:
        DeviceError: the port cannot be used, or nobody answers.
    """

    def __init__(self, port: str, baud: int = DEFAULT_BAUD, timeout: float = 1.0, settle: float | None = None):
        self.name, self._baud, self._timeout = port, baud, timeout
        self._byte = BYTE_BITS / baud
        self._settle_time = LATENCY + 1.5 * GAP_BYTES * self._byte if settle is None else settle
        self._unsettled = False
        self._serial = _open(port, baud, timeout)
        try:
            first, count = bundle("configuration")
            self._request(Command.PING, wanted=first + 4 * count)
        except BaseException:
            self.close()
            raise

    def read_registers(self, address: int, count: int) -> list[int]:
        data = self._read(Command.READ_REGISTERS, address, 4 * count)
        return list(struct.unpack(f"<{count}I", data))

    def write_registers(self, address: int, values: list[int]) -> None:
        self._write(Command.WRITE_REGISTERS, address, struct.pack(f"<{len(values)}I", *values))

    def read_memory(self, address: int, size: int) -> bytes:
        return self._read(Command.READ_MEMORY, address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        self._write(Command.WRITE_MEMORY, address, data)

    def start(self) -> None:
        # Not repeated blindly: if only the answer was lost, the run is under way. If it is over, another does no harm.
        for attempt in range(ATTEMPTS):
            try:
                return self._exchange(Command.START)
            except _Unanswered as fault:
                if attempt == ATTEMPTS - 1:
                    raise self._silent(fault) from None
                if self.state().busy:
                    return None

    def state(self) -> RunState:
        return RunState.of(*struct.unpack("<I", self._request(Command.STATUS, wanted=4)))

    def close(self) -> None:
        with suppress(OSError, TerminalError):
            self._serial.close()

    def _read(self, command: Command, address: int, size: int) -> bytes:
        parts = [(at, min(MAX_PAYLOAD, address + size - at)) for at in range(address, address + size, MAX_PAYLOAD)]
        return b"".join(self._request(command, at, length, wanted=length) for at, length in parts)

    def _write(self, command: Command, address: int, data: bytes) -> None:
        for at in range(0, len(data), MAX_PAYLOAD):
            self._request(command, address + at, payload=data[at : at + MAX_PAYLOAD])

    def _request(self, command: Command, address=0, length=0, payload=b"", wanted=0) -> bytes:
        """The payload of the answer to a request that may be made more than once."""
        fault = None
        for _ in range(ATTEMPTS):
            try:
                answer = self._exchange(command, address, length, payload, wanted)
            except _Unanswered as error:
                fault = error
            else:
                self._unsettled = fault is not None
                return answer
        raise self._silent(fault)

    def _exchange(self, command: Command, address=0, length=0, payload=b"", wanted=0) -> bytes:
        if self._unsettled:
            self._settle()
        self._unsettled = True  # until there is an answer
        frame = request(command, address, length, payload)
        with self._plugged():
            self._serial.reset_input_buffer()
            self._serial.write(frame)
        status, answer = self._answer(self._timeout + 1.5 * self._byte * (len(frame) + wanted))
        if status in DAMAGED:
            raise _Unanswered(f"the answer that requests arrive damaged ({status.name})")
        if status == FrameStatus.BUSY:
            raise DeviceError(
                f"{self.name} is busy with a run, so that its memory cannot be used; wait until it ends, or "
                "reset() it"
            )
        if status != FrameStatus.OK:
            raise DeviceError(
                f"{self.name} refuses {command.name} at 0x{address:X} ({status.name}); load a bitstream that was built "
                "with this version of flashtile"
            )
        if len(answer) != wanted:
            raise _Unanswered(f"an answer of {len(answer)} bytes instead of {wanted}")
        self._unsettled = False
        return answer

    def _answer(self, seconds: float) -> tuple[FrameStatus, bytes]:
        """The next response on the line."""
        end, buffer, heard = time.monotonic() + seconds, bytearray(), 0
        while (more := missing(buffer)) > 0:
            with self._plugged():
                data = self._serial.read(more)
            heard += len(data)
            buffer += data
            if time.monotonic() > end and more > len(data):
                raise _Unanswered(f"{heard} bytes that are no whole answer" if heard else "no answer")
        try:
            return take(buffer)
        except BadResponse as error:
            raise _Unanswered(str(error)) from None

    def _settle(self) -> None:
        """Wait until the line has been silent for as long as the device needs to give up a damaged frame."""
        now = time.monotonic()
        end, silent = now + self._settle_time + BABBLE, now + self._settle_time
        while (now := time.monotonic()) < min(silent, end):
            with self._plugged():
                heard = self._serial.read(max(1, self._serial.in_waiting))
            if heard:
                silent = now + self._settle_time

    def _silent(self, fault: _Unanswered) -> DeviceError:
        return DeviceError(
            f"no flashtile accelerator answers on {self.name} at {self._baud:,} baud (last heard: {fault}); check that "
            "the board has power and a flashtile bitstream, and that the baud rate is the one it was built with"
        )

    @contextmanager
    def _plugged(self) -> Iterator[None]:
        try:
            yield
        except serial.SerialTimeoutException:
            raise DeviceError(
                f"{self.name} takes no data for {self._timeout:.1f} s; unplug the board, plug it in again and connect "
                "anew"
            ) from None
        except (OSError, TerminalError, TypeError) as error:  # pyserial's TypeError: the port was closed meanwhile
            raise DeviceError(
                f"{self.name} went away ({error}); check the cable, plug the board in again and connect anew"
            ) from None


def _open(port: str, baud: int, timeout: float) -> serial.Serial:
    try:
        return serial.Serial(port, baud, timeout=POLL, write_timeout=timeout, exclusive=True)
    except ValueError:
        raise DeviceError(f"{port} cannot do {baud:,} baud; choose one of {MIN_BAUD:,} to {MAX_BAUD:,}") from None
    except (OSError, TerminalError) as error:
        number = getattr(error, "errno", None) or next(iter(error.args), None)
        if number in (errno.EACCES, errno.EPERM):
            remedy = "sudo usermod -aG dialout $USER, then log in anew"
            sentence = f"no permission to open {port}; add yourself to the group that owns it, on Debian: {remedy}"
        elif number in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
            sentence = f"there is no port {port}; plug the board in{_others()}"
        elif number in (errno.EAGAIN, errno.EBUSY):
            sentence = f"{port} is in use by another program; close that program first"
        else:
            sentence = f"cannot open {port} as a serial port ({error}); give the name of one{_others()}"
        raise DeviceError(sentence) from None


def _others() -> str:
    from serial.tools.list_ports import comports

    names = ", ".join(sorted(port.device for port in comports()))
    return f", or choose one of {names}" if names else ""
