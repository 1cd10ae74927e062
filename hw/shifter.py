"""Right shift that keeps what rounding half up needs."""

from myhdl import always, always_comb, block

from hw.signals import signed, unsigned


@block
def shifter(clk, x, shift, y):
    """y = floor(2*x / 2**shift): x shifted right, with one guard bit below.

    Half-up rounding is then (y + 1) >> 1; a consumer that adds anyway gives the 1 as its carry in:
    half_up(x, shift) + b = (y + (2*b + 1)) >> 1.

    Latency: 3 cycles (golden.latency.SHIFTER), two multiplexer levels a stage, the largest shifts first.
    Throughput: one a cycle.

    Ports: clk; x: signed; shift: unsigned, up to 6 bits; y: signed, one bit wider than x.
    """
    width = len(x) + 1
    first, second = signed(width), signed(width)
    middle, low = unsigned(4), unsigned(2)
    guarded = signed(width)
    amount = unsigned(6)

    @always_comb
    def guard():
        guarded.next = x << 1
        amount.next = shift

    @always(clk.posedge)
    def levels():
        if amount[5] and amount[4]:
            first.next = guarded >> 48
        elif amount[5]:
            first.next = guarded >> 32
        elif amount[4]:
            first.next = guarded >> 16
        else:
            first.next = guarded
        middle.next = amount[4:]
        if middle[3] and middle[2]:
            second.next = first >> 12
        elif middle[3]:
            second.next = first >> 8
        elif middle[2]:
            second.next = first >> 4
        else:
            second.next = first
        low.next = middle[2:]
        if low[1] and low[0]:
            y.next = second >> 3
        elif low[1]:
            y.next = second >> 2
        elif low[0]:
            y.next = second >> 1
        else:
            y.next = second

    return guard, levels
