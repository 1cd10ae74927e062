"""CRC-32 of a stream of bytes."""

from myhdl import ConcatSignal, always, always_comb, block, concat

from hw.signals import bit, unsigned, wrapping

BITS = 32
POLYNOMIAL = 0xEDB88320
RESIDUE = 0x2144DF1C  # CRC of any message with its CRC behind it, lowest byte first


@block
def crc32(clk, clear, feed, data, working, byte_out, whole):
    """zlib's CRC-32, a bit a cycle.

    Latency: 9 cycles from feed. Throughput: a byte in 9 cycles. Feeding the inverse of byte_out shifts the CRC by that
    byte: so it is sent, lowest byte first, with nothing but this.

    Ports: clk; clear: begin a message; feed, data: a byte, while not working; working: the results below are not yet
    there; byte_out: the low byte of the CRC; whole: the message ends with its own CRC.
    """
    # Held inverted, as the CRC is: the register of a new message is 0.
    crc, out = unsigned(BITS), bit()
    left = wrapping(3)
    feedback = ConcatSignal(*(out if POLYNOMIAL >> place & 1 else "0" for place in reversed(range(BITS))))

    @always_comb
    def results():
        out.next = not crc[0]
        byte_out.next = crc[8:]
        whole.next = crc == RESIDUE

    @always(clk.posedge)
    def divide():
        if clear:
            crc.next = 0
            working.next = False
        elif feed:
            crc.next = crc ^ data
            left.next = 7
            working.next = True
        elif working:
            left.next = left - 1
            working.next = left != 0
            crc.next = concat("1", crc[BITS:1]) ^ feedback

    return results, divide
