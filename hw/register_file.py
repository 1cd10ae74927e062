"""Register file: the descriptor, the controls and what is counted, behind a bus of 32-bit words."""

from dataclasses import dataclass
from itertools import pairwise

from myhdl import always, always_comb, block

from hw.delay import delay
from hw.gating import gate, or_of
from hw.register_memory import register_memory
from hw.signals import bit, copy, join, to_signed, unsigned

REGISTER_LATENCY = 4  # of the register bus: cycles from address to q


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

    Latency: write to a field or pulse, two cycles; address to bus.q, REGISTER_LATENCY. Throughput: a read and a write
    a cycle. A read in the cycle of a write to its register means nothing, one a cycle later sees what was written.
    Indices without a register read as 0, writes to them do nothing.

    Ports: clk; reset: clears what is stored; bus: RegisterBus; control: Control (out); status: RunStatus; descriptor:
    Descriptor (out); counters: Counters.

    Parameters: registers: tuple of Register. Those of constant fields only come first, below all others.
    """
    bundles = {"control": control, "status": status, "descriptor": descriptor, "counters": counters}
    constants = [register for register in registers if register.fields[0].access == "constant"]
    others = [register for register in registers if register not in constants]
    table_bits = max(1, max(register.index for register in constants).bit_length())
    assert all(register.index >> table_bits for register in others), "registers of constant fields come first"
    table = [0] * (1 << len(bus.address))
    for register in constants:
        table[register.index] = register.fields[0].reset

    low_bits = len(bus.address) // 2
    lows = {register.index % (1 << low_bits): bit() for register in others}
    highs = {register.index >> low_bits: bit() for register in others}
    address, data, strobe = unsigned(len(bus.address)), unsigned(32), unsigned(4)
    at_constant, at_stored = bit(), unsigned(4)
    instances, words, known = [], [], [at_stored]
    for place, hit in lows.items():
        instances.append(at_place(clk, bus.address(low_bits, 0), hit, place))
    for place, hit in highs.items():
        instances.append(at_place(clk, bus.address(len(bus.address), low_bits), hit, place))
    for register in others:
        chosen = bit()
        instances.append(decode(highs[register.index >> low_bits], lows[register.index % (1 << low_bits)], chosen))
        shown, written = [], []  # with the lowest bit of each
        for field in register.fields:
            bundle, _, name = field.name.partition(".")
            signal = getattr(bundles[bundle], name)
            if field.access == "shown":
                shown.append((signal, field.low))
                continue
            held, is_pulse = unsigned(field.width), field.access == "pulse"
            pieces = pieces_of(field)
            instances += [join([piece for piece, _ in pieces], held), reinterpret(held, signal)]
            for piece, bottom in pieces:
                lane = bottom // 8
                instances.append(stored_piece(clk, reset, chosen, strobe, data, piece, bottom, is_pulse))
                if len(piece) == 8 and not is_pulse:
                    written.append((bit(), lane))
                    instances.append(was_written(clk, reset, chosen, strobe, written[-1][0], lane))
                elif not is_pulse:
                    shown.append((piece, bottom))
        for parts, gated in ((shown, words), (written, known)):
            if parts:
                word = unsigned(len(strobe if gated is known else data))
                gated.append(unsigned(len(word)))
                instances += [read_parts(parts, word), gate(clk, chosen, word, gated[-1])]

    one, other, lanes = unsigned(32), unsigned(32), unsigned(4)
    instances += [gather(clk, words[::2], one), gather(clk, words[1::2], other), gather(clk, known, lanes)]
    # Whole bytes that the bus wrote are read from a memory, once they have been written since the last reset.
    stored, late_stored, bytes_read = unsigned(32), unsigned(32), [unsigned(8) for _ in range(4)]
    instances += [
        register_memory(clk, strobe, address, data, address, stored, tuple(table)),
        delay(clk, stored, late_stored, 1),  # block RAM is slow
        [
            where(lanes(lane), late_stored(8 * lane + 8, 8 * lane), byte_read)
            for lane, byte_read in enumerate(bytes_read)
        ],
    ]
    read = unsigned(32)

    @always(clk.posedge)
    def accept():
        address.next = bus.address
        at_constant.next = bus.address[:table_bits] == 0
        data.next = bus.data
        strobe.next = 0
        if bus.write and bus.address[:table_bits] != 0:
            strobe.next = bus.strobe

    @always(clk.posedge)
    def constant():
        at_stored.next = 0
        if at_constant:
            at_stored.next = 0xF

    @always(clk.posedge)
    def answer():
        bus.q.next = one | other | read

    return instances, accept, constant, answer, join(bytes_read, read)


def pieces_of(field):
    """Signals for the parts of a field in each byte lane, with the lowest bit of each in the register."""
    high = field.low + field.width
    edges = [field.low, *range(field.low // 8 * 8 + 8, high, 8), high]
    return [(unsigned(top - bottom), bottom) for bottom, top in pairwise(edges)]


@block
def at_place(clk, part, hit, place):
    """hit: part of the address was `place` in the cycle before."""

    @always(clk.posedge)
    def compare():
        hit.next = part == place

    return compare


@block
def decode(high, low, chosen):
    """chosen: both halves of the address are those of a register. Combinational."""

    @always_comb
    def both():
        chosen.next = high and low

    return both


@block
def stored_piece(clk, reset, chosen, strobe, data, piece, low, is_pulse):
    """Bits of a field in one byte lane, from bit `low` of the register up, that the bus writes; is_pulse: what is
    written lasts one cycle. No module of its own, which would leave most of data and strobe unused."""
    high, lane = low + len(piece), low // 8

    if is_pulse:

        @always(clk.posedge)
        def last_a_cycle():
            if reset or not (chosen and strobe[lane]):
                piece.next = 0
            else:
                piece.next = data[high:low]

        return last_a_cycle

    @always(clk.posedge)
    def store():
        if reset:
            piece.next = 0
        elif chosen and strobe[lane]:
            piece.next = data[high:low]

    return store


@block
def was_written(clk, reset, chosen, strobe, written, lane):
    """written: a byte lane of a register has been written since reset."""

    @always(clk.posedge)
    def follow():
        if reset:
            written.next = False
        elif chosen and strobe[lane]:
            written.next = True

    return follow


@block
def read_parts(parts, word):
    """word: signals at their places, 0 between them. Combinational."""
    instances, rest = [], None
    for number, (signal, low) in enumerate(parts):
        placed = unsigned(len(word))
        if number == len(parts) - 1:
            placed = word
        bits = unsigned(len(signal))
        instances += [copy(signal, bits), place_part(rest, bits, placed, low)]
        rest = placed
    return instances


@block
def place_part(rest, bits, word, low):
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
def where(chosen, word, result):
    """result = word where chosen, or 0. Combinational."""

    @always_comb
    def choose():
        result.next = 0
        if chosen:
            result.next = word

    return choose


@block
def gather(clk, words, result):
    """result = OR of a list of words, a cycle later."""
    total = unsigned(len(result))
    return or_of(words, total), delay(clk, total, result, 1)


@block
def reinterpret(held, signal):
    """Drive a signal, signed or not, from its bits. Combinational."""
    if signal.min is not None and signal.min < 0:
        return to_signed(held, signal)
    return copy(held, signal)
