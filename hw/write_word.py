"""The words of what leaves for memory: their data, strobes and place."""

from myhdl import always_comb, block

from golden.config import log2_ceil
from golden.formats import MAX_BITS
from golden.layout import STATE_BYTES
from hw.signals import bit, copy, join, signed, slice_of, unsigned, wrapping


def words_of_chunk(config):
    """Memory words that one chunk of O fills (1 where several chunks share a word)."""
    return max(1, config.array_depth * 2 // config.word_bytes)


def words_of_entry(config):
    """Memory words of a chunk of O or of a row of S or P, the larger."""
    return max(words_of_chunk(config), config.scratch_row_words)


@block
def write_word(
    lanes, elements, stored, in_state, state, word, chunk, data, strobe, offset, written, last_word, last_next,
    config,
):  # fmt: skip
    """Word number `word` of a chunk of O, of a row of S or P, or of a row's (m, l). Combinational.

    Ports: lanes: 16 bits each, elements: how many count; stored: a row of S or P, else in_state: (m, l), else chunk
    number `chunk` of O; state: m above l; data, strobe (a bit for 16): of the word; offset: words from O's row to it;
    written: payload bytes; last_word: of the lanes; last_next: the next one is.
    """
    depth, word_lanes, word_bytes = config.array_depth, config.word_bytes // 2, config.word_bytes
    sharing = max(1, word_lanes // depth)  # chunks of O that share a word
    share_bits, lane_bits, chunk_words = log2_ceil(sharing), log2_ceil(word_lanes), log2_ceil(words_of_chunk(config))
    words = words_of_entry(config)
    total_bits, state_bytes = words * config.word_bits, min(STATE_BYTES, config.word_bytes)
    state_lanes = (1 << (state_bytes // 2)) - 1
    # The last element's number: no carry chain then on the way to last_word.
    last = wrapping(max(len(elements), lane_bits + 1))
    position = wrapping(len(chunk) + chunk_words)  # of no importance for other words than those of O
    placed, chosen = unsigned(total_bits), unsigned(config.word_bits)
    state_row, state_word = unsigned(max(8 * STATE_BYTES, config.word_bits)), unsigned(config.word_bits)
    maximum, sum_bits, state_bits = signed(32), len(state) - MAX_BITS, len(state)
    strobes, own_strobe = [bit() for _ in range(word_lanes)], unsigned(word_lanes)

    @always_comb
    def find_last():
        last.next = elements - 1

    if lane_bits == 0:

        @always_comb
        def extent():
            last_word.next = last == word
            last_next.next = last == word + 1
            if in_state:
                written.next = state_bytes
            else:
                written.next = word_bytes

    else:

        @always_comb
        def extent():
            last_word.next = (last >> lane_bits) == word
            last_next.next = (last >> lane_bits) == word + 1
            if in_state:
                written.next = state_bytes
            elif (last >> lane_bits) == word:
                written.next = (last[lane_bits:] + 1) << 1
            else:
                written.next = word_bytes

    @always_comb
    def locate():
        position.next = (chunk << chunk_words) | word

    @always_comb
    def displace():
        offset.next = position >> share_bits

    @always_comb
    def widen():
        placed.next = lanes

    @always_comb
    def sign():
        maximum.next = state[state_bits:sum_bits].signed()

    @always_comb
    def pack():
        state_row.next = (maximum[32:] << 32) | state[sum_bits:]

    @always_comb
    def choose():
        if in_state and not stored:
            data.next = state_word
            strobe.next = state_lanes
        else:
            data.next = chosen
            strobe.next = own_strobe

    instances = [
        find_last, extent, locate, displace, widen, sign, pack, choose,
        slice_of(state_row, word, state_word),
        join(strobes, own_strobe),
    ]  # fmt: skip
    if sharing == 1:
        instances.append(slice_of(placed, word, chosen))
    else:
        own_word, shared, narrow = unsigned(config.word_bits), unsigned(config.word_bits), unsigned(16 * depth)
        instances += [
            slice_of(placed, word, own_word),
            copy(lanes(16 * depth, 0), narrow),
            join([narrow] * sharing, shared),
            either(stored, own_word, shared, chosen),
        ]
    for lane in range(word_lanes):
        instances.append(lane_strobe(word, chunk, elements, stored, strobes[lane], lane, word_lanes, depth))
    return instances


@block
def either(stored, own, shared, chosen):
    """chosen = own where stored, else shared. Combinational."""

    @always_comb
    def choose():
        if stored:
            chosen.next = own
        else:
            chosen.next = shared

    return choose


@block
def lane_strobe(word, chunk, elements, stored, strobe, lane, word_lanes, depth):
    """Whether one 16-bit lane of a word holds one of the elements. Combinational."""
    sharing = max(1, word_lanes // depth)
    element, part = lane % depth, lane // depth

    if sharing == 1:

        @always_comb
        def holds():
            strobe.next = word * word_lanes + lane < elements

    else:

        @always_comb
        def holds():
            if stored:
                strobe.next = word * word_lanes + lane < elements
            else:
                strobe.next = (chunk & (sharing - 1)) == part and element < elements

    return holds
