"""The engine with registers and block RAM behind a serial line: what a board without external memory carries."""

from myhdl import always_comb, block

from hw.block_memory import block_memory, host_latency
from hw.engine import engine
from hw.ports import Control, Counters, Debug, Descriptor, ReadPort, RegisterBus, RunStatus, Status, WritePort
from hw.register_file import register_file
from hw.signals import bit, unsigned
from hw.uart.run_state import run_state
from hw.uart.uart_host import uart_host


@block
def uart_system(clk, reset, rx, tx, busy, fault, config, registers, clock_hz, baud):
    """A host on the line writes operands and a descriptor, starts the run, and reads results and counters.

    Latency, throughput: see engine, block_memory and uart_host.

    Ports: clk, reset; rx, tx: the line, see hw.uart.protocol; busy: a run is under way; fault: the last one was
    refused or broken off.

    Parameters: config: EngineConfig; registers: see register_file; clock_hz, baud: see bit_clock.
    """
    bus, control, status, descriptor = RegisterBus(), Control(), RunStatus(), Descriptor()
    counters, engine_status, debug = Counters(), Status(), Debug(config)
    read, write = ReadPort(config), WritePort(config)
    engine_start, engine_reset, engine_busy = bit(), bit(), bit()
    memory_write, memory_address = bit(), unsigned(len(read.address))
    memory_data, memory_q = unsigned(config.word_bits), unsigned(config.word_bits)

    @always_comb
    def show():
        busy.next = status.busy
        fault.next = status.error != 0 or status.refusal != 0

    return (
        show,
        uart_host(
            clk, reset, rx, tx, bus, status.busy, memory_write, memory_address, memory_data, memory_q,
            clock_hz, baud, host_latency(config),
        ),
        register_file(clk, reset, bus, control, status, descriptor, counters, registers),
        run_state(clk, reset, control, engine_start, engine_reset, engine_busy, engine_status, status),
        engine(
            clk, engine_reset, engine_start, engine_busy, descriptor, read, write, engine_status, counters, debug,
            config,
        ),
        block_memory(
            clk, engine_reset, read, write, memory_write, memory_address, memory_data, memory_q, config
        ),
    )  # fmt: skip
