"""Bytes from a serial line."""

from myhdl import always, always_comb, block, concat

from hw.signals import bit, unsigned
from hw.uart.bit_clock import bit_clock

STOP, BREAK = 9, 10


@block
def uart_receiver(clk, reset, rx, data, valid, framing, active, clock_hz, baud):
    """Bytes of a line, 8N1, each bit sampled once, in its middle.

    Latency: valid comes two clocks after the middle of the stop bit. Throughput: bytes may follow each other without a
    gap, from a sender that is up to 2 % off. A line that is low for less than half a bit is no start bit. After a wrong
    stop bit nothing begins until the line is high.

        rx      11100aabbccddeeffgghh11111
        active  ______1111111111111111____    from the middle of the start bit, here of two clocks
        data    -----------------------|h..a  until the first data bit of the next byte
        valid   _______________________|1|_   or framing, if the stop bit is low

    Ports: clk, reset; rx: the line, asynchronous; data, valid: a byte; framing: a byte's stop bit was low, data is
    not to be used; active: a byte, or a line that stays low after it, is under way.

    Parameters: clock_hz, baud: see bit_clock.
    """
    # The synchroniser holds the line inverted, so that at power-up, when registers are 0, it is idle.
    metastable, low, high, tick = (bit() for _ in range(4))
    busy, waiting = bit(), bit()
    place = unsigned(4)  # start bit, eight bits of data, STOP; BREAK

    @always(clk.posedge)
    def synchronise():
        metastable.next = not rx
        low.next = metastable

    @always_comb
    def line():
        high.next = not low
        waiting.next = not busy
        active.next = busy and place != 0

    @always(clk.posedge)
    def receive():
        valid.next = False
        framing.next = False
        if reset:
            busy.next = False
            place.next = 0
        elif not busy:
            busy.next = low
            place.next = 0
        elif place == BREAK:
            busy.next = low
        elif tick:
            place.next = place + 1
            if place == 0:
                busy.next = low
            elif place == STOP:
                valid.next = high
                framing.next = low
                busy.next = low
            else:
                data.next = concat(high, data[8:1])

    return synchronise, line, receive, bit_clock(clk, waiting, tick, clock_hz, baud)
