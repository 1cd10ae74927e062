"""Bit times of a serial line."""

from myhdl import always, always_comb, block

from hw.signals import wrapping

PHASE_BITS = 20
LEAST_CLOCKS = 8  # a bit: sampling, a clock early or late, then stays clear of the edges with the host 2 % off
MOST_ERROR = 0.005  # of the baud rate


def bit_step(clock_hz: int, baud: int) -> int:
    """What is added to the phase, of PHASE_BITS bits, each clock.

    Raises:
        ValueError: the clock is too slow for the baud rate, or so fast that the step is too coarse.
    """
    for name, value in (("clock_hz", clock_hz), ("baud", baud)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on, not {value!r}")
    if clock_hz < LEAST_CLOCKS * baud:
        raise ValueError(
            f"{baud} baud leaves {clock_hz / baud:.1f} clocks of {clock_hz} Hz a bit, and {LEAST_CLOCKS} are needed; "
            f"use at most {clock_hz // LEAST_CLOCKS} baud"
        )
    step = ((baud << PHASE_BITS) + clock_hz // 2) // clock_hz
    made = step * clock_hz / (1 << PHASE_BITS)
    if abs(made - baud) > MOST_ERROR * baud:
        raise ValueError(f"a clock of {clock_hz} Hz makes {made:.1f} baud of {baud}, which is more than 0.5 % off")
    return step


@block
def bit_clock(clk, restart, tick, clock_hz, baud):
    """A tick a bit, clock_hz / baud clocks apart on average, each at most a clock early or late.

    Latency: with restart until cycle t, ticks come in the middles of the bits of a line that fell at the clock edge
    into t: the first B / 2 - 1 clocks after t, rounded up, for B clocks a bit. Edges of the line are seen up to a clock
    late, so that these are the middles on average.

    Ports: clk; restart; tick.

    Parameters: clock_hz, baud: at least 8 clocks a bit.
    """
    step = bit_step(clock_hz, baud)
    first = (1 << (PHASE_BITS - 1)) + 2 * step
    phase, following = wrapping(PHASE_BITS), wrapping(PHASE_BITS + 1)

    @always_comb
    def advance():
        following.next = phase + step

    @always(clk.posedge)
    def run():
        if restart:
            phase.next = first
            tick.next = False
        else:
            phase.next = following[PHASE_BITS:]
            tick.next = following[PHASE_BITS]

    return advance, run
