"""Rows of S or P that have come back from memory."""

from myhdl import always_comb, block

from golden.config import SCRATCH_SLOTS
from hw.delay import delay
from hw.ram import ram
from hw.signals import bit, join, unsigned


@block
def replay_buffer(clk, write, write_row, write_word, word, early_row, late_row, late, lanes_out, config):
    """Two tiles of rows, C lanes of 16 bits each, written in memory words; keys that a tile lacks hold stale data.

    Latency: row address to lanes_out, 2 cycles (RAM and its flip-flop). Throughput: a word written and a row read each
    cycle.

    Ports: clk; write, write_row (slot and row), write_word, word; early_row: row to read, or late_row where late is
    set; lanes_out: C lanes.
    """
    banks = config.scratch_row_words
    depth = SCRATCH_SLOTS * config.max_rows
    read_row = unsigned(len(early_row))
    enables = [bit() for _ in range(banks)]
    reads = [unsigned(config.word_bits) for _ in range(banks)]
    wide = unsigned(banks * config.word_bits)
    chosen = unsigned(len(lanes_out))
    row_bits = len(lanes_out)

    @always_comb
    def select():
        if late:
            read_row.next = late_row
        else:
            read_row.next = early_row

    @always_comb
    def narrow():
        chosen.next = wide[row_bits:]

    instances = [select, narrow, join(reads, wide), delay(clk, chosen, lanes_out, 1)]
    for bank in range(banks):
        instances += [
            bank_enable(write, write_word, enables[bank], bank),
            ram(clk, enables[bank], write_row, word, read_row, reads[bank], depth),
        ]
    return instances


@block
def bank_enable(write, write_word, enable, bank):
    """Write enable of the bank that holds word number `bank` of each row. Combinational."""

    @always_comb
    def select():
        enable.next = write and write_word == bank

    return select
