"""Weights of one array: the K or V tile buffer and the feeder that reads it."""

from myhdl import block

from hw.operand_buffer import operand_buffer, row_chunks
from hw.signals import index_bits, unsigned
from hw.weight_feeder import weight_feeder


@block
def weight_source(
    clk, reset, write, write_row, write_word, word, tile_done, tile_rows, chunks, tail_mask, take,
    ready, freed, weights, shift, first, slots, config,
):  # fmt: skip
    """Buffer `slots` tiles and shift them into an array chunk by chunk, as weight_feeder describes.

    Latency, throughput: see weight_feeder and operand_buffer.

    Ports: write, write_row (slot and key), write_word, word: from the receiver; weights, shift, first: to the
    array; the others: see weight_feeder.
    """
    read_row, read_chunk = unsigned(len(write_row)), unsigned(index_bits(row_chunks(config)))
    mask = unsigned(config.array_depth)
    return (
        weight_feeder(
            clk, reset, tile_done, tile_rows, chunks, tail_mask, take, ready, freed,
            read_row, read_chunk, mask, shift, first, slots, config,
        ),
        operand_buffer(
            clk, write, write_row, write_word, word, read_row, read_chunk, mask, weights, config, slots *
            config.array_keys
        ),
    )  # fmt: skip
