"""Which keys of a tile a row sees."""

from myhdl import always, block

from hw.signals import bit, join, signed, unsigned


@block
def visible_keys(clk, causal, windowed, window, limit, keys, visible):
    """A bit for each key of a tile: it exists, is not after the row's position, and is not out of the window.

    Latency: 3 cycles. Throughput: one row a cycle.

    Ports: clk; causal, windowed, window: of the run; limit: keys of the tile (and before) up to the row's position,
    signed; keys: of the tile; visible: a bit a key.
    """
    lanes = len(visible)
    bits = len(keys)
    high, low = unsigned(bits), unsigned(bits)
    # The window begins with key `lowest`.
    lowest, upper, held = signed(len(limit) + 1), signed(len(limit)), unsigned(bits)
    limited, starts = bit(), bit()

    @always(clk.posedge)
    def subtract():
        lowest.next = limit - window
        upper.next = limit
        held.next = keys
        limited.next = causal
        starts.next = windowed

    @always(clk.posedge)
    def clamp():
        if limited and upper < 1:
            high.next = 0
        elif limited and upper < held:
            high.next = upper[bits:]
        else:
            high.next = held
        if not starts or lowest < 1:
            low.next = 0
        elif lowest > lanes:
            low.next = lanes
        else:
            low.next = lowest[bits:]

    shown = [bit() for _ in range(lanes)]
    return subtract, clamp, join(shown, visible), [show(clk, high, low, shown[lane], lane) for lane in range(lanes)]


@block
def show(clk, high, low, shown, lane):
    """shown = low <= lane < high, a cycle later."""

    @always(clk.posedge)
    def compare():
        shown.next = low <= lane and lane < high

    return compare
