"""Write side of the DMA: finished chunks of output rows, (m, l), S and P, queued and written to memory."""

from myhdl import always, always_comb, block, concat

from golden.config import log2_ceil
from golden.layout import state_words
from hw.ram import ram
from hw.row_cursor import row_cursor
from hw.signals import bit, index_bits, unsigned, wrapping
from hw.write_word import words_of_entry, write_word


class Leaving:
    """What leaves for memory: C or A lanes of 16 bits, and where they belong.

    elements: of the lanes; stored: a row of S or P, stored_p: of P; otherwise a chunk of O, last_chunk of its row;
    last_final: last row of its tile's final rows; last: last tile of its block; end: last tile of the run. For S and P,
    last marks the last row of the block.
    """

    FLAGS = ("stored", "stored_p", "last_chunk", "last_final", "last", "end")

    def __init__(self, config):
        lanes = max(config.array_depth, config.array_keys)
        self.lanes, self.elements = unsigned(16 * lanes), unsigned(lanes.bit_length())
        for flag in self.FLAGS:
            setattr(self, flag, bit())


@block
def writer(
    clk, reset, clear, begin_run, run, push, leaving, state_push, state, write, output_pop, stored, block_end, run_end,
    counters, config,
):  # fmt: skip
    """Queue what leaves and write it, O chunk by chunk of a tile's final rows, each row's (m, l) after its last chunk.

    Rows of O arrive as P.V computes them: the tile's final rows for chunk 0, the same rows for chunk 1, and so on.
    The address follows from the flags alone. Elements beyond the value dimension are not written. S and P of a block
    fill the scratch area row by row.

    Latency: push to write.valid, 3 cycles. Throughput: one word a cycle that the memory takes.

    Ports: clk, reset; clear: counters restart; begin_run: a run begins, its descriptor is valid; run: Run; push,
    leaving: Leaving; state_push, state: m and l of a row, in the order of the rows' last chunks; write: WritePort;
    output_pop: a chunk of O has left the queue; stored: a row of S or P has; block_end, run_end: with write, it is the
    last word of a block's S, P or O, and of the run; counters: bytes written, a cycle after the word is taken.
    """
    depth, state_depth = config.output_rows, 1 << log2_ceil(config.p_rows + config.output_rows)
    words, row_shift = state_words(config), log2_ceil(config.scratch_row_words)
    data_bits, element_bits = len(leaving.lanes), len(leaving.elements)
    head_bits = data_bits + element_bits + len(Leaving.FLAGS)
    entry_bits = head_bits + 3  # alone_chunk, alone_row, alone_stored: for the registers ends_... only
    word_lanes = config.word_bytes // 2
    address_bits, state_bits = index_bits(depth), index_bits(state_depth)
    entry, read, head = unsigned(entry_bits), unsigned(entry_bits), unsigned(head_bits)
    write_pointer, read_pointer = wrapping(address_bits), wrapping(address_bits)
    state_write, state_read = wrapping(state_bits), wrapping(state_bits)
    row_state, state_out, state_next = unsigned(len(state)), unsigned(len(state)), wrapping(state_bits)
    held, queued = unsigned(depth.bit_length()), bit()  # queued: held is not 0
    fetch, read_valid, advance, accepted, pop = (bit() for _ in range(5))
    # The word that is offered is the last one of a chunk of O, of a row's last chunk of O or its state, of a row of S
    # or P. Registers, since much depends on them; all are off while no word is offered.
    ends_chunk, ends_row, ends_stored, last_now, alone_chunk, alone_row, alone_stored = (bit() for _ in range(7))
    read_address, last_read = unsigned(address_bits), unsigned(address_bits)
    now = Leaving(config)
    word = unsigned(max(1, log2_ceil(max(words_of_entry(config), words))))
    chunk = unsigned(max(1, log2_ceil(config.max_chunks)))
    in_state, last_word, last_next = bit(), bit(), bit()
    # The row after the last one may lie beyond the memory.
    o_row, s_row, state_row, offset, address = (wrapping(index_bits(config.memory_words)) for _ in range(5))
    step_o, step_state, mark, rewind, block_gone = (bit() for _ in range(5))
    written = unsigned(config.word_bytes.bit_length())
    # What a word that was taken adds to the counters, a cycle later.
    counts, count_state, count_stored, count_p = (bit() for _ in range(4))
    amount = unsigned(len(written))

    @always_comb
    def measure():
        alone_chunk.next = (
            leaving.elements <= word_lanes and not leaving.stored and not (run.state and leaving.last_chunk)
        )
        alone_row.next = (
            leaving.elements <= word_lanes and not leaving.stored and leaving.last_chunk and not run.state
        )
        alone_stored.next = leaving.elements <= word_lanes and leaving.stored

    @always_comb
    def pack():
        entry.next = concat(
            alone_stored, alone_row, alone_chunk, leaving.end, leaving.last, leaving.last_final, leaving.last_chunk,
            leaving.stored_p, leaving.stored, leaving.elements, leaving.lanes,
        )  # fmt: skip

    @always_comb
    def unpack():
        now.lanes.next = head[data_bits:]
        now.elements.next = head[data_bits + element_bits : data_bits]
        now.stored.next = head[data_bits + element_bits]
        now.stored_p.next = head[data_bits + element_bits + 1]
        now.last_chunk.next = head[data_bits + element_bits + 2]
        now.last_final.next = head[data_bits + element_bits + 3]
        now.last.next = head[data_bits + element_bits + 4]
        now.end.next = head[data_bits + element_bits + 5]

    @always_comb
    def handshake():
        accepted.next = write.valid and write.ready

    @always_comb
    def move():
        pop.next = write.ready and (ends_chunk or ends_stored)
        advance.next = read_valid and (not write.valid or (write.ready and (ends_chunk or ends_stored)))

    @always_comb
    def events():
        fetch.next = queued and (not read_valid or advance)
        output_pop.next = write.ready and ends_chunk
        stored.next = write.ready and ends_stored
        block_end.next = now.last and (ends_stored or (ends_row and now.last_final))
        run_end.next = ends_row and now.end and now.last_final
        block_gone.next = write.ready and now.last and (ends_stored or (ends_row and now.last_final))
        step_o.next = write.ready and ends_chunk
        step_state.next = write.ready and ends_row
        mark.next = now.last_final and now.last_chunk
        rewind.next = now.last_final and not now.last_chunk

    @always(clk.posedge)
    def pipeline():
        if reset:
            write_pointer.next = 0
            read_pointer.next = 0
            held.next = 0
            queued.next = False
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
                held.next = held + 1
                queued.next = True
            elif fetch and not push:
                held.next = held - 1
                queued.next = held != 1
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
        if advance:
            head.next = read[head_bits:]

    @always_comb
    def follows():
        if in_state:
            last_now.next = word + 2 == words
        elif last_word:
            last_now.next = words == 1
        else:
            last_now.next = last_next and not (run.state and now.last_chunk and not now.stored)

    @always(clk.posedge)
    def completion():
        if reset or (pop and not advance):
            ends_chunk.next = False
            ends_row.next = False
            ends_stored.next = False
        elif advance:
            ends_chunk.next = read[head_bits]
            ends_row.next = read[head_bits + 1]
            ends_stored.next = read[head_bits + 2]
        elif accepted:
            ends_chunk.next = last_now and not now.stored
            ends_row.next = last_now and not now.stored and now.last_chunk
            ends_stored.next = last_now and now.stored

    @always(clk.posedge)
    def walk():
        if reset or begin_run:
            chunk.next = 0
            word.next = 0
            in_state.next = False
            state_write.next = 0
            state_read.next = 0
        else:
            if pop:
                word.next = 0
                in_state.next = False
            elif accepted and last_word and not in_state:
                word.next = 0
                in_state.next = True
            elif accepted:
                word.next = word + 1
            if step_o and now.last_final:
                if now.last_chunk:
                    chunk.next = 0
                else:
                    chunk.next = chunk + 1
            if state_push and run.state:
                state_write.next = state_write + 1
            state_read.next = state_next

    @always(clk.posedge)
    def scratch():
        if begin_run or block_gone:
            s_row.next = run.scratch_address
        elif stored:
            s_row.next = s_row + (1 << row_shift)

    # The state of the next row, once this one's has gone: a register takes block RAM's slow output.
    @always_comb
    def next_state():
        if step_state:
            state_next.next = state_read + 1
        else:
            state_next.next = state_read

    @always(clk.posedge)
    def take_state():
        row_state.next = state_out

    @always_comb
    def locate():
        if now.stored:
            address.next = s_row + word
        elif in_state:
            address.next = state_row + word
        else:
            address.next = o_row + offset

    @always_comb
    def drive():
        write.address.next = address

    @always(clk.posedge)
    def measured():
        counts.next = accepted and not reset
        count_state.next = in_state
        count_stored.next = now.stored
        count_p.next = now.stored_p
        amount.next = written

    @always(clk.posedge)
    def count():
        if reset or clear:
            counters.o_bytes.next = 0
            counters.state_bytes.next = 0
            counters.s_write_bytes.next = 0
            counters.p_write_bytes.next = 0
        elif counts:
            if count_state:
                counters.state_bytes.next = counters.state_bytes + amount
            elif not count_stored:
                counters.o_bytes.next = counters.o_bytes + amount
            elif count_p:
                counters.p_write_bytes.next = counters.p_write_bytes + amount
            else:
                counters.s_write_bytes.next = counters.s_write_bytes + amount

    return (
        measure, pack, unpack, handshake, move, events, pipeline, hold, take, follows, completion, walk, next_state,
        take_state, scratch, locate, drive, measured, count,
        ram(clk, push, write_pointer, entry, read_address, read, depth),
        ram(clk, state_push, state_write, state, state_next, state_out, state_depth),
        row_cursor(
            clk, begin_run, step_o, mark, rewind, run.o_address, run.o_stride, run.o_head_stride, run.n_q,
            run.group, o_row,
        ),
        row_cursor(
            clk, begin_run, step_state, None, None, run.state_address, run.state_stride, run.state_head_stride,
            run.n_q, run.group, state_row,
        ),
        write_word(
            now.lanes, now.elements, now.stored, in_state, row_state, word, chunk, write.data, write.strobe, offset,
            written, last_word, last_next, config,
        ),
    )  # fmt: skip
