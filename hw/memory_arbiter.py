"""Arbiter of a memory with one port: a word a cycle, read or written."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from hw.signals import bit, round_up, unsigned, wrapping


@block
def memory_arbiter(clk, reset, read, write, stall, host_address, address, serve, store, config):
    """Bursts of the engine's read port, word after word, then its writes, then a host.

    Latency: none, the word of this cycle. Throughput: one word a cycle, bursts without a gap.

        read.valid  _|1 1 1|_________       two bursts, of two words and of one; the second waits a cycle
        read.ready  1|1 0 1|1 1 1 1
        serve       _|1 1 1|_________

    Ports: clk, reset; read: ReadPort, write: WritePort, without their data; stall: bit 0 holds back reads, bit 1
    writes, in this cycle; host_address: used when the engine reads nothing; address: the word to read; serve: it is
    for the engine; store: the engine's write is taken, at write.address.
    """
    left, burst_words = (unsigned(config.burst_words.bit_length()) for _ in range(2))
    next_address = wrapping(len(read.address))
    bursting = bit()  # left is not 0

    @always_comb
    def arbitrate():
        serve.next = (bursting or read.valid) and not stall[0]
        read.ready.next = not bursting and not stall[0]
        write.ready.next = not bursting and not read.valid and not stall[1]
        store.next = write.valid and not bursting and not read.valid and not stall[1]
        if bursting:
            address.next = next_address
        elif read.valid:
            address.next = read.address
        else:
            address.next = host_address

    @always(clk.posedge)
    def burst():
        if reset:
            left.next = 0
            bursting.next = False
        elif serve:
            next_address.next = address + 1
            if bursting:
                left.next = left - 1
                bursting.next = left != 1
            else:
                left.next = burst_words - 1
                bursting.next = burst_words != 1

    return arbitrate, burst, round_up(read.bytes, log2_ceil(config.word_bytes), burst_words)
