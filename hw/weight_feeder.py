"""Weight feeder: shifts the chunks of each K or V tile into an array's next-weight registers."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import log2_ceil
from hw.delay import delay
from hw.queue import queue
from hw.signals import bit, index_bits, place, unsigned, wrapping


@block
def weight_feeder(
    clk, reset, tile_done, tile_rows, chunks, tail_mask, take, ready, freed,
    read_row, read_chunk, mask, shift, first, slots, config,
):  # fmt: skip
    """For each complete tile and each chunk of it, read one key a cycle, the last first, once the array can take it.

    Keys that the tile lacks and elements beyond the dimension are masked to zero.

    Latency: a chunk takes array_keys cycles; ready comes with its last read. Throughput: a chunk every array_keys
    cycles, one more at a new tile.

        take      ___|1|___________     the row sequencer starts with the loaded weights
        reads     _____|C-1 ... 1 0|    next chunk
        ready     ___|1|_________|1     until take

    Ports: clk, reset; tile_done, tile_rows: a tile of that many keys is in the buffer; chunks: chunks of a row;
    tail_mask: valid elements of the last chunk; take: the loaded weights are swapped in by the row read in the next
    cycle; ready: the next-weight registers will be complete for a row read in the next cycle or later; freed: a
    tile has been read for the last time; read_row, read_chunk, mask: buffer read port; shift, first: for the array,
    with the buffer's output.

    Parameters: slots: tiles in the buffer.
    """
    last_key = config.array_keys - 1
    busy, begin_read, finish, loaded, tile_valid = (bit() for _ in range(5))
    chunk_last = bit()  # chunk is the tile's last one
    tile_keys = unsigned(len(tile_rows))
    key, chunk = unsigned(index_bits(config.array_keys)), unsigned(len(read_chunk))
    slot = wrapping(log2_ceil(slots))
    first_read = bit()
    all_elements = (1 << config.array_depth) - 1

    @always_comb
    def decide():
        ready.next = loaded or finish
        freed.next = finish and chunk_last
        first_read.next = busy and key == last_key

    @always_comb
    def begin_chunk():
        # Straight on to the tile's next chunk where the row sequencer takes this one as it completes.
        begin_read.next = (tile_valid and not busy and (not loaded or take)) or (finish and take and not chunk_last)

    @always_comb
    def read():
        read_chunk.next = chunk
        if key >= tile_keys:
            mask.next = 0
        elif chunk_last:
            mask.next = tail_mask
        else:
            mask.next = all_elements

    # What the reads have come to is worked out a cycle ahead: much depends on it.
    @always(clk.posedge)
    def ahead():
        if reset:
            finish.next = False
        elif begin_read:
            finish.next = last_key == 0
        else:
            finish.next = busy and key == 1
        if freed:
            chunk_last.next = chunks == 1
        elif finish:
            chunk_last.next = chunk + 2 == chunks
        else:
            chunk_last.next = chunk + 1 == chunks

    @always(clk.posedge)
    def step():
        if reset:
            busy.next = False
            loaded.next = False
            chunk.next = 0
            slot.next = 0
        else:
            if begin_read:
                busy.next = True
                key.next = last_key
            elif finish:
                busy.next = False
            elif busy:
                key.next = key - 1
            if freed:
                chunk.next = 0
                slot.next = slot + 1
            elif finish:
                chunk.next = chunk + 1
            if take:
                loaded.next = False
            elif finish:
                loaded.next = True

    return (
        decide,
        begin_chunk,
        read,
        ahead,
        step,
        place(slot, key, read_row),
        queue(clk, reset, tile_done, tile_rows, freed, tile_keys, tile_valid, slots),
        delay(clk, busy, shift, latency.FEED, reset),
        delay(clk, first_read, first, latency.FEED, reset),
    )
