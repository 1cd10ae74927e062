"""On-chip memory behind the engine's ports, with a run-time first-word latency."""

from myhdl import always, always_comb, block, concat, intbv

from golden.job import MAX_LATENCY
from hw.memory_arbiter import memory_arbiter
from hw.ram import ram
from hw.signals import bit, join, split, unsigned, wrapping


@block
def memory(
    clk, reset, read, write, latency, stall,
    host_write, host_address, host_data, host_q, bytes_read, bytes_written, clear, config,
):  # fmt: skip
    """One word a cycle, shared: reads go before writes, a host port takes what is left (see memory_arbiter).

    Latency: a burst accepted at t returns its first word at t + 1 + latency, the others in the cycles after; bursts
    follow each other without a gap, so latency is paid once. Throughput: one word a cycle.

        read.valid  _|1 1 1|_________       two bursts, of two words and of one; the second waits a cycle
        read.ready  1|1 0 1|1 1 1 1
        data_valid  _____|1 1 1|_____       latency 1

    Ports: clk, reset; read: ReadPort; write: WritePort; latency: 0..64 cycles; stall:
    bit 0 holds back reads, bit 1 writes, in this cycle; host_write, host_address, host_data:
    word write, host_q: the word at host_address a cycle ago, both while the engine is idle; bytes_read,
    bytes_written: payload since clear; clear: a run begins, the counts restart and words under way are dropped.
    """
    words = config.memory_words
    always_on = bit()
    address, store_address = unsigned(len(read.address)), unsigned(len(read.address))
    serve, store = bit(), bit()
    written_bits = config.word_bytes.bit_length()
    written = unsigned(written_bits)
    store_data, word = unsigned(config.word_bits), unsigned(config.word_bits)
    late_word, ring_word = unsigned(config.word_bits), unsigned(config.word_bits)
    flags = unsigned(MAX_LATENCY + 1)
    ring_bits = MAX_LATENCY.bit_length() - 1
    ring_write, ring_read = wrapping(ring_bits), wrapping(ring_bits)
    lanes = config.word_bytes // 2

    @always_comb
    def write_side():
        if host_write:
            store_address.next = host_address
            store_data.next = host_data
        else:
            store_address.next = write.address
            store_data.next = write.data

    @always(clk.posedge)
    def under_way():
        if reset:
            flags.next = 0
        # A new run may have a longer latency: words of the last one must not come round again.
        elif clear:
            flags.next = serve
        else:
            flags.next = concat(flags[MAX_LATENCY:], serve)

    @always(clk.posedge)
    def delay_ring():
        if reset:
            ring_write.next = 0
        else:
            ring_write.next = ring_write + 1
        late_word.next = word
        always_on.next = True

    @always_comb
    def ring_address():
        ring_read.next = ring_write + 1 - latency[ring_bits:]

    @always_comb
    def answer():
        read.data_valid.next = flags[latency]
        host_q.next = word
        if latency == 0:
            read.data.next = word
        elif latency == 1:
            read.data.next = late_word
        else:
            read.data.next = ring_word

    @always_comb
    def lanes_written():
        count = intbv(0)[written_bits:]
        for lane in range(lanes):
            if write.strobe[lane]:
                count[:] = count + 2
        written.next = count

    @always(clk.posedge)
    def count():
        if reset or clear:
            bytes_read.next = 0
            bytes_written.next = 0
        else:
            if read.valid and read.ready:
                bytes_read.next = bytes_read + read.bytes
            if store:
                bytes_written.next = bytes_written + written

    lane_words = [unsigned(16) for _ in range(lanes)]
    instances = [
        write_side, under_way, delay_ring, ring_address, answer, lanes_written, count,
        memory_arbiter(clk, reset, read, write, stall, host_address, address, serve, store, config),
        join(lane_words, word),
        ram(clk, always_on, ring_write, word, ring_read, ring_word, 1 << ring_bits),
    ]  # fmt: skip
    for lane, data in enumerate(split(store_data, lanes)):
        enable = bit()
        instances += [
            lane_enable(host_write, store, write.strobe, enable, lane),
            ram(clk, enable, store_address, data, address, lane_words[lane], words),
        ]
    return instances


@block
def lane_enable(host_write, store, strobe, enable, lane):
    """Write enable of one 16-bit lane. Combinational."""

    @always_comb
    def select():
        enable.next = host_write or (store and strobe[lane])

    return select
