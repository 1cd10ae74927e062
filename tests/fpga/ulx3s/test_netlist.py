"""Registers moved into multipliers and block RAMs: the netlist computes what it did before."""

import copy
import itertools
import json
import random
import re

import pytest

from fpga.ulx3s.netlist import (
    ARRAY,
    BLOCK_RAM,
    COLUMNS,
    FLIP_FLOP,
    MULTIPLIER,
    ROWS,
    finish_netlist,
    pack_registers,
    place_arrays,
)
from golden.config import NAMED


class Netlist:
    """Cells on one clock, written down by hand, and their simulation; block RAMs hold a table that port A reads."""

    def __init__(self):
        self.cells, self.bits = {}, itertools.count(10)
        self.clock = self.wires(1)[0]

    def wires(self, width):
        return [next(self.bits) for _ in range(width)]

    def add(self, kind, outputs, parameters, **connections):
        directions = {port: "output" if re.match(outputs, port) else "input" for port in connections}
        cell = {"type": kind, "parameters": parameters, "connections": connections, "port_directions": directions}
        self.cells[f"cell_{len(self.cells)}"] = cell

    def registers(self, d, enable=None, clear=None):
        """Flip-flops behind some wires, and what they drive."""
        q = self.wires(len(d))
        parameters = {"CEMUX": "CE" if enable else "1 ", "CLKMUX": "CLK"}
        for before, after in zip(d, q, strict=True):
            control = {"LSR": [clear or "0"]} | ({"CE": [enable]} if enable else {})
            self.add(FLIP_FLOP, "Q", dict(parameters), CLK=[self.clock], DI=[before], Q=[after], **control)
        return q

    def multiplier(self, a, b):
        """a * b, unsigned; operands are extended with zeros."""
        product = self.wires(36)
        ports = {f"{name}{place}": [(wires + ["0"] * 18)[place]] for name, wires in (("A", a), ("B", b))
                 for place in range(18)}  # fmt: skip
        self.add(MULTIPLIER, r"P\d", {}, **ports, **{f"P{place}": [bit] for place, bit in enumerate(product)})
        return product

    def table(self, address):
        word = self.wires(18)
        ports = {f"ADA{place}": [bit] for place, bit in enumerate(address)}
        ports |= {f"DOA{place}": [bit] for place, bit in enumerate(word)}
        ports |= {"CLKA": [self.clock], "CLKB": ["0"], "OCEA": ["1"], "OCEB": ["1"]}
        self.add(BLOCK_RAM, "DO", {"REGMODE_A": "NOREG", "REGMODE_B": "NOREG"}, **ports)
        return word


def simulate(cells, inputs, outputs):
    """Values of the wires `outputs` in each cycle; inputs: a dictionary of wires and values for each."""
    state, seen = {}, []  # of registers, by cell and port
    for given in inputs:
        values = {"0": 0, "1": 1} | given
        value = lambda bit: values.get(bit, 0)  # noqa: B023, E731
        for name, cell in cells.items():
            for port, (bit, *_) in cell["connections"].items():
                if cell["port_directions"][port] == "output" and cell["type"] != MULTIPLIER:
                    values[bit] = state.get((name, port), 0)
        for name, cell in cells.items():
            if cell["type"] == MULTIPLIER:
                place_product(name, cell, state, values)
        seen.append([value(bit) for bit in outputs])
        state = {key: held for name, cell in cells.items() for key, held in clocked(name, cell, state, value).items()}
    return seen


def operand(name, cell, which, state, value):
    return sum(value(cell["connections"][f"{which}{place}"][0]) << place for place in range(18))


def place_product(name, cell, state, values):
    value = lambda bit: values.get(bit, 0)  # noqa: E731
    a, b = (
        state.get((name, which), 0) if f"REG_INPUT{which}_CLK" in cell["parameters"]
        else operand(name, cell, which, state, value)
        for which in "AB"
    )  # fmt: skip
    product = state.get((name, "P"), 0) if "REG_OUTPUT_CLK" in cell["parameters"] else a * b
    for place in range(36):
        values[cell["connections"][f"P{place}"][0]] = product >> place & 1
    state[name, "product"] = a * b


def clocked(name, cell, state, value):
    """What the cell's registers hold in the next cycle."""
    ports, parameters = cell["connections"], cell["parameters"]
    if cell["type"] == FLIP_FLOP:
        old = state.get((name, "Q"), 0)
        enabled = parameters["CEMUX"] != "CE" or value(ports["CE"][0])
        return {(name, "Q"): 0 if value(ports["LSR"][0]) else value(ports["DI"][0]) if enabled else old}
    if cell["type"] == BLOCK_RAM:
        address = sum(value(bits[0]) << int(port[3:]) for port, bits in ports.items() if port.startswith("ADA"))
        word = {(name, "read", place): (address * 0x9E37 + 5) >> place & 1 for place in range(18)}
        behind = "OUTREG" in parameters["REGMODE_A"]
        shown = {key: state.get(key, 0) for key in word} if behind else word
        return word | {(name, f"DOA{place}"): bit for (_, _, place), bit in shown.items()}
    return {
        (name, "A"): operand(name, cell, "A", state, value), (name, "B"): operand(name, cell, "B", state, value),
        (name, "P"): state[name, "product"],
    }  # fmt: skip


def kinds(cells, kind):
    return [cell for cell in cells.values() if cell["type"] == kind]


def check(netlist, inputs, outputs):
    """Pack a copy, and compare; returns the packed cells."""
    packed = copy.deepcopy(netlist.cells)
    pack_registers(packed)
    rng = random.Random(1)
    stimulus = [{bit: rng.randrange(2) for bit in inputs} for _ in range(60)]
    assert simulate(packed, stimulus, outputs) == simulate(netlist.cells, stimulus, outputs)
    return packed


def test_registers_on_all_sides():
    netlist = Netlist()
    a, b = netlist.wires(9), netlist.wires(7)
    product = netlist.registers(netlist.multiplier(netlist.registers(a), netlist.registers(b)))
    packed = check(netlist, a + b, product)
    assert not kinds(packed, FLIP_FLOP)
    (cell,) = packed.values()
    assert {cell["parameters"][f"REG_{name}_CLK"] for name in ("INPUTA", "INPUTB", "OUTPUT")} == {"CLK0"}


def test_a_chain_of_operands_keeps_what_others_need():
    """As in a row of a systolic array: the operand's register also feeds the next one's."""
    netlist = Netlist()
    a, b = netlist.wires(8), netlist.wires(8)
    first = netlist.registers(a)
    second = netlist.registers(first)
    products = [netlist.registers(netlist.multiplier(operand, netlist.registers(b))) for operand in (first, second)]
    last = netlist.registers(second)
    packed = check(netlist, a + b, [*products[0], *products[1], *last])
    assert len(kinds(packed, FLIP_FLOP)) == 3 * 8
    assert all("REG_INPUTA_CLK" in cell["parameters"] for cell in kinds(packed, MULTIPLIER))


@pytest.mark.parametrize("control", ["enable", "clear"])
def test_enabled_and_cleared_registers_stay(control):
    netlist = Netlist()
    a, b, bit = netlist.wires(4), netlist.wires(4), netlist.wires(1)[0]
    operands = netlist.registers(a, **{control: bit}), netlist.registers(b)
    product = netlist.registers(netlist.multiplier(*operands), **{control: bit})
    packed = check(netlist, [*a, *b, bit], product)
    (cell,) = kinds(packed, MULTIPLIER)
    # nextpnr takes registers at both inputs, or at none.
    assert not cell["parameters"]
    assert len(kinds(packed, FLIP_FLOP)) == 4 + 4 + 36


def test_a_product_that_something_else_sees_is_not_held_back():
    netlist = Netlist()
    a, b = netlist.wires(4), netlist.wires(4)
    product = netlist.multiplier(netlist.registers(a), netlist.registers(b))
    netlist.registers([product[3]], enable=product[0])
    packed = check(netlist, a + b, netlist.registers(product))
    assert "REG_OUTPUT_CLK" not in kinds(packed, MULTIPLIER)[0]["parameters"]


def test_a_word_goes_through_the_block_ram_and_stays_out_of_the_multiplier():
    """Its register is needed where the block RAM is slow."""
    netlist = Netlist()
    address, b = netlist.wires(6), netlist.wires(5)
    word = netlist.registers(netlist.table(netlist.registers(address)))
    product = netlist.registers(netlist.multiplier(word, netlist.registers(b)))
    packed = check(netlist, address + b, product)
    (memory,), (cell,) = kinds(packed, BLOCK_RAM), kinds(packed, MULTIPLIER)
    assert memory["parameters"]["REGMODE_A"] == memory["parameters"]["REGMODE_B"] == "OUTREG"
    assert "REG_INPUTA_CLK" not in cell["parameters"] and "REG_OUTPUT_CLK" in cell["parameters"]
    assert len(kinds(packed, FLIP_FLOP)) == 6 + 5  # of the address, and of the other operand


def test_a_word_that_is_chosen_from_stays():
    netlist = Netlist()
    address = netlist.wires(4)
    word = netlist.table(address)
    netlist.registers([word[0]], clear=word[1])
    packed = check(netlist, address, netlist.registers(word))
    assert kinds(packed, BLOCK_RAM)[0]["parameters"]["REGMODE_A"] == "NOREG"


def test_every_element_of_the_arrays_has_a_place_of_its_own():
    names = [f"u.systolic_array_{array}.pe_{number}.product" for array in (0, 1) for number in range(ARRAY * ARRAY)]
    cells = {name: {"type": MULTIPLIER} for name in names} | {"u.scale_0.product": {"type": MULTIPLIER}}
    place_arrays(cells)
    places = [cells[name]["attributes"]["BEL"] for name in names]
    assert len(set(places)) == 2 * ARRAY * ARRAY and "attributes" not in cells["u.scale_0.product"]
    there = {f"X{column}/Y{row}/MULT18_{number}" for row in ROWS for column, number in COLUMNS}
    assert set(places) <= there and len(there) == 156
    # Partial sums go from row to row: never far, but where the array turns into another row of the device.
    where = [tuple(int(part) for part in re.findall(r"\d+", place)[:2]) for place in places]
    for array in (0, 1):
        for row, column in itertools.product(range(ARRAY - 1), range(ARRAY)):
            (x, y), (next_x, next_y) = (where[64 * array + ARRAY * (row + step) + column] for step in (0, 1))
            assert abs(x - next_x) <= 6 and abs(y - next_y) in (0, 24)


def test_a_finished_file(tmp_path):
    """Registers move on every device; places are for 8x8 arrays on the 85F."""
    netlist = Netlist()
    netlist.registers(netlist.multiplier(netlist.registers(netlist.wires(8)), netlist.registers(netlist.wires(8))))
    cells = {f"u.systolic_array_0.pe_9.{name}": cell for name, cell in netlist.cells.items()}
    path = tmp_path / "top.json"
    for config, places, placed in (("base", True, True), ("base", False, False), ("tiny", True, False)):
        path.write_text(json.dumps({"modules": {"top": {"cells": cells}}}))
        finish_netlist(path, "top", NAMED[config], places)
        (cell,) = json.loads(path.read_text())["modules"]["top"]["cells"].values()
        assert "REG_OUTPUT_CLK" in cell["parameters"] and ("attributes" in cell) == placed
