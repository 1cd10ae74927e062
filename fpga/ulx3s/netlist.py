"""What yosys leaves undone for the ECP5: registers inside multipliers and block RAMs, and where the arrays lie.

nextpnr puts a processing element's multiplier up to 60 columns from its registers where nearly all multipliers are in
use, as in `base`, since it finds places for these late. With their places given, and registers
inside on both sides, all that crosses the chip does so from register to register.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from golden.config import EngineConfig

MULTIPLIER, BLOCK_RAM, FLIP_FLOP = "MULT18X18D", "DP16KD", "TRELLIS_FF"
# Columns of the multipliers in each row of them, and their numbers in their group of columns; prjtrellis' database of
# the LFE5U-85F.
GROUPS = 4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114
IN_GROUP = (0, 0), (1, 1), (4, 4), (5, 5)
ROWS = 10, 34, 58
COLUMNS = [(group + column, number) for group in GROUPS for column, number in IN_GROUP]
ARRAY = 8  # rows and columns of the arrays that fit there


def finish_netlist(path: Path, top: str, config: EngineConfig, places: bool) -> None:
    """Work the netlist over; places: the device is an 85F."""
    netlist = json.loads(path.read_text(encoding="utf-8"))
    cells = netlist["modules"][top]["cells"]
    pack_registers(cells)
    if places and (config.array_depth, config.array_keys) == (ARRAY, ARRAY):
        place_arrays(cells)
    path.write_text(json.dumps(netlist), encoding="utf-8")


def pack_registers(cells: dict[str, dict]) -> None:
    """Move flip-flops that only copy a block RAM's output, a multiplier's operands or its product into the block.

    A flip-flop stays where it feeds something else, too. One that is enabled or cleared is no copy.
    """
    nets = _Nets(cells)
    for cell in [cell for cell in cells.values() if cell["type"] == BLOCK_RAM]:
        _pack_word(nets, cell)
    for cell in [cell for cell in cells.values() if cell["type"] == MULTIPLIER]:
        _pack_operands(nets, cell)
        _pack_product(nets, cell)


class _Nets:
    """What hangs on each net. copied: the flip-flop whose Q it is; copying: one whose DI it is; loads: how many."""

    def __init__(self, cells: dict[str, dict]):
        self.cells = cells
        flip_flops = {name: cell["connections"] for name, cell in cells.items() if _is_copy(cell)}
        self.copied = {ports["Q"][0]: name for name, ports in flip_flops.items()}
        self.copying = {ports["DI"][0]: name for name, ports in flip_flops.items()}
        self.loads = Counter(bit for cell in cells.values() for bit in _inputs(cell))

    def ports(self, flip_flop: str) -> dict:
        return self.cells[flip_flop]["connections"]

    def remove(self, flip_flop: str) -> None:
        ports = self.ports(flip_flop)
        before = ports["DI"][0]
        self.loads[before] -= 1
        del self.copied[ports["Q"][0]], self.cells[flip_flop]
        if self.copying[before] == flip_flop:
            del self.copying[before]


def _pack_operands(nets: _Nets, cell: dict) -> None:
    """Both or none: nextpnr has no timing of multipliers with a register at one input."""
    ports = {port: bits[0] for port, bits in cell["connections"].items() if re.fullmatch(r"[AB]\d+", port)}
    wires = {bit for bit in ports.values() if bit not in ("0", "x")}
    if not wires or not wires <= nets.copied.keys():
        return
    flip_flops = {bit: nets.copied[bit] for bit in wires}
    clocks = {nets.ports(name)["CLK"][0] for name in flip_flops.values()}
    before = {bit: nets.ports(name)["DI"][0] for bit, name in flip_flops.items()}
    for port, bit in ports.items():
        if bit in wires:
            cell["connections"][port] = [before[bit]]
            nets.loads[bit] -= 1
            nets.loads[before[bit]] += 1
    for bit, name in flip_flops.items():
        if not nets.loads[bit]:
            nets.remove(name)
    for operand in "AB":
        _use_register(cell, f"INPUT{operand}", *clocks)


def _pack_product(nets: _Nets, cell: dict) -> None:
    clocks = _pack_outputs(nets, cell, "P")
    if clocks:
        _use_register(cell, "OUTPUT", *clocks)


def _pack_word(nets: _Nets, cell: dict) -> None:
    clocks = _pack_outputs(nets, cell, "DO")
    if clocks:
        (clock,) = clocks
        for port in "AB":
            assert cell["connections"][f"CLK{port}"][0] in (clock, "0"), "a word goes to a register of its own clock"
            cell["parameters"][f"REGMODE_{port}"] = "OUTREG"
            cell["connections"][f"OCE{port}"] = ["1"]  # wider words are of both ports


def _pack_outputs(nets: _Nets, cell: dict, name: str) -> set[int]:
    """Take the flip-flops behind all outputs of that name into the cell, if there is one behind each; their clock."""
    bits = {port: bits[0] for port, bits in cell["connections"].items() if re.fullmatch(rf"{name}[AB]?\d+", port)}
    used = {port: bit for port, bit in bits.items() if nets.loads[bit]}
    if not all(nets.loads[bit] == 1 and bit in nets.copying for bit in used.values()):
        return set()
    clocks = {nets.ports(nets.copying[bit])["CLK"][0] for bit in used.values()}
    for port, bit in used.items():
        after = nets.ports(nets.copying[bit])["Q"]
        nets.remove(nets.copying[bit])
        cell["connections"][port] = after
    return clocks


def _use_register(cell: dict, register: str, clock: int) -> None:
    """Switch a register of a multiplier on, always enabled."""
    for port, bit in (("CLK0", clock), ("CE0", "1"), ("RST0", "0")):
        cell["parameters"][f"REG_{register}_{port[:-1]}"] = port
        cell["connections"][port] = [bit]
        cell["port_directions"][port] = "input"


def _is_copy(cell: dict) -> bool:
    if cell["type"] != FLIP_FLOP:
        return False
    parameters, ports = cell["parameters"], cell["connections"]
    return parameters["CEMUX"].strip() == "1" and ports["LSR"] == ["0"] and parameters["CLKMUX"] == "CLK"


def _inputs(cell: dict) -> Iterator[int]:
    for port, bits in cell["connections"].items():
        if cell["port_directions"].get(port) == "input":
            yield from bits


def place_arrays(cells: dict[str, dict]) -> None:
    """Give the multipliers of both 8x8 arrays their places; those of softmax and of the output find their own."""
    for name, cell in cells.items():
        found = re.search(r"systolic_array_([01])\.pe_(\d+)\.", name)
        if found and cell["type"] == MULTIPLIER:
            array, number = int(found[1]), int(found[2])
            row, (column, in_group) = _site(array, *divmod(number, ARRAY))
            cell.setdefault("attributes", {})["BEL"] = f"X{column}/Y{row}/MULT18_{in_group}"


def _site(array: int, row: int, column: int) -> tuple[int, tuple[int, int]]:
    """Neighbours lie side by side, or above each other.

    Q.K^T: each column of the array has four multipliers in each of two rows of the device. P.V: six columns fill the
    third row, and the other two come back in the second.
    """
    half = ARRAY // 2
    if array == 0:
        upper = row < half
        return ROWS[0 if upper else 1], COLUMNS[half * column + (row if upper else ARRAY - 1 - row)]
    if column < 6:
        return ROWS[2], COLUMNS[ARRAY * column + row]
    return ROWS[1], COLUMNS[half * ARRAY + ARRAY * (7 - column) + row]
