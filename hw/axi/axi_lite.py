"""AXI4-Lite slave in front of the registers."""

from myhdl import always, always_comb, block, concat

from hw.axi.axi_ports import OKAY, SLVERR
from hw.delay import delay
from hw.register_file import REGISTER_LATENCY
from hw.signals import bit, unsigned


@block
def axi_lite(clk, reset, s_axi, bus):
    """Turn reads and writes of AXI4-Lite into accesses of the register bus, one at a time.

    Address and data of a write come in any order and at any distance. A write and a read that wait for each other take
    turns. An address beyond the register bus is answered with SLVERR and changes nothing; so is a write with strobes
    below its address, which AXI forbids. Of a read at no multiple of four, bytes below the address are 0. A register
    that does not exist reads as 0.

    Latency: write, from the later of address and data to bvalid, 2 cycles; read, from arready to rvalid,
    3 + REGISTER_LATENCY cycles. Throughput: a write every 4 cycles, a read every 4 + REGISTER_LATENCY.

        awvalid    |1|_______     arvalid    |1|_____________
        wvalid     ___|1|____     bus.address___|A|__________
        bus.write  _______|1|     bus.q      ___________|Q|__
        bvalid     _______|1|     rvalid     _____________|1|

    All outputs are registers: nothing of the bus reaches it again in the same cycle.

    Ports: clk, reset; s_axi: AxiLite; bus: RegisterBus.
    """
    top = len(bus.address) + 2
    write_address, read_address = unsigned(len(s_axi.awaddr)), unsigned(len(s_axi.araddr))
    have_address, have_data, have_read = bit(), bit(), bit()
    far_write, far_read, below, failed, offset = bit(), bit(), bit(), bit(), unsigned(2)
    idle, write_waits, writes, reads, read_turn, reading, arrives = (bit() for _ in range(7))

    @always_comb
    def judge():
        below.next = (
            (write_address[0] and bus.strobe[0])
            or (write_address[1] and (bus.strobe[0] or bus.strobe[1]))
            or (write_address[0] and write_address[1] and bus.strobe[2])
        )
        far_write.next = write_address[:top] != 0
        far_read.next = read_address[:top] != 0

    @always_comb
    def look():
        # One access at a time: the next one begins when the answer to the last has gone.
        idle.next = not s_axi.bvalid and not s_axi.rvalid and not reading
        write_waits.next = have_address and have_data

    @always_comb
    def choose():
        writes.next = idle and write_waits and not (have_read and read_turn)
        reads.next = idle and have_read and not (write_waits and not read_turn)

    @always(clk.posedge)
    def access():
        if reset:
            bus.write.next = False
            bus.address.next = 0
            read_turn.next = False
            reading.next = False
        else:
            bus.write.next = writes and not far_write and not below
            if writes:
                bus.address.next = write_address[top:2]
                read_turn.next = True
            elif reads:
                bus.address.next = read_address[top:2]
                read_turn.next = False
                reading.next = True
            elif arrives:
                reading.next = False

    @always(clk.posedge)
    def answer_write():
        if reset:
            s_axi.bvalid.next = False
            s_axi.bresp.next = OKAY
        elif writes:
            s_axi.bvalid.next = True
            s_axi.bresp.next = OKAY
            if far_write or below:
                s_axi.bresp.next = SLVERR
        elif s_axi.bready:
            s_axi.bvalid.next = False

    @always(clk.posedge)
    def answer_read():
        if reads:
            failed.next = far_read
            offset.next = read_address[2:]
        if reset:
            s_axi.rvalid.next = False
            s_axi.rresp.next = OKAY
            s_axi.rdata.next = 0
        elif arrives:
            s_axi.rvalid.next = True
            s_axi.rresp.next = OKAY
            if offset == 0:
                s_axi.rdata.next = bus.q
            elif offset == 1:
                s_axi.rdata.next = concat(bus.q[32:8], "00000000")
            elif offset == 2:
                s_axi.rdata.next = concat(bus.q[32:16], "0000000000000000")
            else:
                s_axi.rdata.next = concat(bus.q[32:24], "000000000000000000000000")
            if failed:
                s_axi.rresp.next = SLVERR
                s_axi.rdata.next = 0
        elif s_axi.rready:
            s_axi.rvalid.next = False

    return (
        judge, look, choose, access, answer_write, answer_read,
        held(clk, reset, s_axi.awvalid, s_axi.awready, s_axi.awaddr, writes, have_address, write_address),
        held(clk, reset, s_axi.wvalid, s_axi.wready, s_axi.wdata, writes, have_data, bus.data),
        strobe_of(clk, s_axi.wready, s_axi.wstrb, bus.strobe),
        held(clk, reset, s_axi.arvalid, s_axi.arready, s_axi.araddr, reads, have_read, read_address),
        delay(clk, reads, arrives, 1 + REGISTER_LATENCY, reset),
    )  # fmt: skip


@block
def held(clk, reset, valid, ready, d, free, have, q):
    """One transfer of a channel, held until it is released; q changes two cycles after that at the earliest."""

    @always(clk.posedge)
    def handshake():
        if reset:
            ready.next = False
            have.next = False
        elif valid and ready:
            ready.next = False
            have.next = True
        elif free:
            ready.next = True
            have.next = False
        else:
            ready.next = not have

    @always(clk.posedge)
    def take():
        if ready:
            q.next = d

    return handshake, take


@block
def strobe_of(clk, ready, d, q):
    """The strobes that came with the data."""

    @always(clk.posedge)
    def take():
        if ready:
            q.next = d

    return take
