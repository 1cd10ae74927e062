"""Weight-stationary systolic array with skew, deskew and double-buffered weights."""

from myhdl import Signal, always, always_comb, block, intbv

from hw.delay import delay
from hw.pe import pe
from hw.signals import bit, join, signed, split, to_signed


def psum_bits(product_bound, rows):
    """Bits of a signed sum of `rows` products, each within -product_bound..product_bound."""
    return (rows * product_bound).bit_length() + 1


@block
def systolic_array(
    clk, act_in, out, weight_in, shift, first, swap, rows, cols, act_bits, weight_bits, bound, keys_on, latency
):
    """out[c] = sum over r of act_in[r] * weight[r][c]: one row of activations a cycle, never stalls.

    Latency: act_in to out, `latency` cycles, at least rows + cols + 2 (longer ones are padded). Throughput: one row a
    cycle. Weights enter one key a cycle, the last key first, along the key axis: across the columns in Q.K^T
    (keys_on = "columns"), down the rows in P.V (keys_on = "rows"). With K keys, shift is high for K cycles and first
    in the first of them; swap comes with the first row that uses the new weights, at least K cycles after first. The
    next first may come with swap or later: swap travels with the wavefront, and the shift enable starts one key
    position later each cycle, so that no position loads before it has swapped.

        first     _|1|___________|1|____
        shift     _|1 1 1 1|_____|1 1 1 1|
        weight_in  k3 2 1 0       k3 2 1 0
        swap      _________|1|___|1|____
        act_in              r0 1  r0 1 2      old weights until swap, new ones from r0 on

    Ports: clk; act_in: rows x act_bits, signed lanes; out: cols lanes, signed, psum_bits(bound, rows) each;
    weight_in: weights of one key, signed lanes; shift, first, swap: one bit.

    Parameters: rows, cols: processing elements; act_bits, weight_bits: of a lane; latency: see above; bound: largest
    absolute product; keys_on: "columns" or "rows".
    """
    out_bits = psum_bits(bound, rows)
    keys, lanes = (cols, rows) if keys_on == "columns" else (rows, cols)

    # Key position k may shift from k cycles after `first`; all stop together.
    enable = [[bit() for _ in range(lanes)] for _ in range(keys)]
    swaps = [bit() for _ in range(rows + cols - 1)]

    instances = []
    act_lanes, weight_lanes = split(act_in, rows), split(weight_in, lanes)
    act = [[signed(act_bits) for _ in range(cols + 1)] for _ in range(rows)]
    psum = [[signed(psum_bits(bound, row + 1)) for _ in range(cols)] for row in range(rows)]
    # weight[lane][k] feeds key position k.
    weight = [[signed(weight_bits) for _ in range(keys + 1)] for _ in range(lanes)]
    skewed_act = [Signal(intbv(0)[act_bits:]) for _ in range(rows)]
    skewed_weight = [Signal(intbv(0)[weight_bits:]) for _ in range(lanes)]

    for row in range(rows):
        instances += [delay(clk, act_lanes[row], skewed_act[row], row), to_signed(skewed_act[row], act[row][0])]
    for lane in range(lanes):
        instances += [
            delay(clk, weight_lanes[lane], skewed_weight[lane], lane),
            to_signed(skewed_weight[lane], weight[lane][0]),
        ]
    instances.append(delay(clk, shift, enable[0][0], 0))
    for key in range(1, keys):
        instances.append(stagger(clk, shift, first, enable[key - 1][0], enable[key][0]))
    for key in range(keys):
        for lane in range(1, lanes):
            instances.append(delay(clk, enable[key][lane - 1], enable[key][lane], 1))
    instances.append(delay(clk, swap, swaps[0], 0))
    for step in range(1, rows + cols - 1):
        instances.append(delay(clk, swaps[step - 1], swaps[step], 1))

    for row in range(rows):
        for col in range(cols):
            key, lane = (col, row) if keys_on == "columns" else (row, col)
            instances.append(
                pe(
                    clk,
                    act[row][col],
                    act[row][col + 1],
                    None if row == 0 else psum[row - 1][col],
                    psum[row][col],
                    weight[lane][key],
                    weight[lane][key + 1],
                    enable[key][lane],
                    swaps[row + col],
                )
            )

    padding = latency - (rows + cols + 2)
    deskewed = [signed(out_bits) for _ in range(cols)]
    for col in range(cols):
        instances.append(delay(clk, psum[rows - 1][col], deskewed[col], cols - 1 - col + padding))
    instances.append(join(deskewed, out))
    return instances


@block
def stagger(clk, shift, first, previous, enable):
    """Shift enable of one key position: one cycle after the previous position's, none in the first cycle of a load."""
    started = bit()

    @always(clk.posedge)
    def remember():
        started.next = previous

    @always_comb
    def head():
        enable.next = shift and started and not first

    return remember, head
