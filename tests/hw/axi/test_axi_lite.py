"""The AXI4-Lite slave, between masters whose channels take their time and a register bus."""

import random
from dataclasses import dataclass, field

import pytest

from hw.axi.axi_lite import axi_lite
from hw.axi.axi_ports import OKAY, SLVERR, AxiLite
from hw.ports import RegisterBus
from hw.register_file import REGISTER_LATENCY
from hw.signals import bit
from tests.hw.harness import BACKENDS, flat, run

OUTPUTS = [
    *(f"s_axi_{name}" for name in ("awready", "wready", "arready", "bvalid", "bresp", "rvalid", "rresp", "rdata")),
    "bus_address", "bus_write", "bus_data", "bus_strobe",
]  # fmt: skip


@dataclass
class Script:
    """A master and a register file, cycle by cycle.

    writes: (address, data, strobe); reads: addresses; delays: the most cycles that a channel waits, by name. after: a
    dictionary of what has to have been answered before a read is offered, {read: writes}.
    """

    writes: list
    reads: list
    delays: dict = field(default_factory=dict)
    seed: int = 0
    resets: tuple = ()
    after: dict = field(default_factory=dict)
    registers: dict = field(default_factory=dict)

    def __post_init__(self):
        self.answers, self.data, self.accesses, self.latency = [], [], [], {"b": [], "r": []}

    def stimulus(self):
        rng = random.Random(self.seed)
        sent = {"aw": 0, "w": 0, "ar": 0}
        total = {"aw": len(self.writes), "w": len(self.writes), "ar": len(self.reads)}
        wait = {name: rng.randint(0, self.delays.get(name, 0)) for name in ("aw", "w", "ar", "b", "r")}
        addresses, held, taken = [0] * REGISTER_LATENCY, {}, {"aw": [], "w": [], "ar": []}
        for cycle in range(100 + 60 * (len(self.writes) + len(self.reads))):
            inputs = {"reset": int(cycle == 0 or cycle in self.resets), "bus_q": self.registers.get(addresses[0], 0)}
            for name in sent:
                ready_to_go = sent[name] < total[name] and not wait[name]
                if name == "ar" and ready_to_go:
                    ready_to_go = len(self.answers) >= self.after.get(sent["ar"], 0)
                inputs[f"s_axi_{name}valid"] = int(ready_to_go)
                wait[name] = max(0, wait[name] - 1)
            if inputs["s_axi_awvalid"]:
                inputs["s_axi_awaddr"] = self.writes[sent["aw"]][0]
            if inputs["s_axi_wvalid"]:
                inputs["s_axi_wdata"], inputs["s_axi_wstrb"] = self.writes[sent["w"]][1:]
            if inputs["s_axi_arvalid"]:
                inputs["s_axi_araddr"] = self.reads[sent["ar"]]
            for name in ("b", "r"):
                inputs[f"s_axi_{name}ready"] = int(not wait[name])
            seen = yield inputs
            if inputs["reset"]:
                held.clear()
                continue
            for name in sent:
                if inputs[f"s_axi_{name}valid"] and seen[f"s_axi_{name}ready"]:
                    sent[name] += 1
                    taken[name].append(cycle)
                    wait[name] = rng.randint(0, self.delays.get(name, 0))
            self._answered(inputs, seen, held, wait, rng, cycle, taken)
            if seen["bus_write"]:
                self._write(seen["bus_address"], seen["bus_data"], seen["bus_strobe"])
            addresses = [*addresses[1:], seen["bus_address"]]
            if len(self.answers) == len(self.writes) and len(self.data) == len(self.reads):
                yield inputs
                return
        raise AssertionError(f"{len(self.answers)} writes and {len(self.data)} reads were answered")

    def _answered(self, inputs, seen, held, wait, rng, cycle, taken):
        """Answers stay as they are until they are taken."""
        for name, payload in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
            if not seen[f"s_axi_{name}valid"]:
                assert name not in held, f"{name}valid fell"
                if wait[name]:
                    wait[name] -= 1
                continue
            values = [seen[f"s_axi_{signal}"] for signal in payload]
            if name not in held:
                number = len(self.latency[name])
                begun = max(taken[request][number] for request in (("aw", "w") if name == "b" else ("ar",)))
                self.latency[name].append(cycle - begun)
            assert held.setdefault(name, values) == values
            if inputs[f"s_axi_{name}ready"]:
                del held[name]
                (self.answers if name == "b" else self.data).append(values[0] if name == "b" else tuple(values))
                wait[name] = rng.randint(0, self.delays.get(name, 0))
            elif wait[name]:
                wait[name] -= 1

    def _write(self, address, data, strobe):
        self.accesses.append((address, data, strobe))
        mask = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
        self.registers[address] = self.registers.get(address, 0) & ~mask | data & mask

    def run(self, backend):
        run(axi_lite, {"reset": bit(), "s_axi": AxiLite(), "bus": RegisterBus()}, self.stimulus, OUTPUTS, backend)
        return self


SKEWS = [{}, {"aw": 9}, {"w": 9}, {"b": 9}, {"r": 9, "ar": 3}, {"aw": 3, "w": 5, "b": 4, "ar": 6, "r": 7}]


@BACKENDS
@pytest.mark.parametrize("delays", SKEWS, ids=lambda delays: "_".join(delays) or "none")
def test_random_accesses(delays, backend):
    """Each write reaches its register once, in order; a read after it sees it."""
    rng = random.Random(len(delays))
    writes = [(4 * rng.randrange(128), rng.getrandbits(32), rng.getrandbits(4)) for _ in range(40)]
    reads = [writes[index][0] for index in range(40)]
    script = Script(writes, reads, delays, after={index: index + 1 for index in range(40)}).run(backend)
    assert script.answers == [OKAY] * 40
    assert script.accesses == [(address // 4, data, strobe) for address, data, strobe in writes]
    registers, now = {}, 0
    for index, (response, data) in enumerate(script.data):
        assert response == OKAY
        for address, value, strobe in writes[now : index + 1]:
            mask = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            registers[address] = registers.get(address, 0) & ~mask | value & mask
        now = index + 1
        # Later writes may have overtaken the read, but for the last.
        if index == 39 or reads[index] not in reads[index + 1 :]:
            assert data == registers[reads[index]]


@BACKENDS
def test_as_quick_as_it_says(backend):
    script = Script([(4, 1, 15)] * 6, []).run(backend)
    assert script.latency["b"] == [2] * 6
    script = Script([], [4]).run(backend)
    assert script.latency["r"] == [3 + REGISTER_LATENCY]


@BACKENDS
def test_beyond_the_registers(backend):
    """SLVERR, no access, no data."""
    writes = [(address, 0xFFFFFFFF, 15) for address in (0x200, 0x3FC, 0x800, 0xFFC, 0x1FC)]
    script = Script(writes, [0x200, 0x1FC, 0xFFC], registers={0: 7, 127: 9}).run(backend)
    assert script.answers == [SLVERR] * 4 + [OKAY]
    assert [access[0] for access in script.accesses] == [127]
    assert [response for response, _ in script.data] == [SLVERR, OKAY, SLVERR]
    assert script.data[0][1] == script.data[2][1] == 0


@BACKENDS
def test_bytes_within_a_register(backend):
    """Their address may be that of the byte; strobes below it are against AXI."""
    legal = [(8 + offset, 0xA0B0C0D0, 15 >> offset << offset) for offset in range(4)]
    wrong = [(8 + offset, 0, 1 << lane) for offset in range(1, 4) for lane in range(offset)]
    script = Script(legal + wrong, []).run(backend)
    assert script.answers == [OKAY] * 4 + [SLVERR] * 6
    assert script.accesses == [(2, data, strobe) for _, data, strobe in legal]
    script = Script([], [8, 9, 10, 11], registers={2: 0x44332211}).run(backend)
    assert script.data == [(OKAY, data) for data in (0x44332211, 0x44332200, 0x44330000, 0x44000000)]


@BACKENDS
def test_reads_and_writes_take_turns(backend):
    """Both wait all the time, and neither waits for long."""
    script = Script([(4 * index, index, 15) for index in range(20)], [4] * 20).run(backend)
    assert max(script.latency["b"]) <= 14 and max(script.latency["r"]) <= 14


@BACKENDS
@pytest.mark.parametrize("moment", range(3, 12))
def test_reset_at_any_moment(moment, backend):
    """What had been taken is forgotten, answers are withdrawn, and the slave works again."""
    inputs = {name: 0 for name in flat({"s_axi": AxiLite()}) if not name.endswith(("ready", "data", "resp"))}
    del inputs["s_axi_bvalid"], inputs["s_axi_rvalid"]
    inputs |= {"s_axi_bready": 0, "s_axi_rready": 0, "s_axi_wdata": 5, "reset": 0, "bus_q": 0}

    def stimulus():
        yield inputs | {"reset": 1}
        for cycle in range(1, 14):
            busy = {"s_axi_awvalid": 1, "s_axi_wvalid": int(moment % 2), "s_axi_arvalid": int(moment % 3 > 0)}
            seen = yield {name: int(value and cycle < moment) for name, value in busy.items()} | {
                "reset": int(moment == cycle)
            }
        assert not seen["s_axi_bvalid"] and not seen["s_axi_rvalid"] and not seen["bus_write"]
        assert seen["s_axi_awready"] and seen["s_axi_wready"] and seen["s_axi_arready"]
        written = 0
        yield {"s_axi_awvalid": 1, "s_axi_wvalid": 1, "s_axi_wdata": 77, "s_axi_wstrb": 15, "s_axi_bready": 1}
        for _ in range(5):
            seen = yield {"s_axi_awvalid": 0, "s_axi_wvalid": 0}
            written += seen["bus_write"] and seen["bus_data"] == 77
        assert written == 1

    run(axi_lite, {"reset": bit(), "s_axi": AxiLite(), "bus": RegisterBus()}, stimulus, OUTPUTS, backend)
