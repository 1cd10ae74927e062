"""Bytes onto a serial line."""

from myhdl import always, always_comb, block, concat

from hw.signals import bit, unsigned
from hw.uart.protocol import BYTE_BITS


@block
def uart_transmitter(clk, reset, tick, data, valid, ready, tx):
    """Bytes onto a line, 8N1, low bit first.

    Latency: the start bit begins with the tick after valid. Throughput: a byte in ten ticks, without a gap if valid
    comes within the tick after ready.

        tick   1_1_1_1_1_1_1_1_1_1_1_1_
        valid  1_______________________
        ready  1___________________1111    the stop bit begins
        tx     111|0 0|a a|b ... h|1 1 1

    Ports: clk, reset; tick: a bit time has passed; data, valid: a byte; ready: it is taken; tx: the line.
    """
    # Inverted: registers that are 0 at power-up leave the line idle.
    low = bit()
    bits = unsigned(BYTE_BITS - 1)
    left = unsigned(BYTE_BITS.bit_length())

    @always_comb
    def line():
        ready.next = left == 0
        tx.next = not low

    @always(clk.posedge)
    def send():
        if reset:
            low.next = False
            left.next = 0
        elif valid and left == 0:
            bits.next = concat(data, "0")
            left.next = BYTE_BITS
        elif tick and left != 0:
            low.next = not bits[0]
            bits.next = concat("1", bits[BYTE_BITS - 1 : 1])
            left.next = left - 1

    return line, send
