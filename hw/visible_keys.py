"""Which keys of a tile a row sees."""

from myhdl import always, always_comb, block

from hw.signals import bit, join, signed, unsigned


@block
def visible_keys(clk, causal, windowed, window, limit, keys, visible):
    """A bit for each key of a tile: it exists, is not after the row's position, and is not out of the window.

    Latency: 2 cycles. Throughput: one row a cycle.

    Ports: clk; causal, windowed, window: of the run; limit: keys of the tile (and before) up to the row's position,
    signed; keys: of the tile; visible: a bit a key.
    """
    lanes = len(visible)
    bits = len(keys)
    high, low, lowest = unsigned(bits), unsigned(bits), signed(len(limit) + 1)

    @always(clk.posedge)
    def clamp():
        if causal and limit < 1:
            high.next = 0
        elif causal and limit < keys:
            high.next = limit[bits:]
        else:
            high.next = keys
        # The window begins with key limit - window.
        if not windowed or lowest < 1:
            low.next = 0
        elif lowest > lanes:
            low.next = lanes
        else:
            low.next = lowest[bits:]

    @always_comb
    def subtract():
        lowest.next = limit - window

    shown = [bit() for _ in range(lanes)]
    return clamp, subtract, join(shown, visible), [show(clk, high, low, shown[lane], lane) for lane in range(lanes)]


@block
def show(clk, high, low, shown, lane):
    """shown = low <= lane < high, a cycle later."""

    @always(clk.posedge)
    def compare():
        shown.next = low <= lane and lane < high

    return compare
