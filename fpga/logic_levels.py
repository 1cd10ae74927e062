"""Longest paths of a netlist for a Xilinx device, in LUT levels: a figure of depth without a placed design.

The netlist is what yosys writes as JSON, flat. A path leaves a register (flip-flop, block RAM, DSP block, or a port of
the top) and ends at the next one. LUTs, inverters, wide multiplexers and the reading side of distributed RAM and shift
registers each are a level. Carry cells are fast, and therefore counted apart: of the paths with the most levels, the
one with the most carry cells is given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

LEVEL = re.compile(r"LUT[1-6]|LUT6_2|INV|MUXF[789]|RAM\d+[MXDS].*|SRL.*")
CARRY = re.compile(r"CARRY[48]")
# Clocked inputs of cells whose other inputs reach their outputs within the cycle.
CLOCKED = re.compile(r"(CLK|WCLK|CE|WE|D|DI[A-H]?)")
REGISTER = re.compile(r"FD[RSCP]E.*|LD[CP]E.*|DSP48E2|RAMB(18|36)E2|URAM288.*")
WIRE = re.compile(r"BUFG(CE)?|IBUF|OBUF|VCC|GND")
CONSTANTS = "0", "1", "x", "z"


@dataclass(frozen=True)
class Path:
    """A path between registers.

    levels, carries: LUT levels and carry cells on it; start, end: net it leaves and net or port of a cell it ends at;
    nets: the named nets on its way, from start to end.
    """

    levels: int
    carries: int
    start: str
    end: str
    nets: tuple[str, ...] = ()

    @property
    def depth(self) -> tuple[int, int]:
        return self.levels, self.carries


def longest_paths(module: dict, most: int = 1) -> list[Path]:
    """The longest paths of a module, longest first, at most one into each named register or port.

    Args:
        module: a flat module of yosys' JSON netlist. most: how many.

    Raises:
        ValueError: a cell that this file does not know, or a loop without a register.
    """
    names = _names(module)
    cells = {name: cell for name, cell in module["cells"].items() if not cell["type"].startswith("$scopeinfo")}
    arrival, before = _arrivals(cells)
    worst: dict[str, tuple[tuple[int, int], int | None]] = {}
    for end, bit in _ends(module, cells, names):
        depth = arrival.get(bit, (0, 0))
        if end not in worst or depth > worst[end][0]:
            worst[end] = depth, bit
    chosen = sorted(worst.items(), key=lambda item: (item[1][0], item[0]), reverse=True)[:most]
    return [_path(depth, bit, end, before, names) for end, (depth, bit) in chosen]


def _names(module: dict) -> dict[int, str]:
    """A name for each net: the shortest of those that the sources gave, else of yosys' own."""
    names: dict[int, str] = {}
    rank: dict[int, tuple] = {}
    for name, net in module["netnames"].items():
        key = net["hide_name"], len(name), name
        for index, bit in enumerate(net["bits"]):
            if bit not in CONSTANTS and (bit not in rank or key < rank[bit]):
                rank[bit] = key
                names[bit] = name if len(net["bits"]) == 1 else f"{name}[{index}]"
    return names


def _is_clocked(cell: dict, port: str) -> bool:
    kind = cell["type"]
    if REGISTER.fullmatch(kind):
        return True
    return kind.startswith(("RAM", "SRL")) and CLOCKED.fullmatch(port) is not None


def _arrivals(cells: dict[str, dict]) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    """Depth of each net behind logic, and the net that it has it from. Cells in topological order."""
    sources: dict[str, list[int]] = {}
    readers: dict[int, list[str]] = defaultdict(list)
    driven: dict[int, str] = {}
    for name, cell in cells.items():
        kind = cell["type"]
        if REGISTER.fullmatch(kind):
            continue
        if not any(pattern.fullmatch(kind) for pattern in (LEVEL, CARRY, WIRE)):
            raise ValueError(f"cell {kind} is not known to fpga/logic_levels.py; add it there")
        bits = {}
        for port, direction in cell["port_directions"].items():
            for bit in cell["connections"].get(port, ()):
                if bit in CONSTANTS:
                    continue
                if direction == "output":
                    driven[bit] = name
                elif not _is_clocked(cell, port):
                    bits[bit] = True
        sources[name] = list(bits)
        for bit in bits:
            readers[bit].append(name)
    waiting = {name: sum(bit in driven for bit in bits) for name, bits in sources.items()}
    ready = [name for name, count in waiting.items() if count == 0]
    arrival: dict[int, tuple[int, int]] = {}
    before: dict[int, int] = {}
    done = 0
    while ready:
        name = ready.pop()
        done += 1
        cell = cells[name]
        last = max(sources[name], key=lambda bit: arrival.get(bit, (0, 0)), default=None)
        levels, carries = arrival.get(last, (0, 0))
        if CARRY.fullmatch(cell["type"]):
            carries += 1
        elif LEVEL.fullmatch(cell["type"]):
            levels += 1
        for port, direction in cell["port_directions"].items():
            if direction != "output":
                continue
            for bit in cell["connections"].get(port, ()):
                arrival[bit] = levels, carries
                if last is not None:
                    before[bit] = last
                for reader in readers.get(bit, ()):
                    waiting[reader] -= 1
                    if waiting[reader] == 0:
                        ready.append(reader)
    if done < len(sources):
        loop = next(name for name, count in waiting.items() if count > 0)
        raise ValueError(f"a loop without a register runs through or in front of cell {loop}")
    return arrival, before


def _ends(module: dict, cells: dict[str, dict], names: dict[int, str]):
    """(name, net) of what paths end at: inputs of registers, and outputs of the module."""
    for name, port in module["ports"].items():
        if port["direction"] != "input":
            yield from ((name, bit) for bit in port["bits"] if bit not in CONSTANTS)
    for name, cell in cells.items():
        ports = cell["port_directions"]
        outputs = [bit for port in ports if ports[port] == "output" for bit in cell["connections"].get(port, ())]
        label = re.sub(r"\[\d+\]$", "", next((names[bit] for bit in outputs if bit in names), name))
        for port in ports:
            if ports[port] == "input" and _is_clocked(cell, port):
                end = label if port == "D" else f"{label}.{port}"
                yield from ((end, bit) for bit in cell["connections"].get(port, ()) if bit not in CONSTANTS)


def _path(depth, bit, end, before, names) -> Path:
    nets = [bit]
    while nets[-1] in before:
        nets.append(before[nets[-1]])
    named = [names.get(net, "?") for net in reversed(nets)]
    own = tuple(name for name in dict.fromkeys(re.sub(r"\[\d+\]$", "", name) for name in named) if "$" not in name)
    return Path(*depth, named[0], end, own)
