"""Responses as bytes for a serial line."""

from myhdl import always, always_comb, block

from hw.signals import bit, unsigned
from hw.uart.crc32 import crc32
from hw.uart.protocol import RESPONSE

IDLE, HEAD, PAYLOAD, CHECK = range(4)


@block
def frame_writer(clk, reset, send, status, left, data, data_valid, take, sent, sent_valid, sent_ready, done):
    """Send a response: header, the payload as it comes, CRC.

    Latency: a cycle to the first byte. Throughput: a byte in 9 cycles, if the payload is there.

    Ports: clk, reset; send: begin a response, while none is under way; status: until done; left: bytes of the payload
    that have not been taken, at first its length; data, data_valid: the next of them, to the cycle of take; take: it
    was taken in the cycle before; sent, sent_valid, sent_ready: see uart_transmitter; done: the last byte was taken in
    the cycle before.
    """
    state, step = unsigned(2), unsigned(2)
    working, crc_byte, whole, feed, fed = bit(), unsigned(8), bit(), bit(), unsigned(8)
    there = bit()

    @always_comb
    def choose():
        if state == HEAD:
            fed.next = RESPONSE
            if step == 1:
                fed.next = status
            elif step == 2:
                fed.next = left[8:]
            elif step == 3:
                fed.next = left[:8]
        elif state == PAYLOAD:
            fed.next = data
        else:
            fed.next = crc_byte ^ 0xFF

    @always_comb
    def offer():
        sent.next = fed
        if state == CHECK:
            sent.next = crc_byte
        sent_valid.next = there
        feed.next = sent_ready and there

    @always(clk.posedge)
    def tell():
        take.next = feed and state == PAYLOAD and not reset
        done.next = feed and state == CHECK and step == 3 and not reset

    @always_comb
    def have():
        there.next = state != IDLE and not working and (state != PAYLOAD or data_valid)

    @always(clk.posedge)
    def follow():
        if reset:
            state.next = IDLE
            step.next = 0
        elif state == IDLE:
            step.next = 0
            if send:
                state.next = HEAD
        elif state == PAYLOAD:
            if left == 0:
                state.next = CHECK
        elif feed:
            if step == 3:
                step.next = 0
                if state == HEAD:
                    state.next = PAYLOAD
                else:
                    state.next = IDLE
            else:
                step.next = step + 1

    return choose, offer, tell, have, follow, crc32(clk, send, feed, fed, working, crc_byte, whole)
