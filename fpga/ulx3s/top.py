"""Top of the ULX3S: clock, reset, and the engine with its memory behind the USB bridge's serial line."""

from myhdl import always, always_comb, block

from fpga.ulx3s.clock import clock, reset_hold
from hw.signals import bit, unsigned, wrapping
from hw.uart.uart_system import uart_system

LEDS = 8
HEARTBEAT_BITS = 26


@block
def ulx3s(clk_25mhz, ftdi_txd, ftdi_rxd, led, wifi_gpio0, config, registers, clock_hz, baud):
    """The engine on a ULX3S.

    Ports: clk_25mhz: oscillator; ftdi_txd: from the USB bridge; ftdi_rxd: to it; led: 0 a run is under way, 1 the last
    one was refused or broken off, 2 reset, 7 blinks with the engine's clock; wifi_gpio0: high, so that the ESP32 leaves
    the FPGA alone.

    Parameters: config: EngineConfig; registers: see register_file; clock_hz: of the engine; baud: of the line.
    """
    clk, locked, reset, busy, fault = (bit() for _ in range(5))
    heartbeat = wrapping(HEARTBEAT_BITS)
    lit = unsigned(LEDS)

    @always(clk.posedge)
    def beat():
        heartbeat.next = heartbeat + 1
        if reset:
            heartbeat.next = 0
        lit.next = 0
        lit.next[0] = busy
        lit.next[1] = fault
        lit.next[2] = reset
        lit.next[7] = heartbeat[HEARTBEAT_BITS - 1]

    @always_comb
    def show():
        led.next = lit

    @always(clk_25mhz.posedge)
    def keep_esp32_away():
        wifi_gpio0.next = True

    return (
        beat, show, keep_esp32_away,
        clock(clk_25mhz, clk, locked),
        reset_hold(clk, locked, reset),
        uart_system(clk, reset, ftdi_txd, ftdi_rxd, busy, fault, config, registers, clock_hz, baud),
    )  # fmt: skip
