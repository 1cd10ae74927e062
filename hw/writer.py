"""Write side of the DMA: finished chunks of output rows, queued and written to memory."""

from myhdl import always, always_comb, block, concat

from golden.config import log2_ceil
from golden.formats import OUTPUT_BITS
from hw.ram import ram
from hw.signals import bit, index_bits, join, slice_of, unsigned, wrapping


def words_per_chunk(config):
    """Memory words that one chunk of output elements fills (1 where several chunks share a word)."""
    return max(1, config.array_depth * 2 // config.word_bytes)


@block
def writer(
    clk, reset, begin_run, push, normalised, last_final, last_chunk, last_tile, o_address, o_stride, tail_elements,
    write, pop, done, o_bytes, config, depth,
):  # fmt: skip
    """Queue normalised chunks and write each to its row, chunk by chunk of a tile's final rows.

    Rows arrive as P.V computes them: the tile's final rows for chunk 0, the same rows for chunk 1, and so on. The
    address follows from the two flags alone. Elements beyond the value dimension are not written.

    Latency: push to write.valid, 3 cycles. Throughput: one word a cycle that the memory takes.

    Ports: clk, reset; begin_run: a run begins, the descriptor is valid; push, normalised (A 16-bit lanes),
    last_final (last of the tile's final rows), last_chunk, last_tile (of the run); o_address, o_stride,
    tail_elements (elements of the last chunk): constant during a run; write: WritePort; pop: a chunk has left the
    queue; done: the last word of the run is being taken; o_bytes: counter.

    Parameters: depth: chunks queued, a power of two.
    """
    lanes, word_lanes = config.array_depth, config.word_bytes // 2
    words = words_per_chunk(config)
    sharing = max(1, word_lanes // lanes)  # chunks that share a word
    share_bits = log2_ceil(sharing)
    data_bits = lanes * OUTPUT_BITS
    entry_bits = data_bits + 3
    address_bits = index_bits(depth)
    entry, read, head = unsigned(entry_bits), unsigned(entry_bits), unsigned(entry_bits)
    write_pointer, read_pointer = wrapping(address_bits), wrapping(address_bits)
    stored = unsigned(depth.bit_length())
    fetch, read_valid, advance = bit(), bit(), bit()
    word, chunk = unsigned(max(1, log2_ceil(words))), unsigned(max(1, log2_ceil(config.max_chunks)))
    accepted, last_word = bit(), bit()
    head_last_final, head_last_chunk, head_end = bit(), bit(), bit()
    row_address, tile_address, next_row, next_tile = (wrapping(len(o_address)) for _ in range(4))
    address, next_chunk = wrapping(len(o_address)), wrapping(len(chunk))
    lane_bits, config_word_bytes = log2_ceil(word_lanes), config.word_bytes
    word_bits = log2_ceil(words)
    position = unsigned(len(chunk) + word_bits)  # words since the row's first, in chunks where these share a word
    read_address, last_read = unsigned(address_bits), unsigned(address_bits)
    data, placed = unsigned(data_bits), unsigned(max(data_bits, config.word_bits))
    strobes = [bit() for _ in range(word_lanes)]
    elements = unsigned(lanes.bit_length())
    left, left_bits = wrapping(max(lanes, word_lanes).bit_length() + 1), word_lanes.bit_length()
    strobe_bytes = unsigned(config.word_bytes.bit_length())

    @always_comb
    def pack():
        entry.next = concat(last_tile, last_chunk, last_final, normalised)

    @always_comb
    def unpack():
        head_last_final.next = head[data_bits]
        head_last_chunk.next = head[data_bits + 1]
        head_end.next = head[data_bits + 2]

    @always_comb
    def handshake():
        accepted.next = write.valid and write.ready
        advance.next = read_valid and (not write.valid or (write.ready and last_word))
        fetch.next = stored != 0 and (not read_valid or advance)
        pop.next = accepted and last_word
        done.next = accepted and last_word and head_last_final and head_last_chunk and head_end

    @always(clk.posedge)
    def pipeline():
        if reset:
            write_pointer.next = 0
            read_pointer.next = 0
            stored.next = 0
            read_valid.next = False
            write.valid.next = False
        else:
            if push:
                write_pointer.next = write_pointer + 1
            if fetch:
                read_pointer.next = read_pointer + 1
                last_read.next = read_pointer
                read_valid.next = True
            elif advance:
                read_valid.next = False
            if push and not fetch:
                stored.next = stored + 1
            elif fetch and not push:
                stored.next = stored - 1
            if advance:
                write.valid.next = True
            elif pop:
                write.valid.next = False

    @always_comb
    def hold():
        # The RAM reads every cycle: keep it on the word that has not moved on yet.
        if fetch:
            read_address.next = read_pointer
        else:
            read_address.next = last_read

    @always(clk.posedge)
    def take():
        if reset:
            head.next = 0
        elif advance:
            head.next = read

    @always_comb
    def extent():
        if head_last_chunk:
            elements.next = tail_elements
        else:
            elements.next = lanes

    @always_comb
    def remain():
        left.next = elements - (word << lane_bits)

    @always_comb
    def count():
        last_word.next = left <= word_lanes
        if left <= word_lanes:
            strobe_bytes.next = left[left_bits:] << 1
        else:
            strobe_bytes.next = config_word_bytes

    @always_comb
    def locate():
        position.next = (chunk << word_bits) | word

    @always_comb
    def offset():
        address.next = row_address + (position >> share_bits)

    @always_comb
    def drive():
        data.next = head[data_bits:]
        write.address.next = address

    @always_comb
    def place():
        if not head_last_final:
            next_row.next = row_address + o_stride
            next_tile.next = tile_address
            next_chunk.next = chunk
        elif not head_last_chunk:
            next_row.next = tile_address
            next_tile.next = tile_address
            next_chunk.next = chunk + 1
        else:
            next_row.next = row_address + o_stride
            next_tile.next = row_address + o_stride
            next_chunk.next = 0

    @always(clk.posedge)
    def addresses():
        if reset:
            row_address.next = 0
            chunk.next = 0
            word.next = 0
            o_bytes.next = 0
        elif begin_run:
            row_address.next = o_address
            tile_address.next = o_address
            chunk.next = 0
            word.next = 0
            o_bytes.next = 0
        elif accepted:
            o_bytes.next = o_bytes + strobe_bytes
            if last_word:
                word.next = 0
                row_address.next = next_row
                tile_address.next = next_tile
                chunk.next = next_chunk
            else:
                word.next = word + 1

    instances = [
        pack, unpack, handshake, pipeline, hold, take, extent, remain, count, locate, offset, drive, place, addresses,
        ram(clk, push, write_pointer, entry, read_address, read, depth),
        join([data] * sharing, placed),
        slice_of(placed, word, write.data),
        join(strobes, write.strobe),
    ]  # fmt: skip
    for lane in range(word_lanes):
        if sharing > 1:
            instances.append(shared_strobe(chunk, elements, strobes[lane], lane, lanes, sharing))
        else:
            instances.append(lane_strobe(word, elements, strobes[lane], lane, word_lanes))
    return instances


@block
def lane_strobe(word, elements, strobe, lane, word_lanes):
    """Whether one 16-bit lane of a word holds an element of the chunk. Combinational."""

    @always_comb
    def holds():
        strobe.next = word * word_lanes + lane < elements

    return holds


@block
def shared_strobe(chunk, elements, strobe, lane, lanes, sharing):
    """Whether one 16-bit lane of a word that chunks share holds an element of this one. Combinational."""
    element, part = lane % lanes, lane // lanes

    @always_comb
    def holds():
        strobe.next = (chunk & (sharing - 1)) == part and element < elements

    return holds
