"""Right shift that keeps what rounding half up needs."""

from myhdl import always, always_comb, block

from hw.signals import signed, unsigned


@block
def shifter(clk, x, shift, y):
    """y = floor(2*x / 2**shift): x shifted right, with one guard bit below.

    Half-up rounding is then (y >> 1) + y[0]; a consumer that adds anyway takes y[0] as its carry in.

    Latency: 3 cycles (golden.latency.SHIFTER), two multiplexer levels a stage, the largest shifts first.
    Throughput: one a cycle.

    Ports: clk; x: signed; shift: unsigned, up to 6 bits; y: signed, at most one bit wider than x. A narrower y has
    the low bits of the result, and no stage computes more than these need.
    """
    width = len(x) + 1
    guarded = signed(width)
    first, second = signed(min(width, len(y) + 15)), signed(min(width, len(y) + 3))
    amount = unsigned(6)
    high, middle, early_low, low = (unsigned(2) for _ in range(4))

    @always_comb
    def guard():
        guarded.next = x << 1
        amount.next = shift

    @always_comb
    def largest():
        high.next = amount[6:4]

    @always(clk.posedge)
    def smaller():
        middle.next = amount[4:2]
        early_low.next = amount[2:]
        low.next = early_low

    return (
        guard,
        largest,
        smaller,
        stage(clk, guarded, high, 16, first),
        stage(clk, first, middle, 4, second),
        stage(clk, second, low, 1, y),
    )


@block
def stage(clk, x, count, step, y):
    """y = x >> step * count, or the low bits of that; count has two bits. One cycle."""
    width, result = len(x), len(y)
    # From `low` up to `top`; beyond the sign bit there are only copies of it.
    low_1, low_2, low_3 = (min(places * step, width - 1) for places in (1, 2, 3))
    top_1, top_2, top_3 = (min(width, low + result) for low in (low_1, low_2, low_3))

    @always(clk.posedge)
    def select():
        if count[1] and count[0]:
            y.next = x[top_3:low_3].signed()
        elif count[1]:
            y.next = x[top_2:low_2].signed()
        elif count[0]:
            y.next = x[top_1:low_1].signed()
        else:
            y.next = x[result:].signed()

    return select
