"""cocotb bench of the generated top of the ULX3S, from the oscillator's pin to the USB bridge's.

cocotb loads this file into the simulator; tests/fpga/ulx3s/test_top.py starts it.
"""

import cocotb
from cocotb.triggers import ClockCycles

from fpga.ulx3s.clock import HOLD_BITS
from hw.uart.protocol import Command, FrameStatus
from tests.hw.uart.line_host import MAP, head, host_of

BUSY, FAULT, RESET = 1, 2, 4  # LEDs


@cocotb.test()
async def from_power_up_to_a_head(dut):
    """Nothing is answered before the PLL has locked and the reset has ended; then a head runs."""
    host = await host_of(dut)
    await ClockCycles(dut.clk, 20)
    assert int(dut.led.value) & RESET and int(dut.wifi_gpio0.value) == 1
    await ClockCycles(dut.clk, (1 << HOLD_BITS) + 20)
    assert int(dut.led.value) & (RESET | BUSY | FAULT) == 0
    await host.expect(FrameStatus.OK, Command.PING)
    await host.run(head(3, n_q=2, n_kv=5, dim=4, value_dim=3))
    await host.write(Command.WRITE_REGISTERS, MAP.address("descriptor.n_q"), bytes(4))  # the next start is refused
    await host.expect(FrameStatus.OK, Command.START)
    await host.wait_for_end()
    await ClockCycles(dut.clk, 4)
    assert int(dut.led.value) & (BUSY | FAULT) == FAULT
