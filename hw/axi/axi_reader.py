"""Reads of the engine as bursts of an AXI4 master."""

from myhdl import always, always_comb, block, concat

from golden.config import log2_ceil
from hw.axi.axi_ports import CACHE, DECERR, INCR
from hw.signals import bit, join, round_up, unsigned, wrapping
from hw.skid import skid

MAX_READS = 32  # bursts under way; what the slave does not take waits on AR
EAGER = 8  # with fewer under way, a row leaves without waiting for others to join: 8 rows of 8 beats cover 64 cycles
SPAN_BITS = 8  # no burst crosses a multiple of 256 beats: it is never longer, and stays within a page of 4 KB


@block
def axi_reader(clk, reset, stop, hold, base, read, m_axi, state, config):
    """Turn the engine's bursts, a row each, into bursts on AR, and hand the beats on R to the engine in order.

    A burst is cut at multiples of 256 beats, so that it neither crosses 4 KB nor has more than 256 beats. While eight
    are under way, rows that follow each other in memory are joined to one; with fewer, a row leaves at once. Up to 32
    are under way; RREADY is always 1, since the engine asks only for what it has room for.

    An error on R is reported with its beat. With stop, no new burst begins (one that ARVALID offers stays until it is
    taken, as AXI demands), requests that wait are dropped, and beats that are under way are taken; stop is held until
    drained, and at least 4 cycles.

    Latency: request to ARVALID, 4 cycles; beat to the engine, 1 cycle. Throughput: a request and a beat a cycle.

        read.valid    |1|1|________________
        m_axi.arvalid ________|1|1|________
        m_axi.rvalid  ____________|1 1|____
        data_valid    ______________|1 1|__

    Ports: clk, reset; stop: see above; hold: no new burst, but nothing is dropped (reads wait for writes); base: first
    byte of the memory on the bus, a multiple of 4096; read: ReadPort; m_axi: AxiMaster, AR and R; state: BusState.
    """
    address_bits, words_bits = len(read.address), config.burst_words.bit_length()
    word_shift = log2_ceil(config.word_bytes)
    drop = bit()
    # The request, and what follows the one before it.
    words, (offered, request) = unsigned(words_bits), (unsigned(words_bits + address_bits) for _ in range(2))
    new_valid, new_take, new_words, new_address = bit(), bit(), unsigned(words_bits), unsigned(address_bits)
    following = wrapping(address_bits)  # of the row before; behind the memory's last word lies word 0
    # The request, cut: piece_rest beats lie beyond the next multiple of 256.
    piece_valid, piece_follows, cut = bit(), bit(), bit()
    reach, rest = unsigned(SPAN_BITS + 1), unsigned(SPAN_BITS)
    piece_address, piece_beats, piece_rest = unsigned(address_bits), unsigned(SPAN_BITS), unsigned(SPAN_BITS)
    next_span = wrapping(address_bits - SPAN_BITS)
    # The burst that grows until it leaves.
    burst_valid, burst_send, burst_take, joins = (bit() for _ in range(4))
    burst_address, burst_last = unsigned(address_bits), wrapping(SPAN_BITS)  # beats - 1
    under_way, last_beat = unsigned(MAX_READS.bit_length()), bit()
    response, foreign = unsigned(2), bit()

    @always_comb
    def dropping():
        drop.next = reset or stop

    @always_comb
    def unpack():
        new_address.next = request[address_bits:]
        new_words.next = request[:address_bits]

    @always_comb
    def measure():
        reach.next = new_address[SPAN_BITS:] + new_words
        rest.next = 0
        if reach[SPAN_BITS]:
            rest.next = reach[SPAN_BITS:]

    @always_comb
    def decide():
        joins.next = burst_valid and piece_valid and piece_follows
        # With little under way, the engine may soon be waiting for what it asks for now.
        burst_send.next = (
            burst_valid and not stop and not hold and under_way != MAX_READS and (not m_axi.arvalid or m_axi.arready)
            and (not piece_valid or not piece_follows or under_way < EAGER)
        )  # fmt: skip

    @always_comb
    def moves():
        burst_take.next = piece_valid and (not burst_valid or burst_send or piece_follows)
        cut.next = piece_rest != 0
        next_span.next = piece_address[:SPAN_BITS] + 1

    @always_comb
    def takes():
        new_take.next = not piece_valid or (burst_take and not cut)

    @always(clk.posedge)
    def pieces():
        if new_valid and new_take:
            following.next = new_address + new_words
            piece_address.next = new_address
            piece_beats.next = new_words - rest
            piece_rest.next = rest
            # The first beat of a span begins a burst.
            piece_follows.next = new_address == following and new_address[SPAN_BITS:] != 0
        elif burst_take:
            piece_address.next = concat(next_span, "00000000")
            piece_beats.next = piece_rest
            piece_rest.next = 0
            piece_follows.next = False
        if drop:
            piece_valid.next = False
        elif new_take:
            piece_valid.next = new_valid

    @always(clk.posedge)
    def grow():
        if burst_take:
            if joins and not burst_send:
                burst_last.next = burst_last + piece_beats
            else:
                burst_last.next = piece_beats - 1
                burst_address.next = piece_address
        if drop:
            burst_valid.next = False
        elif burst_take:
            burst_valid.next = True
        elif burst_send:
            burst_valid.next = False

    @always(clk.posedge)
    def request_channel():
        if reset:
            m_axi.arvalid.next = False
            m_axi.araddr.next = 0
            m_axi.arlen.next = 0
        elif burst_send:
            m_axi.arvalid.next = True
            m_axi.araddr.next = base + (burst_address << word_shift)
            m_axi.arlen.next = burst_last
        elif m_axi.arready:
            m_axi.arvalid.next = False

    @always(clk.posedge)
    def constants():
        m_axi.arid.next = False
        m_axi.arsize.next = word_shift
        m_axi.arburst.next = INCR
        m_axi.arcache.next = CACHE
        m_axi.arprot.next = 0

    @always(clk.posedge)
    def beats():
        read.data.next = m_axi.rdata
        response.next = m_axi.rresp
        foreign.next = m_axi.rid
        last_beat.next = m_axi.rlast
        if reset:
            m_axi.rready.next = False
            read.data_valid.next = False
        else:
            m_axi.rready.next = True
            read.data_valid.next = m_axi.rvalid and m_axi.rready

    @always(clk.posedge)
    def count():
        if reset:
            under_way.next = 0
        elif burst_send and not (read.data_valid and last_beat):
            under_way.next = under_way + 1
        elif read.data_valid and last_beat and not burst_send:
            under_way.next = under_way - 1

    @always_comb
    def report():
        state.drained.next = under_way == 0 and (stop or not burst_valid)
        state.failed.next = read.data_valid and (response[1] or foreign)
        state.decode.next = response == DECERR or foreign

    return (
        dropping, unpack, measure, decide, moves, takes, pieces, grow, request_channel, constants, beats, count, report,
        round_up(read.bytes, word_shift, words),
        join([read.address, words], offered),
        skid(clk, drop, read.valid, read.ready, offered, new_valid, new_take, request),
    )  # fmt: skip
