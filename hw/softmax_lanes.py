"""Lanes of the softmax row that cost multipliers and block RAM: one for each score of a row, or fewer, shared."""

from myhdl import always, always_comb, block, concat

from golden.formats import MAX_BITS, P_BITS, Z_BITS
from hw.delay import delay
from hw.exp2 import exp2
from hw.scale import scale
from hw.signals import bit, join, signed, split, to_signed, unsigned


@block
def scale_lanes(clk, valid, s, mantissa, shift, z, over, config):
    """z and over of each of a row's C scores, by config.softmax_units units (see scale).

    Latency: golden.latency.scale. Throughput: one row in config.row_cycles.

    valid: the row is there (of no importance if there is a unit for each score); s: C signed scores; z: list of C
    signed s20.12; over: list of C bits.
    """
    keys, lanes, bits = config.array_keys, config.softmax_units, config.score_bits
    if lanes == keys:
        return [
            scale_slice(clk, score, mantissa, shift, z[lane], over[lane]) for lane, score in enumerate(split(s, lanes))
        ]
    part, row = unsigned(lanes * bits), unsigned(keys * (Z_BITS + 1))
    instances, results = [hand_out(clk, valid, s, part)], []
    for score in split(part, lanes):
        scaled, saturated, result = signed(Z_BITS), bit(), unsigned(Z_BITS + 1)
        instances += [scale_slice(clk, score, mantissa, shift, scaled, saturated), join([scaled, saturated], result)]
        results.append(result)
    instances.append(gather(clk, results, row))
    for index, result in enumerate(split(row, keys)):
        instances += [to_signed(result(Z_BITS, 0), z[index]), delay(clk, result(Z_BITS), over[index], 0)]
    return instances


@block
def scale_slice(clk, score, mantissa, shift, z, over):
    """scale of a slice, which is unsigned."""
    value = signed(len(score))
    return to_signed(score, value), scale(clk, value, mantissa, shift, z, over)


@block
def exp2_lanes(clk, valid, maximum, z, visible, p, config):
    """p of each of a row's C scores, by config.softmax_units units (see exp2).

    Latency: EXP2 + shared (golden.latency). Throughput: one row in config.row_cycles.

    valid: the row is there, None if there is a unit for each score; maximum: m of the row, an integer; z: list of C
    signed s20.12; visible: a bit a lane; p: list of C UQ1.16.
    """
    keys, lanes = config.array_keys, config.softmax_units
    if lanes == keys:
        late = unsigned(keys)
        units = [exp2(clk, maximum, z[lane], late(lane), p[lane]) for lane in range(keys)]
        return delay(clk, visible, late, 1), units
    m, row, part = signed(MAX_BITS), unsigned(keys * (Z_BITS + 1)), unsigned(lanes * (Z_BITS + 1))
    whole, results = unsigned(keys * P_BITS), []
    entries = [unsigned(Z_BITS + 1) for _ in range(keys)]
    instances = [join([z[lane], visible(lane)], entries[lane]) for lane in range(keys)]
    instances += [join(entries, row), hand_out(clk, valid, row, part), hold(clk, valid, maximum, m)]
    for entry in split(part, lanes):
        value, late, result = signed(Z_BITS), bit(), unsigned(P_BITS)
        instances += [
            to_signed(entry(Z_BITS, 0), value),
            delay(clk, entry(Z_BITS), late, 1),
            exp2(clk, m, value, late, result),
        ]
        results.append(result)
    instances.append(gather(clk, results, whole))
    return instances, [delay(clk, value, p[index], 0) for index, value in enumerate(split(whole, keys))]


@block
def hand_out(clk, valid, row, part):
    """The parts of a row, the lowest first, from the cycle after valid on, one a cycle."""
    bits, total = len(part), len(row)
    left = unsigned(total)

    @always(clk.posedge)
    def shift():
        if valid:
            left.next = row
        else:
            left.next = left[:bits]

    @always_comb
    def lowest():
        part.next = left[bits:]

    return shift, lowest


@block
def hold(clk, valid, value, held):
    """held = value, taken with valid."""

    @always(clk.posedge)
    def take():
        if valid:
            held.next = value

    return take


@block
def gather(clk, results, row):
    """A row of the results of several cycles, the first ones lowest, a cycle after the last."""
    part = unsigned(sum(len(result) for result in results))
    bits, total = len(part), len(row)

    @always(clk.posedge)
    def shift():
        row.next = concat(part, row[total:bits])

    return join(results, part), shift
