"""Frames of the serial line as bytes, see hw.uart.protocol: requests of a host and responses of a device."""

from __future__ import annotations

import struct
import zlib

from hw.uart.protocol import (
    BYTE_BITS,
    MAX_PAYLOAD,
    REQUEST,
    RESPONSE,
    TIMEOUT_BITS,
    Command,
    FrameStatus,
)

HEADER, CRC = 4, 4  # bytes of a response before and after its payload
GAP_BYTES = TIMEOUT_BITS // BYTE_BITS  # byte times after which a device gives up a frame that was begun


class BadResponse(ValueError):
    """What came is no response; says why."""


def request(command: Command, address: int = 0, length: int = 0, payload: bytes = b"") -> bytes:
    """A whole request; length: that of the payload, if there is one."""
    body = struct.pack("<BBHI", REQUEST, command, len(payload) or length, address) + payload
    return body + struct.pack("<I", zlib.crc32(body))


def response(status: FrameStatus, payload: bytes = b"") -> bytes:
    """A whole response."""
    body = struct.pack("<BBH", RESPONSE, status, len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(body))


def missing(buffer: bytearray) -> int:
    """How many more bytes a response needs at least, 0 if it is whole; drops from `buffer` what cannot begin one."""
    while buffer:
        begin = buffer.find(RESPONSE)
        del buffer[: len(buffer) if begin < 0 else begin]
        if len(buffer) < HEADER:
            break
        length = struct.unpack_from("<H", buffer, 2)[0]
        if length <= MAX_PAYLOAD:
            return max(0, HEADER + length + CRC - len(buffer))
        del buffer[0]
    return HEADER + CRC - len(buffer)


def take(buffer: bytearray) -> tuple[FrameStatus, bytes]:
    """Status and payload of the whole response at the start of `buffer`, which is taken out.

    Raises:
        BadResponse: its CRC is wrong, or its status is none.
    """
    length = struct.unpack_from("<H", buffer, 2)[0]
    frame = bytes(buffer[: HEADER + length + CRC])
    del buffer[: len(frame)]
    if struct.unpack("<I", frame[-CRC:])[0] != zlib.crc32(frame[:-CRC]):
        raise BadResponse("an answer with a wrong CRC")
    if frame[1] not in FrameStatus._value2member_map_:
        raise BadResponse(f"an answer of unknown status {frame[1]}")
    return FrameStatus(frame[1]), frame[HEADER:-CRC]
