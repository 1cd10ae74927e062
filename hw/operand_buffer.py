"""Tile buffer for Q, K or V: written in memory words, read in inner-product chunks."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from hw.delay import delay
from hw.ram import ram
from hw.signals import bit, index_bits, join, split, unsigned


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
    chunk_shift, chunk_mask = log2_ceil(chunk_bits), (1 << chunk_bits) - 1
    banks = max(1, config.chunk_bytes // config.word_bytes)  # RAMs side by side where a chunk is wider than a word
    parts = max(1, config.word_bytes // config.chunk_bytes)  # chunks in a word where it is narrower
    words = row_chunks(config) // parts  # addresses of one bank that a row takes
    depth = rows * words
    bank_bits, part_bits, word_bits = log2_ceil(banks), log2_ceil(parts), log2_ceil(words)

    write_address, read_address = unsigned(index_bits(depth)), unsigned(index_bits(depth))
    enables = [bit() for _ in range(banks)]
    reads = [unsigned(config.word_bits) for _ in range(banks)]
    wide, held = unsigned(banks * config.word_bits), unsigned(banks * config.word_bits)
    part, part_of_held = unsigned(index_bits(parts)), unsigned(index_bits(parts))
    # A signal of its own: in Verilog a shifted shift amount is no wider than its operand.
    part_shift = unsigned(config.word_bits.bit_length())
    mask_of_held = unsigned(elements)

    @always_comb
    def address():
        write_address.next = (write_row << word_bits) | (write_word >> bank_bits)
        read_address.next = (read_row << word_bits) | (read_chunk >> part_bits)
        part.next = read_chunk & (parts - 1)
        part_shift.next = part_of_held << chunk_shift

    instances = [address, join(reads, wide), delay(clk, wide, held, 1)]
    for bank in range(banks):
        instances += [
            bank_enable(write, write_word, enables[bank], bank, banks),
            ram(clk, enables[bank], write_address, d, read_address, reads[bank], depth),
        ]
    instances += [delay(clk, part, part_of_held, 2), delay(clk, mask, mask_of_held, 2)]

    chosen = unsigned(chunk_bits)

    @always_comb
    def choose():
        chosen.next = (held >> part_shift) & chunk_mask

    masked = [unsigned(element_bits) for _ in range(elements)]
    for index, element in enumerate(split(chosen, elements)):
        instances.append(mask_element(clk, element, mask_of_held(index), masked[index]))
    instances += [choose, join(masked, q)]
    return instances


@block
def bank_enable(write, write_word, enable, bank, banks):
    """Write enable of one bank: word w of a row lies in bank w mod banks. Combinational."""

    @always_comb
    def select():
        enable.next = write and (write_word & (banks - 1)) == bank

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
