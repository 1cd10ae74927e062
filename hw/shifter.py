"""Right shift that keeps what rounding half up needs."""

from myhdl import always, always_comb, block

from hw.signals import signed, unsigned


@block
def shifter(clk, x, shift, y):
    """y = floor(2*x / 2**shift): x shifted right, with one guard bit below.

    Half-up rounding is then (y >> 1) + y[0]; a consumer that adds anyway takes y[0] as its carry in.

    Latency: 3 cycles (golden.latency.SHIFTER), two multiplexer levels a stage, the largest shifts first.
    Throughput: one a cycle.

    Ports: clk; x: signed; shift: 5 or 6 bits, unsigned; y: signed, at most one bit wider than x. A narrower y has the
    low bits of the result, and no stage computes more than these need.
    """
    width = len(x) + 1
    guarded = signed(width)
    first, second = signed(min(width, len(y) + 15)), signed(min(width, len(y) + 3))
    middle, early_low, low = (unsigned(2) for _ in range(3))

    @always_comb
    def guard():
        guarded.next = x << 1

    @always(clk.posedge)
    def smaller():
        middle.next = shift[4:2]
        early_low.next = shift[2:]
        low.next = early_low

    return (
        guard,
        smaller,
        first_stage(clk, guarded, shift, first),
        stage(clk, first, middle, 4, second),
        stage(clk, second, low, 1, y),
    )


@block
def first_stage(clk, x, shift, y):
    """y = x >> 16 * the bits of shift above the lower four, or the low bits of that. One cycle."""
    bits, count = len(shift), unsigned(2)

    @always_comb
    def high():
        count.next = shift[bits:4]

    return high, stage(clk, x, count, 16, y)


@block
def stage(clk, x, count, step, y):
    """y = x >> step * count, or the low bits of that; count has two bits. One cycle."""
    width, result = len(x), len(y)
    if result == width:
        once, twice, thrice = step, 2 * step, 3 * step

        @always(clk.posedge)
        def whole():
            if count[1] and count[0]:
                y.next = x >> thrice
            elif count[1]:
                y.next = x >> twice
            elif count[0]:
                y.next = x >> once
            else:
                y.next = x

        return whole

    # From `low` up to `top`; beyond the sign bit there are only copies of it.
    low_1, low_2, low_3 = (min(places * step, width - 1) for places in (1, 2, 3))
    top_1, top_2, top_3 = (min(width, low + result) for low in (low_1, low_2, low_3))

    @always(clk.posedge)
    def part():
        if count[1] and count[0]:
            y.next = x[top_3:low_3].signed()
        elif count[1]:
            y.next = x[top_2:low_2].signed()
        elif count[0]:
            y.next = x[top_1:low_1].signed()
        else:
            y.next = x[result:].signed()

    return part
