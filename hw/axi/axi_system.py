"""The engine behind AXI: registers on a slave, memory on a master."""

from myhdl import always_comb, block

from hw.axi.axi_lite import axi_lite
from hw.axi.axi_ports import ADDRESS_BITS, BusState
from hw.axi.axi_reader import axi_reader
from hw.axi.axi_writer import axi_writer
from hw.axi.run_supervisor import run_supervisor
from hw.engine import engine
from hw.ports import Control, Counters, Debug, Descriptor, ReadPort, RegisterBus, RunStatus, Status, WritePort
from hw.register_file import register_file
from hw.signals import bit, unsigned


@block
def axi_system(clk, reset, s_axi, m_axi, interrupt, config, registers):
    """Registers that describe, start and watch runs, and an engine that reads and writes memory in bursts.

    A run behaves as run_supervisor says; a run with descriptor.naive reads back what it has written, so its reads wait
    until every write before them has been answered.

    Latency: 10 cycles more for a read than the bus and the memory take. Throughput: one beat a cycle each way at once.

    Ports: clk; reset: at any time, together with the bus; s_axi: AxiLite; m_axi: AxiMaster; interrupt: level.

    Parameters: registers: of gen.register_map, see register_file.
    """
    bus, control, descriptor, counters = RegisterBus(), Control(), Descriptor(), Counters()
    status, engine_status, debug = RunStatus(), Status(), Debug(config)
    read, write, read_state, write_state = ReadPort(config), WritePort(config), BusState(), BusState()
    engine_start, engine_reset, engine_busy, ordered, wait_for_writes = (bit() for _ in range(5))
    base = unsigned(ADDRESS_BITS)

    @always_comb
    def order():
        # Every read of such a run is asked for at least three cycles after the write that it must see was accepted.
        wait_for_writes.next = ordered and not write_state.drained

    return (
        order,
        axi_lite(clk, reset, s_axi, bus),
        register_file(clk, reset, bus, control, status, descriptor, counters, registers),
        run_supervisor(
            clk, reset, control, descriptor.naive, engine_start, engine_reset, engine_busy, engine_status, base,
            ordered, read_state, write_state, status, interrupt,
        ),
        engine(
            clk, engine_reset, engine_start, engine_busy, descriptor, read, write, engine_status, counters, debug,
            config,
        ),
        axi_reader(clk, reset, engine_reset, wait_for_writes, base, read, m_axi, read_state, config),
        axi_writer(clk, reset, engine_reset, base, write, m_axi, write_state, config),
    )  # fmt: skip
