"""The engine with its memory: what is simulated, and what a board without external memory carries."""

from myhdl import always_comb, block

from hw.engine import engine
from hw.memory import memory
from hw.ports import Bundle, Counters, Debug, Descriptor, ReadPort, Status, WritePort
from hw.signals import bit, index_bits, unsigned


class SystemPorts(Bundle):
    """Ports of engine_system besides clk and reset."""

    def __init__(self, config):
        address = index_bits(config.memory_words)
        self.start, self.busy = bit(), bit()
        self.descriptor, self.status, self.counters, self.debug = Descriptor(), Status(), Counters(), Debug(config)
        self.latency, self.stall = unsigned(7), unsigned(2)
        self.host_write, self.host_address = bit(), unsigned(address)
        self.host_data, self.host_q = unsigned(config.word_bits), unsigned(config.word_bits)
        self.read_bytes, self.write_bytes = unsigned(32), unsigned(32)


@block
def engine_system(
    clk, reset, start, busy, descriptor, status, counters, debug,
    latency, stall, host_write, host_address, host_data, host_q, read_bytes, write_bytes, config,
):  # fmt: skip
    """Engine and memory, with a host port to the memory that works while the engine is idle.

    Latency, throughput: see engine and memory.

    Ports: clk, reset, start, busy, descriptor, status, counters, debug: see engine; latency, stall, host_*, read_bytes,
    write_bytes: see memory.
    """
    read, write = ReadPort(config), WritePort(config)
    clear = bit()

    @always_comb
    def clear_counts():
        clear.next = start and not busy and not reset

    return (
        clear_counts,
        engine(clk, reset, start, busy, descriptor, read, write, status, counters, debug, config),
        memory(
            clk, reset, read, write, latency, stall, host_write, host_address, host_data, host_q, read_bytes,
            write_bytes, clear, config,
        ),
    )  # fmt: skip
