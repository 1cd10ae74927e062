"""Longest paths of small netlists."""

import pytest

from fpga.logic_levels import longest_paths

PORTS = {
    "LUT": ({"I0": "input", "I1": "input"}, {"O": "output"}),
    "FDRE": ({"C": "input", "D": "input", "CE": "input", "R": "input"}, {"Q": "output"}),
    "CARRY4": ({"CI": "input", "S": "input"}, {"CO": "output", "O": "output"}),
    "DSP48E2": ({"A": "input"}, {"P": "output"}),
    "RAM64M8": ({"ADDRA": "input", "DIA": "input", "WCLK": "input", "WE": "input"}, {"DOA": "output"}),
    "RAMB36E2": ({"ADDRARDADDR": "input"}, {"DOUTADOUT": "output"}),
    "SRL16E": ({"A0": "input", "D": "input", "CE": "input", "CLK": "input"}, {"Q": "output"}),
}


def netlist(inputs, outputs, *cells):
    """Nets by name; a cell: type, then port=net, with net "0" a constant."""
    nets = {}

    def bit(name):
        return name if name in ("0", "1", "x") else nets.setdefault(name, len(nets) + 2)

    made = {}
    for index, (kind, connections) in enumerate(cells):
        into, out = PORTS["LUT" if kind.startswith(("LUT", "MUX", "INV")) else kind]
        made[f"cell{index}"] = {
            "type": kind,
            "port_directions": {port: way for port, way in (into | out).items() if port in connections},
            "connections": {port: [bit(net)] for port, net in connections.items()},
        }
    ports = {name: {"direction": "input", "bits": [bit(name)]} for name in inputs}
    ports |= {name: {"direction": "output", "bits": [bit(name)]} for name in outputs}
    names = {name: {"hide_name": 0, "bits": [number]} for name, number in nets.items()}
    return {"cells": made, "ports": ports, "netnames": names}


def lut(kind="LUT2", **connections):
    return kind, connections


def chain(*kinds, last="d"):
    """Cells behind register `q`, each on the one before; the last one drives net `last`."""
    cells, net = [("FDRE", {"C": "clk", "D": "0", "Q": "q"})], "q"
    for index, kind in enumerate(kinds):
        into = {"CARRY4": "CI", "RAM64M8": "ADDRA", "SRL16E": "A0"}.get(kind, "I0")
        out = {"CARRY4": "CO", "RAM64M8": "DOA", "SRL16E": "Q"}.get(kind, "O")
        following = last if index == len(kinds) - 1 else f"n{index}"
        cells.append((kind, {into: net, out: following}))
        net = following
    return cells


def longest(*cells, inputs=("clk",), outputs=()):
    return longest_paths(netlist(inputs, outputs, *cells), 9)


def test_levels_and_carries_between_registers():
    end = ("FDRE", {"C": "clk", "D": "d", "Q": "e"})
    (path,) = longest(*chain("LUT2", "CARRY4", "CARRY4", "MUXF7", "INV"), end)[:1]
    assert (path.levels, path.carries, path.start, path.end) == (3, 2, "q", "e")
    assert path.nets == ("q", "n0", "n1", "n2", "n3", "d")


@pytest.mark.parametrize("first, second", ["ds", "sd"])
@pytest.mark.parametrize("turn", [1, -1])
def test_the_longer_branch_counts_whatever_the_order(first, second, turn):
    cells = [
        ("FDRE", {"C": "clk", "D": "y", "Q": "e"}), lut(I0="z", O="y"), lut(I0=first, I1=second, O="z"),
        lut(I0="q", O="s"), *reversed(chain("LUT2", "LUT3", "LUT4")),
    ]  # fmt: skip
    (path,) = longest(*cells[::turn])[:1]
    assert path.levels == 5 and path.nets == ("q", "n0", "n1", "d", "z", "y")


def test_carry_cells_count_behind_levels():
    cells = [
        ("FDRE", {"C": "clk", "D": "z", "Q": "e"}),
        lut(I0="d", I1="c", O="z"),
        *chain("LUT2", "LUT2"),
        ("CARRY4", {"CI": "q", "CO": "c0"}), ("CARRY4", {"CI": "c0", "CO": "c1"}), ("CARRY4", {"CI": "c1", "CO": "c"}),
    ]  # fmt: skip
    assert longest(*cells)[0].depth == (3, 0)


@pytest.mark.parametrize(
    "kind, connections, ends",
    [
        ("DSP48E2", {"A": "d", "P": "e"}, "e.A"),
        ("RAMB36E2", {"ADDRARDADDR": "d", "DOUTADOUT": "e"}, "e.ADDRARDADDR"),
        ("FDRE", {"C": "clk", "D": "0", "R": "d", "Q": "e"}, "e.R"),
        ("FDRE", {"C": "clk", "D": "0", "CE": "d", "Q": "e"}, "e.CE"),
        ("SRL16E", {"CLK": "clk", "D": "d", "A0": "0", "Q": "e"}, "e"),
        ("RAM64M8", {"WCLK": "clk", "DIA": "d", "ADDRA": "0", "DOA": "e"}, "e.DIA"),
        ("RAM64M8", {"WCLK": "clk", "WE": "d", "ADDRA": "0", "DOA": "e"}, "e.WE"),
    ],
)
def test_ends_of_paths(kind, connections, ends):
    # Behind the register there is another long way, which does not belong to the path.
    after = [lut(I0="e", O="f"), lut(I0="f", O="g"), ("FDRE", {"C": "clk", "D": "g", "Q": "h"})]
    depths = {path.end: path.levels for path in longest(*chain("LUT2", "LUT2", "LUT2"), (kind, connections), *after)}
    assert depths[ends] == 3
    assert depths["h"] == (3 if kind in ("SRL16E", "RAM64M8") else 2)  # reading these is a level, from their clock on


def test_reading_distributed_memory_is_a_level():
    end = ("FDRE", {"C": "clk", "D": "d", "Q": "e"})
    assert longest(*chain("LUT2", "RAM64M8", "LUT2"), end)[0].levels == 3
    assert longest(*chain("LUT2", "SRL16E", "LUT2"), end)[0].levels == 3


def test_ports_of_the_top_are_ends():
    (path,) = longest(lut(I0="i", O="n"), lut(I0="n", O="o"), inputs=("i",), outputs=("o",))
    assert (path.levels, path.start, path.end) == (2, "i", "o")


def test_most_paths_one_for_each_end():
    cells = chain("LUT2", "LUT2") + [("FDRE", {"C": "clk", "D": net, "Q": f"e{net}"}) for net in ("d", "n0", "q")]
    found = longest_paths(netlist(("clk",), (), *cells), 2)
    assert [(path.levels, path.end) for path in found] == [(2, "ed"), (1, "en0")]


@pytest.mark.parametrize("turn", [1, -1])
def test_the_worst_bit_of_a_register_counts(turn):
    bits = [("FDRE", {"C": "clk", "D": net, "Q": f"e[{index}]"}) for index, net in enumerate(("q", "d", "n0"))]
    found = longest(*chain("LUT2", "LUT2"), *bits[::turn])
    assert [(path.levels, path.end) for path in found if path.end == "e"] == [(2, "e")]


def test_strange_cells_and_loops_are_named():
    PORTS["PLL"] = PORTS["LUT"]
    with pytest.raises(ValueError, match="cell PLL is not known"):
        longest(("PLL", {"I0": "clk", "O": "q"}))
    with pytest.raises(ValueError, match="loop without a register"):
        longest(lut(I0="a", O="b"), lut(I0="b", O="a"))
