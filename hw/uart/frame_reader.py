"""Requests from the bytes of a serial line."""

from typing import ClassVar

from myhdl import always, always_comb, block, concat

from hw.delay import delay
from hw.ports import Bundle
from hw.ram import ram
from hw.signals import bit, unsigned, wrapping
from hw.uart.crc32 import crc32
from hw.uart.protocol import MAX_PAYLOAD, REQUEST, RESYNC_BITS, TIMEOUT_BITS, Command, FrameStatus

HUNT, HEADER, LOOK, LENGTH, PAYLOAD, CHECK, VERDICT, RESYNC, ENDED = range(9)
HEADER_BYTES, CRC_BYTES = 7, 4

OK, BAD_CRC, BAD_LENGTH, TIMEOUT, FRAMING = (
    int(FrameStatus[name]) for name in ("OK", "BAD_CRC", "BAD_LENGTH", "TIMEOUT", "FRAMING")
)
WRITE_REGISTERS, WRITE_MEMORY = int(Command.WRITE_REGISTERS), int(Command.WRITE_MEMORY)


class Request(Bundle):
    """A request as it came."""

    meanings: ClassVar = {
        "command": "hw.uart.protocol.Command, if there is one of this number",
        "length": "bytes wanted, or of the payload",
        "address": "byte address of a register or in memory",
    }

    def __init__(self):
        self.command, self.length, self.address = unsigned(8), unsigned(16), unsigned(32)


@block
def frame_reader(
    clk, reset, data, valid, framing, active, tick, resume, request, ended, error, payload_address, payload
):
    """Find a request in a stream of bytes, check it, and hold it until it is answered.

    Latency: ended comes 11 cycles after the last byte; after a frame that could not be followed, when the line has
    been idle for RESYNC_BITS; TIMEOUT_BITS after the last byte of one that is not complete. Throughput: a byte in 10
    cycles.

    The payload of n bytes is in the buffer downwards: byte i at n - i. So whoever takes it counts the bytes that are
    left, and needs no other address.

    Ports: clk, reset; data, valid, framing, active: see uart_receiver; tick: a bit time has passed; resume: the
    request is answered, look for another; request: Request; ended, error: it is complete or given up, and why
    (FrameStatus), until resume; payload_address, payload: a byte of the buffer, 2 cycles later.
    """
    state = unsigned(4)
    left = wrapping(MAX_PAYLOAD.bit_length())  # bytes of this part of the frame
    quiet = unsigned((TIMEOUT_BITS + 2).bit_length())  # ticks since the line was last active, no more than matter
    clear, working, whole, crc_byte = bit(), bit(), bit(), unsigned(8)
    idle, timed_out, too_long, has_payload, checked, right, last = (bit() for _ in range(7))
    store, place, from_ram = bit(), unsigned(len(payload_address)), unsigned(8)

    @always_comb
    def flags():
        ended.next = state == ENDED
        # The frame's first byte counts, too, so the register is cleared before it is known to be one.
        clear.next = resume or (state == HUNT and not valid)
        store.next = valid and state == PAYLOAD
        place.next = left[len(place) :]

    @always(clk.posedge)
    def count():
        if active or state == HUNT:
            quiet.next = 0
            idle.next = False
            timed_out.next = False
        else:
            idle.next = quiet > RESYNC_BITS
            timed_out.next = quiet > TIMEOUT_BITS
            if tick and not timed_out:
                quiet.next = quiet + 1

    # Registers, so that a state hangs on single bits.
    @always(clk.posedge)
    def look():
        too_long.next = request.length > MAX_PAYLOAD
        has_payload.next = request.length != 0 and (
            request.command == WRITE_REGISTERS or request.command == WRITE_MEMORY
        )
        checked.next = state == VERDICT and not working
        right.next = whole

    @always(clk.posedge)
    def follow():
        if reset:
            state.next = HUNT
            error.next = OK
        elif state == HUNT:
            error.next = OK
            if valid and data == REQUEST:
                state.next = HEADER
        elif state == ENDED:
            if resume:
                state.next = HUNT
        elif state == RESYNC:
            if idle:
                state.next = ENDED
        elif state == LOOK:
            state.next = LENGTH
        elif state == LENGTH:
            if too_long:
                error.next = BAD_LENGTH
                state.next = RESYNC
            elif has_payload:
                state.next = PAYLOAD
            else:
                state.next = CHECK
        elif state == VERDICT:
            if checked:
                if right:
                    state.next = ENDED
                else:
                    error.next = BAD_CRC
                    state.next = RESYNC
        elif framing:
            error.next = FRAMING
            state.next = RESYNC
        elif timed_out:
            error.next = TIMEOUT
            state.next = ENDED
        elif valid and last:
            if state == HEADER:
                state.next = LOOK
            elif state == PAYLOAD:
                state.next = CHECK
            else:
                state.next = VERDICT

    @always(clk.posedge)
    def bytes_left():
        last.next = left == 1
        if state == HUNT:
            left.next = HEADER_BYTES
        elif state == LENGTH and has_payload:
            left.next = request.length[len(left) :]
        elif state == LENGTH or (valid and last):
            left.next = CRC_BYTES
        elif valid:
            left.next = left - 1

    @always(clk.posedge)
    def fields():
        if valid and state == HEADER:
            request.address.next = concat(data, request.address[32:8])
            request.length.next = concat(request.address[8:], request.length[16:8])
            request.command.next = request.length[8:]

    return (
        flags, count, look, follow, bytes_left, fields,
        crc32(clk, clear, valid, data, working, crc_byte, whole),
        ram(clk, store, place, data, payload_address, from_ram, MAX_PAYLOAD),
        delay(clk, from_ram, payload, 1),  # block RAM is slow, and what takes the byte is far away
    )  # fmt: skip
