"""The frames of the serial line, 8N1, numbers little endian: what hardware and host drivers agree on.

    request   0xA5, command (1), length (2), address (4), payload, CRC (4)
    response  0x5A, status (1), length (2), payload, CRC (4)

The CRC is zlib's CRC-32 of everything before it. A request's length counts the bytes wanted, or those of its payload,
which only the write commands have. Errors carry no payload.

A host sends a request after the response to the one before, or after a time-out of its own; bytes between frames that
are not 0xA5 mean nothing. After a frame that cannot be followed to its end (BAD_CRC, a length above MAX_PAYLOAD,
FRAMING) everything is ignored until the line has been idle for RESYNC_BITS; then the error is answered.
"""

from enum import IntEnum

REQUEST, RESPONSE = 0xA5, 0x5A
MAX_PAYLOAD = 1024
REQUEST_BYTES = 12  # with CRC, without payload
RESPONSE_BYTES = 8

BYTE_BITS = 10  # with start and stop bit
RESYNC_BITS = 3 * BYTE_BITS
TIMEOUT_BITS = 64 * BYTE_BITS  # without a byte, inside a frame

# What the commands mean in registers: byte addresses of gen/flashtile.rdl.
REGISTER_BYTES = 512
IDENTITY, IDENTITY_BYTES = 0x000, 0x44
CONTROL_COMMAND, START_BIT = 0x080, 1
STATUS_STATE = 0x0A0


class Command(IntEnum):
    """What a request asks for. Length and address are 0 where it says nothing of them."""

    PING = 0  # identity and configuration: the first IDENTITY_BYTES of the registers
    READ_REGISTERS = 1  # whole registers: length and address are multiples of 4
    WRITE_REGISTERS = 2
    READ_MEMORY = 3  # whole words of memory
    WRITE_MEMORY = 4
    START = 5  # run the descriptor
    STATUS = 6  # the register status.state


class FrameStatus(IntEnum):
    """How a request ended. Of several reasons the first that holds in the order of `FAULTS`."""

    OK = 0
    BAD_CRC = 1
    BAD_COMMAND = 2
    BAD_LENGTH = 3  # above MAX_PAYLOAD, no multiple, 0 for a read or write, or not 0 for another
    BAD_ADDRESS = 4  # no multiple, outside, or not 0 for what has no address
    TIMEOUT = 5  # no byte for TIMEOUT_BITS inside a frame
    BUSY = 6  # memory is the engine's while a run is under way
    FRAMING = 7  # a wrong stop bit inside a frame


FAULTS = (  # of a frame that is whole
    FrameStatus.BAD_CRC,
    FrameStatus.BAD_COMMAND,
    FrameStatus.BAD_LENGTH,
    FrameStatus.BAD_ADDRESS,
    FrameStatus.BUSY,
)
