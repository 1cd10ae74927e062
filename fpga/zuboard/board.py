"""Facts about the ZUBoard 1CG and its device, with where they are from. No build has been run on the board itself."""

from __future__ import annotations

from dataclasses import dataclass

PART = "xczu1cg-sbva484-1-e"  # Avnet AES-ZUB-1CG-DK-G, product brief: XCZU1CG-1SBVA484E
# Board files, which know the processing system's pins and LPDDR4: github.com/Avnet/bdf and Vivado's board store.
# Avnet's are avnet.com:zuboard_1cg:part0:1.0, those of Tria, its name now, avnet-tria:zuboard_1cg:part0:1.2.
BOARD_PARTS = "*:zuboard_1cg:part0:*"
CLOCK_HZ = 150_000_000  # pl_clk0, a quotient of the PS's IOPLL: 33.333 MHz * 45 / 10
CLOCK_TOLERANCE = 0.001  # 33.333 and 33.33 MHz both come out within this of what is asked for
CLOCK = "clk_pl_0"  # what the constraints of IP zynq_ultra_ps_e call the clock of pl_clk0
REGISTERS = 0xA000_0000  # where M_AXI_HPM0_FPD begins, UG1085 table "system address map"
REGISTER_BYTES = 4096  # the least that Vivado assigns
BUS_BITS = 64, 128  # of S_AXI_HP0_FPD that fit a memory word; UG1085 also has 32


@dataclass(frozen=True)
class Device:
    """Resources of a device: LUTs, flip-flops, DSP48E2, block RAM of 36 Kbit, URAM."""

    lut: int
    ff: int
    dsp: int
    bram36: float
    uram: int


DEVICE = Device(lut=37_440, ff=74_880, dsp=216, bram36=108, uram=0)  # DS891, Zynq UltraScale+ CG devices, ZU1CG


def period_ns() -> float:
    """The clock's period, in ns."""
    return 1e9 / CLOCK_HZ
