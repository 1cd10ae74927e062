"""Where read data goes: words into the buffers of Q, K, V, and S and P, in the order of the loads."""

from myhdl import always, always_comb, block

from golden.config import KEY_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS, log2_ceil
from hw.load_counters import LOAD_K, LOAD_Q, LOAD_S, LOAD_V
from hw.loader import LOADS
from hw.queue import queue
from hw.signals import bit, index_bits, join, place, unsigned, wrapping


@block
def receiver(
    clk, reset, load_push, load_kind, load_rows, load_words, data_valid, data,
    word, write_word, k_write, k_row, q_write, q_row, v_write, v_row, s_write, s_row,
    k_done, q_done, v_done, s_done, done_rows, under_way,
):  # fmt: skip
    """Write each word that the memory returns to its buffer, and say when a load is complete.

    Latency: data_valid to the write port of the buffer, and of the last word of a load to *_done, one cycle.
    Throughput: a word a cycle; data is never refused, since a load is requested only when its buffer is free.

    Ports: clk, reset; load_push, load_kind, load_rows, load_words (of a row): loads in the order of their requests;
    data_valid, data: the memory's answer; word, write_word: buffer write port, common; k_write, k_row (slot and key),
    q_write, q_row (bank and row), v_write, v_row, s_write, s_row; *_done: a load is complete; done_rows: its rows;
    under_way: a load has been requested and is not complete.
    """
    row_bits, words_bits = len(load_rows), len(load_words)
    entry_bits = row_bits + words_bits + 4
    record, head, pop = unsigned(entry_bits), unsigned(entry_bits), bit()
    # Of a load, the last row and the last word of a row, and whether it has one row, each of one word.
    kind, final_row, final_word, one_row, one_word = unsigned(2), unsigned(row_bits), unsigned(words_bits), bit(), bit()
    new_row, new_word, new_one_row, new_one_word = wrapping(row_bits), wrapping(words_bits), bit(), bit()
    # Where the next word belongs: the first one of a row or load; or, after another, the last one.
    at_first_word, at_first_row, ends_row, ends_load = (bit() for _ in range(4))
    row, count = unsigned(row_bits), unsigned(len(write_word))
    k_slot, v_slot, q_slot, s_slot = (
        wrapping(index_bits(slots)) for slots in (KEY_SLOTS, VALUE_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS)
    )
    k_place, v_place, q_place, s_place = (unsigned(len(row)) for row in (k_row, v_row, q_row, s_row))
    last_word, last_row = bit(), bit()

    @always_comb
    def minus_one():
        new_row.next = load_rows - 1
        new_word.next = load_words - 1
        new_one_row.next = load_rows == 1
        new_one_word.next = load_words == 1

    @always_comb
    def unpack():
        kind.next = head[2:]
        final_row.next = head[2 + row_bits : 2]
        final_word.next = head[2 + row_bits + words_bits : 2 + row_bits]
        one_row.next = head[entry_bits - 2]
        one_word.next = head[entry_bits - 1]

    # A comparison with each word would stand in line: the one before tells of the next, or the record of the first.
    @always_comb
    def ends():
        if at_first_word:
            last_word.next = one_word
        else:
            last_word.next = ends_row
        if at_first_row:
            last_row.next = one_row
        else:
            last_row.next = ends_load

    @always_comb
    def complete():
        pop.next = data_valid and last_word and last_row

    @always(clk.posedge)
    def ahead():
        if reset:
            at_first_word.next = True
            at_first_row.next = True
        elif data_valid:
            at_first_word.next = last_word
            ends_row.next = count + 1 == final_word
            if last_word:
                at_first_row.next = last_row
                ends_load.next = row + 1 == final_row

    @always(clk.posedge)
    def write():
        word.next = data
        write_word.next = count
        k_row.next = k_place
        q_row.next = q_place
        v_row.next = v_place
        s_row.next = s_place
        done_rows.next = final_row + 1
        if reset:
            k_write.next = False
            q_write.next = False
            v_write.next = False
            s_write.next = False
            k_done.next = False
            q_done.next = False
            v_done.next = False
            s_done.next = False
            row.next = 0
            count.next = 0
            k_slot.next = 0
            q_slot.next = 0
            v_slot.next = 0
            s_slot.next = 0
        else:
            k_write.next = data_valid and kind == LOAD_K
            q_write.next = data_valid and kind == LOAD_Q
            v_write.next = data_valid and kind == LOAD_V
            s_write.next = data_valid and kind == LOAD_S
            k_done.next = pop and kind == LOAD_K
            q_done.next = pop and kind == LOAD_Q
            v_done.next = pop and kind == LOAD_V
            s_done.next = pop and kind == LOAD_S
            if data_valid:
                if last_word:
                    count.next = 0
                    row.next = row + 1
                else:
                    count.next = count + 1
            if pop:
                row.next = 0
                if kind == LOAD_K:
                    k_slot.next = k_slot + 1
                elif kind == LOAD_Q:
                    q_slot.next = q_slot + 1
                elif kind == LOAD_V:
                    v_slot.next = v_slot + 1
                else:
                    s_slot.next = s_slot + 1

    depth = 1 << log2_ceil(LOADS)
    return (
        join([load_kind, new_row, new_word, new_one_row, new_one_word], record),
        queue(clk, reset, load_push, record, pop, head, under_way, depth),
        place(k_slot, row, k_place),
        place(q_slot, row, q_place),
        place(v_slot, row, v_place),
        place(s_slot, row, s_place),
        minus_one,
        unpack,
        ends,
        complete,
        ahead,
        write,
    )
