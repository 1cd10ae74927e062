"""Register file: the descriptor, the controls and what is counted, behind a bus of 32-bit words."""

from dataclasses import dataclass
from itertools import pairwise

from myhdl import always, always_comb, block

from hw.delay import delay
from hw.rom import rom
from hw.signals import bit, copy, join, to_signed, unsigned

GROUP = 8  # registers that one gate tree serves before a pipeline register


@dataclass(frozen=True)
class Field:
    """Bits of a register.

    name: "bundle.signal", an argument of register_file and a signal of it. access: "constant", "stored" (the bus writes
    it, the logic reads it), "pulse" (a one written lasts a cycle) or "shown" (the logic writes it).
    """

    name: str
    low: int
    width: int
    access: str
    reset: int = 0


@dataclass(frozen=True)
class Register:
    """A register: its name, its index (byte address / 4), its fields from the lowest bit up."""

    name: str
    index: int
    fields: tuple[Field, ...]


@block
def register_file(clk, reset, bus, control, status, descriptor, counters, registers):
    """Store what the bus writes, and show registers on it.

    Latency: write to a field or pulse, one cycle; address to bus.q, two. Throughput: a read and a write of one address
    a cycle. Indices without a register read as 0, writes to them do nothing.

    Ports: clk; reset: clears what is stored; bus: RegisterBus; control: Control (out); status: RunStatus; descriptor:
    Descriptor (out); counters: Counters.

    Parameters: registers: tuple of Register. Those of constant fields only come first, below all others.
    """
    bundles = {"control": control, "status": status, "descriptor": descriptor, "counters": counters}
    constants = [register for register in registers if register.fields[0].access == "constant"]
    others = [register for register in registers if register not in constants]
    table_bits = max(1, max(register.index for register in constants).bit_length())
    assert all(register.index >> table_bits for register in others), "registers of constant fields come first"
    table = [0] * (1 << table_bits)
    for register in constants:
        table[register.index] = register.fields[0].reset

    instances, gathered = [], []
    for start in range(0, len(others), GROUP):
        shown = None
        for register in others[start : start + GROUP]:
            chosen, word = bit(), unsigned(32)
            signals = [
                (getattr(bundles[bundle], name), field)
                for field in register.fields
                for bundle, _, name in [field.name.partition(".")]
            ]
            instances.append(decode(bus.address, chosen, register.index))
            for signal, field in signals:
                if field.access != "shown":
                    held = unsigned(field.width)
                    instances += [
                        stored_field(
                            clk, reset, chosen, bus.write, bus.data, bus.strobe, held, field.low,
                            field.access == "pulse",
                        ),
                        reinterpret(held, signal),
                    ]  # fmt: skip
            seen = [pair for pair in signals if pair[1].access != "pulse"]
            if seen:
                rest, shown = shown, unsigned(32)
                instances += [read_fields(seen, word), gather(rest, chosen, word, shown)]
        if shown is not None:
            gathered.append(unsigned(32))
            instances.append(delay(clk, shown, gathered[-1], 1))

    constant, at_constant = unsigned(32), bit()
    instances.append(rom(clk, bus.address(table_bits, 0), constant, tuple(table)))
    below, total = gathered[0], gathered[0]
    for word in gathered[1:]:
        below, total = total, unsigned(32)
        instances.append(both(below, word, total))

    @always(clk.posedge)
    def late_address():
        at_constant.next = bus.address[:table_bits] == 0

    @always(clk.posedge)
    def answer():
        if at_constant:
            bus.q.next = constant
        else:
            bus.q.next = total

    return instances, late_address, answer


@block
def decode(address, chosen, index):
    """chosen: the address is that of a register. Combinational."""

    @always_comb
    def compare():
        chosen.next = address == index

    return compare


@block
def stored_field(clk, reset, chosen, write, data, strobe, value, low, is_pulse):
    """A field from bit `low` up that the bus writes, byte by byte as strobe says, while chosen; is_pulse: what is
    written lasts one cycle. No module of its own, which would leave most of data and strobe unused."""
    high = low + len(value)
    edges = [low, *range(low // 8 * 8 + 8, high, 8), high]
    pieces = [unsigned(top - bottom) for bottom, top in pairwise(edges)]
    instances = [join(pieces, value)]
    for piece, bottom in zip(pieces, edges, strict=False):
        instances.append(stored_piece(clk, reset, chosen, write, data, strobe, piece, bottom, is_pulse))
    return instances


@block
def stored_piece(clk, reset, chosen, write, data, strobe, piece, low, is_pulse):
    """Bits of one byte lane of a register."""
    high, lane = low + len(piece), low // 8

    if is_pulse:

        @always(clk.posedge)
        def last_a_cycle():
            if reset or not (write and chosen and strobe[lane]):
                piece.next = 0
            else:
                piece.next = data[high:low]

        return last_a_cycle

    @always(clk.posedge)
    def store():
        if reset:
            piece.next = 0
        elif write and chosen and strobe[lane]:
            piece.next = data[high:low]

    return store


@block
def read_fields(pairs, word):
    """word: fields at their places, 0 between them. Combinational."""
    instances, rest = [], None
    for number, (signal, field) in enumerate(pairs):
        placed = unsigned(32)
        if number == len(pairs) - 1:
            placed = word
        bits = unsigned(field.width)
        instances += [copy(signal, bits), place_field(rest, bits, placed, field.low)]
        rest = placed
    return instances


@block
def place_field(rest, bits, word, low):
    """word = rest, and bits from bit `low` up. Combinational."""
    if rest is None and low == 0:
        return copy(bits, word)

    if rest is None:

        @always_comb
        def place_first():
            word.next = bits << low

        return place_first

    @always_comb
    def place():
        word.next = rest | (bits << low)

    return place


@block
def gather(rest, chosen, word, result):
    """result = rest, and word where chosen. Combinational."""
    if rest is None:

        @always_comb
        def gate():
            result.next = 0
            if chosen:
                result.next = word

        return gate

    @always_comb
    def gate_and_join():
        result.next = rest
        if chosen:
            result.next = rest | word

    return gate_and_join


@block
def both(a, b, result):
    """result = a | b. Combinational."""

    @always_comb
    def combine():
        result.next = a | b

    return combine


@block
def reinterpret(held, signal):
    """Drive a signal, signed or not, from its bits. Combinational."""
    if signal.min is not None and signal.min < 0:
        return to_signed(held, signal)
    return copy(held, signal)
