"""Writes of the engine as bursts of an AXI4 master."""

from myhdl import always, always_comb, block, concat

from golden.config import log2_ceil
from hw.axi.axi_ports import CACHE, DECERR, INCR
from hw.queue import queue
from hw.signals import bit, join, unsigned, wrapping

MAX_WRITES = 32  # bursts under way
BURST_BITS = 4  # bursts are runs of words within 16 whose address is a multiple of 16
WORDS = 32  # accepted and not yet sent: two bursts of 16
PATIENCE = 4  # cycles that a burst waits for its next word


@block
def axi_writer(clk, reset, stop, base, write, m_axi, state, config):
    """Gather the engine's words into bursts on AW and W, and take the answers on B.

    A burst ends where the next word is not the one after it in memory, at a multiple of 16 words (so it never crosses
    4 KB), or when no word has come for 4 cycles. It is offered on AW when all of it is here, and a beat on W only once
    its burst has been offered. Up to 32 bursts are under way.

    An error on B is reported. With stop, no new burst begins, those offered are sent to the end and their answers
    awaited, then words that are left are dropped; stop is held until drained, and at least 4 cycles.

    Latency: word to WVALID, 5 cycles if the next one follows at once, else 4 more. Throughput: a word a cycle, in
    bursts of any length.

        write.valid   |1 1|1|_______________     two words in a row, then one elsewhere
        m_axi.awvalid __________|1|_____|1|_
        m_axi.wvalid  ____________|1 1|___|1|    WLAST with the second and the third

    Ports: clk, reset; stop: see above; base: first byte of the memory on the bus, a multiple of 4096; write: WritePort;
    m_axi: AxiMaster, AW, W and B; state: BusState.
    """
    address_bits, lanes = len(write.address), len(write.strobe)
    word_shift, data_bits, entry_bits = log2_ceil(config.word_bytes), config.word_bits, config.word_bits + lanes
    flush = bit()
    # The word that arrives, and the one before it, which waits for it to learn whether it is a burst's last.
    new_valid, new_address, new_entry = bit(), unsigned(address_bits), unsigned(entry_bits)
    word_valid, word_entry, word_last = bit(), unsigned(entry_bits), bit()
    following, first = wrapping(address_bits), unsigned(address_bits)
    length = wrapping(BURST_BITS)  # beats - 1, up to the word that waits
    waited, late, push = unsigned(PATIENCE.bit_length()), bit(), bit()
    burst_push, opens = bit(), bit()
    pushed, oldest = unsigned(entry_bits + 1), unsigned(entry_bits + 1)
    oldest_valid, beat = bit(), bit()
    burst, next_burst = unsigned(address_bits + BURST_BITS), unsigned(address_bits + BURST_BITS)
    next_valid, offer = bit(), bit()
    held = unsigned(WORDS.bit_length())
    offered = unsigned(WORDS.bit_length())  # bursts offered on AW whose last beat has not been offered on W
    under_way, answered = unsigned(MAX_WRITES.bit_length()), bit()
    response, foreign = unsigned(2), bit()
    taken, strobes = bit(), unsigned(2 * lanes)

    @always_comb
    def accept():
        taken.next = write.valid and write.ready

    @always(clk.posedge)
    def arrive():
        new_address.next = write.address
        new_entry.next = concat(write.strobe, write.data)
        if flush:
            new_valid.next = False
            write.ready.next = False
        else:
            new_valid.next = taken
            # A word may be on its way here already when ready falls.
            write.ready.next = held < WORDS - 2

    @always_comb
    def close():
        late.next = waited == PATIENCE
        word_last.next = late or new_address != following or following[BURST_BITS:] == 0

    @always_comb
    def pushes():
        push.next = word_valid and (new_valid or late)
        burst_push.next = word_valid and (new_valid or late) and word_last
        opens.next = not word_valid or word_last

    @always(clk.posedge)
    def gather():
        if new_valid:
            word_entry.next = new_entry
            following.next = new_address + 1
            if opens:
                first.next = new_address
                length.next = 0
            else:
                length.next = length + 1
        if flush:
            word_valid.next = False
            waited.next = 0
        elif new_valid:
            word_valid.next = True
            waited.next = 0
        elif late:
            word_valid.next = False
            waited.next = 0
        elif word_valid:
            waited.next = waited + 1

    @always_comb
    def decide():
        offer.next = (
            next_valid and not stop and under_way != MAX_WRITES and (not m_axi.awvalid or m_axi.awready)
        )  # fmt: skip
        beat.next = oldest_valid and offered != 0 and (not m_axi.wvalid or m_axi.wready)

    @always_comb
    def bytes_of_lanes():
        for lane in range(lanes):
            strobes.next[2 * lane] = oldest[data_bits + lane]
            strobes.next[2 * lane + 1] = oldest[data_bits + lane]

    @always(clk.posedge)
    def request_channel():
        if reset:
            m_axi.awvalid.next = False
            m_axi.awaddr.next = 0
            m_axi.awlen.next = 0
        elif offer:
            m_axi.awvalid.next = True
            m_axi.awaddr.next = base + (next_burst[:BURST_BITS] << word_shift)
            m_axi.awlen.next = next_burst[BURST_BITS:]
        elif m_axi.awready:
            m_axi.awvalid.next = False

    @always(clk.posedge)
    def data_channel():
        if reset:
            m_axi.wvalid.next = False
            m_axi.wdata.next = 0
            m_axi.wstrb.next = 0
            m_axi.wlast.next = False
        elif beat:
            m_axi.wvalid.next = True
            m_axi.wdata.next = oldest[data_bits:]
            m_axi.wstrb.next = strobes
            m_axi.wlast.next = oldest[entry_bits]
        elif m_axi.wready:
            m_axi.wvalid.next = False

    @always(clk.posedge)
    def constants():
        m_axi.awid.next = False
        m_axi.awsize.next = word_shift
        m_axi.awburst.next = INCR
        m_axi.awcache.next = CACHE
        m_axi.awprot.next = 0

    @always(clk.posedge)
    def answers():
        response.next = m_axi.bresp
        foreign.next = m_axi.bid
        if reset:
            m_axi.bready.next = False
            answered.next = False
        else:
            m_axi.bready.next = True
            answered.next = m_axi.bvalid and m_axi.bready

    @always(clk.posedge)
    def count():
        if flush:
            held.next = 0
            offered.next = 0
        else:
            if taken and not beat:
                held.next = held + 1
            elif beat and not taken:
                held.next = held - 1
            if offer and not (beat and oldest[entry_bits]):
                offered.next = offered + 1
            elif beat and oldest[entry_bits] and not offer:
                offered.next = offered - 1
        if reset:
            under_way.next = 0
        elif offer and not answered:
            under_way.next = under_way + 1
        elif answered and not offer:
            under_way.next = under_way - 1

    @always_comb
    def report():
        # What is left when the last answer has come has not been offered.
        flush.next = reset or (stop and under_way == 0)
        state.drained.next = under_way == 0 and (stop or held == 0)
        state.failed.next = answered and (response[1] or foreign)
        state.decode.next = response == DECERR or foreign

    return (
        accept, arrive, close, pushes, gather, decide, bytes_of_lanes, request_channel, data_channel, constants,
        answers, count, report,
        join([word_entry, word_last], pushed),
        join([length, first], burst),
        queue(clk, flush, push, pushed, beat, oldest, oldest_valid, WORDS),
        queue(clk, flush, burst_push, burst, offer, next_burst, next_valid, WORDS),
    )  # fmt: skip
