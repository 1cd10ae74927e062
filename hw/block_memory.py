"""The memory of a board without external memory: block RAM behind the engine's ports, and a host's."""

from myhdl import always, always_comb, block

from hw.delay import delay
from hw.memory_arbiter import memory_arbiter
from hw.ram import ram
from hw.signals import bit, copy, join, unsigned

HOP_BYTES = 2  # a lane of the write strobes


def hops(config):
    """Stages of the chain along which addresses travel: one for each 16-bit lane."""
    return config.word_bytes // HOP_BYTES


def first_word_latency(config):
    """The latency of golden.job.Job that this memory has."""
    return hops(config) + 1


def host_latency(config):
    """Cycles from host_address to host_q."""
    return first_word_latency(config) + 1


@block
def block_memory(clk, reset, read, write, host_write, host_address, host_data, host_q, config):
    """One word a cycle: reads go before writes, a host takes what is left.

    A word's lanes of 16 bits lie in memories of their own, and an address reaches one lane after the other: one
    register that drove the address of every block RAM of a large memory would set the clock.

    Latency: a burst accepted at t returns its first word at t + 1 + first_word_latency(config); host_address to
    host_q: host_latency(config). Throughput: one word a cycle. What is read after a word was written is that word.

    Ports: clk; reset: drops what is under way; read: ReadPort; write: WritePort; host_write, host_address, host_data:
    word write, host_q: a word read, both while the engine is idle.
    """
    lanes, words = hops(config), config.memory_words
    stall = unsigned(2)
    served, word_address = unsigned(len(read.address)), unsigned(len(read.address))
    data, strobe = unsigned(config.word_bits), unsigned(lanes)
    serve, store = bit(), bit()
    read_lanes = [unsigned(16) for _ in range(lanes)]
    answer = unsigned(config.word_bits)

    @always(clk.posedge)
    def never_stall():
        stall.next = 0

    @always_comb
    def access():
        strobe.next = 0
        word_address.next = served
        data.next = write.data
        if host_write:
            strobe.next = (1 << lanes) - 1
            data.next = host_data
        elif store:
            strobe.next = write.strobe
            word_address.next = write.address

    @always_comb
    def answers():
        read.data.next = answer
        host_q.next = answer

    instances = [
        memory_arbiter(clk, reset, read, write, stall, host_address, served, serve, store, config),
        delay(clk, serve, read.data_valid, first_word_latency(config) + 1, reset),
        join(read_lanes, answer),
    ]
    before = word_address, strobe, data  # of the lanes that are still to come
    for lane in range(lanes):
        hop_address, hop_strobe, hop_data = (unsigned(len(signal)) for signal in before)
        q, enable, lane_data = unsigned(16), bit(), unsigned(16)
        instances += [
            [delay(clk, *pair, 1) for pair in zip(before, (hop_address, hop_strobe, hop_data), strict=True)],
            copy(hop_strobe(0), enable),
            copy(hop_data(16, 0), lane_data),
            ram(clk, enable, hop_address, lane_data, hop_address, q, words),
            delay(clk, q, read_lanes[lane], lanes - lane),  # the first register takes block RAM's slow output
        ]
        if lane < lanes - 1:
            before = hop_address, hop_strobe(len(hop_strobe), 1), hop_data(len(hop_data), 16)
    return instances, never_stall, access, answers
