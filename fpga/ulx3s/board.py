"""Facts about the ULX3S and its two FPGAs, and what is built for each.

Pins are in ulx3s.lpf. Sources: the board's manual and schematics (github.com/emard/ulx3s); Lattice FPGA-DS-02012, ECP5
family data sheet, for the devices' resources.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fpga.build_error import BuildError
from golden.config import EngineConfig

OSCILLATOR_HZ = 25_000_000
MIN_BAUD, MAX_BAUD = 115_200, 3_000_000  # of the FT231X, and of what the UART's tests cover
DEFAULT_BAUD = 1_000_000
_KIB = 1024


@dataclass(frozen=True)
class Board:
    """A ULX3S with one of its FPGAs.

    Args:
        name: of the command line. device: the part. nextpnr: what selects it.
        config: name of the configuration that is built if no other is asked for.
        memory_bytes: the engine's memory, in block RAM. clock_hz: of the engine; most seeds close it (docs/reports),
            and a build fails without one that does. aim_hz: what place and route tries to reach.
        cells: how many the device has of each kind.
        soft_multipliers: modules whose multipliers are made of LUTs, where there are too few of the device's.
        places_arrays: netlist.place_arrays knows the device.
    """

    name: str
    device: str
    nextpnr: tuple[str, ...]
    config: str
    memory_bytes: int
    clock_hz: int
    aim_hz: int
    cells: dict[str, int]
    soft_multipliers: tuple[str, ...] = ()
    places_arrays: bool = False

    def with_memory(self, config: EngineConfig) -> EngineConfig:
        """A configuration with this board's memory."""
        return replace(config, memory_bytes=self.memory_bytes)


BOARDS = {
    board.name: board
    for board in (
        Board(
            name="ulx3s",
            device="LFE5U-85F-6BG381C",
            nextpnr=("--85k", "--package", "CABGA381", "--speed", "6"),
            config="base",
            memory_bytes=128 * _KIB,
            clock_hz=90_000_000,
            aim_hz=110_000_000,
            cells={"LUT4": 83_640, "TRELLIS_FF": 83_640, "MULT18X18D": 156, "DP16KD": 208},
            places_arrays=True,
        ),
        Board(
            name="ulx3s-25f",
            device="LFE5U-25F-6BG381C",
            nextpnr=("--25k", "--package", "CABGA381", "--speed", "6"),
            config="tiny",
            memory_bytes=32 * _KIB,
            clock_hz=80_000_000,
            aim_hz=100_000_000,
            cells={"LUT4": 24_288, "TRELLIS_FF": 24_288, "MULT18X18D": 28, "DP16KD": 56},
            soft_multipliers=("pe_psum_out1*",),  # Q.K^T of INT8
        ),
    )
}


def check_baud(baud: int) -> None:
    """Raise BuildError for a baud rate that the board's USB bridge does not have."""
    if not MIN_BAUD <= baud <= MAX_BAUD:
        raise BuildError(f"--baud must be between {MIN_BAUD} and {MAX_BAUD}, not {baud}")
