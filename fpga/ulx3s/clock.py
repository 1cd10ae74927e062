"""Clock and reset of the ULX3S: the PLL of the ECP5, and a reset that holds until it has locked."""

from myhdl import always, always_comb, block

from hw.signals import bit, unsigned

HOLD_BITS = 8  # the reset lasts 2**HOLD_BITS cycles from the lock on


@block
def clock(clk_25mhz, clk, locked):
    """The PLL, module ecp5_pll, which ecppll writes for the frequency of the build.

    Simulated as MyHDL, clk is clk_25mhz.

    Ports: clk_25mhz; clk: the engine's clock (out); locked: clk is stable (out, asynchronous).
    """

    @always_comb
    def wire():
        clk.next = clk_25mhz
        locked.next = True

    clk_25mhz.read = True
    clk.driven = locked.driven = "wire"
    clock.verilog_code = "ecp5_pll ecp5_pll (.clkin($clk_25mhz), .clkout0($clk), .locked($locked));"
    return wire


@block
def reset_hold(clk, locked, reset):
    """reset is active while the PLL is not locked and for 256 cycles after that.

    Registers of the ECP5 are 0 after configuration: reset then comes a cycle late, before anything can have started.

    Ports: clk; locked: asynchronous; reset: synchronous, active high (out).
    """
    early, stable = bit(), bit()
    held = unsigned(HOLD_BITS)
    last = (1 << HOLD_BITS) - 1

    @always(clk.posedge)
    def hold():
        early.next = locked
        stable.next = early
        reset.next = held != last
        if not stable:
            held.next = 0
        elif held != last:
            held.next = held + 1

    return hold
