import random

from gen.register_map import register_map
from golden.config import NAMED
from hw.ports import Control, Counters, Descriptor, RegisterBus, RunStatus
from hw.register_file import REGISTER_LATENCY, register_file
from hw.signals import bit
from tests.hw.harness import BACKENDS, flat, run

MAP = register_map(NAMED["base"], build=0xDEADBEEF, clock_hz=100_000_000, bus_bits=64)
FIELDS = [(register, field) for register in MAP.registers for field in register.fields]
WORDS = 128
Q_LATENCY = REGISTER_LATENCY


def ports():
    return {
        "reset": bit(), "bus": RegisterBus(), "control": Control(), "status": RunStatus(), "descriptor": Descriptor(),
        "counters": Counters(),
    }  # fmt: skip


def port(field):
    return field.name.replace(".", "_")


def bits_of(value, field):
    return value & (1 << field.width) - 1


def play(backend, cycles):
    """Run dictionaries of inputs, one a cycle; the trace of bus_q and of every signal that the block drives."""
    driven = [port(field) for _, field in FIELDS if field.access in ("stored", "pulse")]
    names = list(dict.fromkeys(name for cycle in cycles for name in cycle))
    held, columns = dict.fromkeys(names, 0), {name: [] for name in names}
    for cycle in cycles:
        held |= {"bus_write": 0} | cycle
        for name in names:
            columns[name].append(held[name])
    outputs, parameters = ["bus_q", *driven], {"registers": MAP.registers}
    return run(register_file, ports(), columns, outputs, backend, parameters, after=Q_LATENCY + 1)


@BACKENDS
def test_every_register(backend):
    """Random writes with random strobes, everywhere, and reads of everything; a model keeps what was written."""
    seed = 11
    print("seed", seed)
    draw = random.Random(seed)
    shown = {port(field): draw.getrandbits(field.width) for _, field in FIELDS if field.access == "shown"}
    by_index = {register.index: register for register in MAP.registers}
    stored = dict.fromkeys(by_index, 0)
    cycles, expected, pulses, ends = [shown | {"reset": 1}, {"reset": 0}], {}, {}, {}
    for _ in range(3):
        for index in draw.sample(range(WORDS), WORDS):
            data, strobe = draw.getrandbits(32), draw.choice([15, 15, draw.randrange(16)])
            if draw.random() < 0.2:
                data = draw.choice([0, 0xFFFFFFFF, 1 << 31])
            cycles.append({"bus_write": 1, "bus_address": index, "bus_data": data, "bus_strobe": strobe})
            mask = sum(0xFF << 8 * lane for lane in range(4) if strobe >> lane & 1)
            register = by_index.get(index)
            if register is None:
                continue
            if register.fields[0].access == "pulse":
                ones = data & mask
                pulses[len(cycles) + 1] = {port(field): ones >> field.low & 1 for field in register.fields}
            stored[index] = stored[index] & ~mask | data & mask
        for index in range(WORDS):
            value = 0
            for field in by_index[index].fields if index in by_index else ():
                value |= {
                    "constant": field.reset,
                    "stored": bits_of(stored[index] >> field.low, field),
                    "pulse": 0,
                    "shown": shown.get(port(field), 0),
                }[field.access] << field.low
            cycles.append({"bus_address": index})
            expected[len(cycles) - 1 + Q_LATENCY] = value
        for register, field in FIELDS:
            if field.access == "stored":
                ends[len(cycles), port(field)] = bits_of(stored[register.index] >> field.low, field)
    trace = play(backend, cycles)
    assert {cycle: trace["bus_q"][cycle] for cycle in expected} == expected
    for (cycle, name), value in ends.items():
        assert trace[name][cycle] & (1 << len(flat(ports())[name])) - 1 == value, name
    for name in ("control_start", "control_soft_reset", "control_clear_interrupt"):
        seen = [cycle for cycle, value in enumerate(trace[name]) if value]
        assert seen == [cycle for cycle, values in pulses.items() if values[name]], name


@BACKENDS
def test_position_is_signed_and_reset_clears(backend):
    index = MAP.address("descriptor.q_position") // 4
    write = {"bus_write": 1, "bus_address": index, "bus_data": 0xFFFFFFFE, "bus_strobe": 15}
    later = write | {"bus_data": 0x80000000}
    begin, again = {"reset": 0} | write, {"reset": 0} | later
    trace = play(backend, [{"reset": 1}, begin, {}, {}, {"reset": 1}, again, {}, {}, {}, {}])
    assert trace["descriptor_q_position"][3:9] == [-2, -2, 0, 0, -(1 << 31), -(1 << 31)]
    assert trace["bus_q"][6:11] == [0xFFFFFFFE, 0xFFFFFFFE, 0, 0, 0x80000000]
