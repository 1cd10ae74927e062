"""Tile buffer for Q, K or V: written in memory words, read in inner-product chunks."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from hw.delay import delay
from hw.ram import ram
from hw.signals import bit, copy, index_bits, join, place, slice_of, split, unsigned


def row_chunks(config):
    """Chunks that a row of the buffer has room for: a power of two."""
    return max(config.max_chunks, config.row_words * config.word_bytes // config.chunk_bytes)


@block
def operand_buffer(clk, write, write_row, write_word, d, read_row, read_chunk, mask, q, config, rows):
    """q is the chunk at (read_row, read_chunk) with the elements whose mask bit is clear forced to zero.

    Latency: read_row, read_chunk and mask to q, 3 cycles (RAM, its flip-flop, mask): golden.latency.FEED.
    Throughput: a word written and a chunk read each cycle. Elements beyond the row's end hold stale data; the
    mask keeps them out.

    Ports: clk; write, write_row, write_word, d (a memory word); read_row, read_chunk; mask: a bit an element;
    q: array_depth elements.

    Parameters: rows: rows held, all slots together.
    """
    element_bits, elements = config.element_bits, config.array_depth
    chunk_bits = elements * element_bits
    banks = max(1, config.chunk_bytes // config.word_bytes)  # RAMs side by side where a chunk is wider than a word
    parts = max(1, config.word_bytes // config.chunk_bytes)  # chunks in a word where it is narrower
    depth = rows * row_chunks(config) // parts  # addresses of one bank
    bank_bits, part_bits = log2_ceil(banks), log2_ceil(parts)

    write_address, read_address = unsigned(index_bits(depth)), unsigned(index_bits(depth))
    enables = [bit() for _ in range(banks)]
    reads = [unsigned(config.word_bits) for _ in range(banks)]
    wide, held = unsigned(banks * config.word_bits), unsigned(banks * config.word_bits)
    chosen, mask_of_held = unsigned(chunk_bits), unsigned(elements)
    instances = [
        place(write_row, write_word, write_address, bank_bits),
        place(read_row, read_chunk, read_address, part_bits),
        join(reads, wide),
        delay(clk, wide, held, 1),
        choose_part(clk, read_chunk, held, chosen, part_bits),
        delay(clk, mask, mask_of_held, 2),
    ]
    for bank in range(banks):
        instances += [
            bank_enable(write, write_word, enables[bank], bank, bank_bits),
            ram(clk, enables[bank], write_address, d, read_address, reads[bank], depth),
        ]

    masked = [unsigned(element_bits) for _ in range(elements)]
    for index, element in enumerate(split(chosen, elements)):
        instances.append(mask_element(clk, element, mask_of_held(index), masked[index]))
    instances.append(join(masked, q))
    return instances


@block
def choose_part(clk, read_chunk, held, chosen, part_bits):
    """chosen = the part of the held word that the low part_bits of read_chunk, two cycles earlier, count."""
    if part_bits == 0:
        return copy(held, chosen)
    part, part_of_held = unsigned(part_bits), unsigned(part_bits)

    @always_comb
    def low_bits():
        part.next = read_chunk[part_bits:]

    return low_bits, delay(clk, part, part_of_held, 2), slice_of(held, part_of_held, chosen)


@block
def bank_enable(write, write_word, enable, bank, bank_bits):
    """Write enable of one bank: word w of a row lies in bank w mod 2**bank_bits. Combinational."""
    if bank_bits == 0:
        return copy(write, enable)

    @always_comb
    def select():
        enable.next = write and write_word[bank_bits:] == bank

    return select


@block
def mask_element(clk, element, keep, masked):
    """Register an element, or zero where keep is clear."""

    @always(clk.posedge)
    def register():
        if keep:
            masked.next = element
        else:
            masked.next = 0

    return register
