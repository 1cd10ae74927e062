"""Register slice between the writer and the memory: nothing of the engine waits for the memory in the same cycle."""

from myhdl import always_comb, block

from hw.signals import join, unsigned
from hw.skid import skid


@block
def write_slice(clk, reset, offered, block_end, run_end, write, block_stored, done):
    """Words on their way to memory, two at most.

    Latency: one cycle. Throughput: a word a cycle.

    Ports: clk; reset: what is held is dropped; offered: WritePort of the writer; block_end, run_end: with it; write:
    WritePort of the memory; block_stored, done: the word that had block_end, run_end is being taken.
    """
    address_bits, data_bits, strobe_bits = len(write.address), len(write.data), len(write.strobe)
    strobe_at, end_at = address_bits + data_bits, address_bits + data_bits + strobe_bits
    word, held = unsigned(end_at + 2), unsigned(end_at + 2)

    @always_comb
    def unpack():
        write.address.next = held[address_bits:]
        write.data.next = held[strobe_at:address_bits]
        write.strobe.next = held[end_at:strobe_at]

    @always_comb
    def events():
        block_stored.next = write.valid and write.ready and held[end_at]
        done.next = write.valid and write.ready and held[end_at + 1]

    return (
        unpack,
        events,
        join([offered.address, offered.data, offered.strobe, block_end, run_end], word),
        skid(clk, reset, offered.valid, offered.ready, word, write.valid, write.ready, held),
    )
