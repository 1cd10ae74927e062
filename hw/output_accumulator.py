"""P.V accumulator: the output rows O, rescaled by shifts and accumulated tile after tile."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from golden.formats import SHIFT_BITS
from hw.ram import ram
from hw.shifter import shifter
from hw.signals import bit, join, signed, split, to_signed, unsigned, wrapping


@block
def output_accumulator(clk, early_row, early_chunk, fresh, shift, partial, row, chunk, valid, o, config):
    """O = half_up(O_old >> shift) + partial for one chunk of a row, with O_old = 0 where fresh.

    Latency: early_row and early_chunk at t-5 (golden.latency.OUTPUT_READ_AHEAD), fresh and shift at t-4, partial,
    row, chunk and valid at t, o at t+1 (golden.latency.ACCUMULATE). Throughput: one row a cycle; the same chunk of
    a row may come again after 7 cycles (golden.latency.ROW_LOOP).

    Ports: clk; early_row, early_chunk, row, chunk: the same address, early and with partial; fresh, shift: see
    running_maximum; partial: A signed lanes of the array; valid: write back; o: A signed lanes of
    config.accumulator_bits, 16 fraction bits below a V LSB.
    """
    lanes = config.array_depth
    bits = config.accumulator_bits
    chunk_bits = log2_ceil(config.max_chunks)
    address_bits = len(row) + chunk_bits
    read_address, write_address = unsigned(address_bits), unsigned(address_bits)
    write = bit()
    stored, held = unsigned(lanes * bits), unsigned(lanes * bits)
    held_shift = unsigned(SHIFT_BITS)
    sums = [wrapping(bits) for _ in range(lanes)]

    @always_comb
    def address():
        read_address.next = (early_row << chunk_bits) | early_chunk

    @always(clk.posedge)
    def registers():
        if fresh:
            held.next = 0
        else:
            held.next = stored
        held_shift.next = shift
        write_address.next = (row << chunk_bits) | chunk
        write.next = valid

    instances = [
        address,
        registers,
        ram(clk, write, write_address, o, read_address, stored, 1 << address_bits),
        join(sums, o),
    ]
    for lane, (old, addend) in enumerate(zip(split(held, lanes), split(partial, lanes), strict=True)):
        old_value, shifted = signed(bits), signed(bits + 1)
        instances += [
            to_signed(old, old_value),
            shifter(clk, old_value, held_shift, shifted),
            add_lane(clk, shifted, addend, sums[lane]),
        ]
    return instances


@block
def add_lane(clk, shifted, addend, total):
    """total = the bits of (shifted with its guard bit, rounded half up) + addend. One cycle, one adder.

    A held row is added again after the last pass, and not written: it may leave the range, and wraps.
    """
    bits = len(total)
    wide = signed(bits)

    @always_comb
    def extend():
        wide.next = addend.signed()

    @always(clk.posedge)
    def add():
        total.next = shifted[:1] + wide[bits:] + shifted[0]

    return extend, add
