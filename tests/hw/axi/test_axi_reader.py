"""The reader between an engine that asks for rows and a slave with a word for each address."""

import random
from dataclasses import replace

import pytest

from golden.config import NAMED
from hw.axi.axi_ports import AxiMaster, BusState
from hw.axi.axi_reader import EAGER, MAX_READS, axi_reader
from hw.ports import ReadPort
from hw.signals import bit, unsigned
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

NARROW = replace(NAMED["tiny"], name="narrow", word_bytes=8)
WIDE = replace(NAMED["wide"], memory_bytes=1 << 16)
LONG = replace(NAMED["q88"], name="long", word_bytes=8, max_dim=256, memory_bytes=1 << 16)  # rows of 64 words
BASE = 0x87_6543_2000
PAGE = 4096
OUTPUTS = [
    *(f"m_axi_{name}" for name in ("arvalid", "araddr", "arlen", "arsize", "arburst", "arid", "arcache", "arprot")),
    "m_axi_rready", "read_ready", "read_data_valid", "read_data", "state_drained", "state_failed", "state_decode",
]  # fmt: skip


def word_at(address: int, bits: int) -> int:
    """What the memory holds at a byte address."""
    return (address * 0x9E3779B97F4A7C15 ^ 0x5A5A) & ((1 << bits) - 1)


class Bench:
    """Requests, a slave, and what is seen.

    requests: (word address, bytes) of rows, or an integer: that many cycles of pause. share: of the cycles in which AR
    is not taken, R has a gap, and the engine asks for nothing.
    """

    def __init__(self, config, requests, idle=False, stalls=False, latency=3, seed=0):
        self.config, self.requests, self.idle, self.stalls = config, list(requests), idle, stalls
        self.latency, self.rng = latency, random.Random(seed)
        self.bursts, self.words, self.failures, self.drained, self.accepted = [], [], [], [], []
        self.stop, self.hold, self.responses, self.resets = range(0), range(0), {}, ()
        self.cycles, self.before = 0, (0, 0)  # before: requests accepted and words seen when stop ended
        self.most = 0  # bursts under way at once

    def expected(self):
        size, bits = self.config.word_bytes, self.config.word_bits
        return [
            word_at(BASE + (first + word) * size, bits)
            for first, count in (item for item in self.requests if not isinstance(item, int))
            for word in range(-(-count // size))
        ]

    def stimulus(self):
        size, beats, waiting = self.config.word_bytes, [], None
        todo, pause, offered, quiet, answered, under_way = list(self.requests), 0, None, 0, 0, 0
        for cycle in range(20_000):
            self.cycles = cycle
            if pause:
                pause -= 1
            elif cycle and offered is None and todo and either(self.rng, self.idle):
                offered = todo.pop(0)
                if isinstance(offered, int):
                    pause, offered = offered, None
            beat = beats[0] if beats and beats[0][0] <= cycle and either(self.rng, self.stalls, 0.6) else None
            stopped = cycle in self.stop
            if stopped:
                self.before = len(self.accepted), len(self.words)
            inputs = {
                "reset": int(cycle == 0 or cycle in self.resets), "stop": int(stopped),
                "hold": int(cycle in self.hold), "base": BASE,
                "read_valid": int(offered is not None and not stopped),
                "m_axi_arready": int(either(self.rng, self.stalls, 0.4)), "m_axi_rvalid": int(beat is not None),
                "m_axi_rid": 0, "m_axi_rresp": 0,
            }  # fmt: skip
            if offered:
                inputs["read_address"], inputs["read_bytes"] = offered
            if beat:
                inputs["m_axi_rdata"], inputs["m_axi_rlast"] = word_at(beat[1], self.config.word_bits), beat[2]
                inputs["m_axi_rresp"], inputs["m_axi_rid"] = self.responses.get(answered, (0, 0))
            seen = yield inputs
            if inputs["reset"]:
                beats, waiting, under_way = [], None, 0
                offered, self.accepted, self.words = None, [], []
                continue
            self.drained.append(seen["state_drained"])
            if offered and seen["read_ready"] and inputs["read_valid"]:
                self.accepted.append(offered)
                offered = None
            if seen["read_data_valid"]:
                self.words.append(seen["read_data"])
            if seen["state_failed"]:
                self.failures.append((cycle, seen["state_decode"]))
            if beat:
                assert seen["m_axi_rready"]
                beats.pop(0)
                under_way -= beat[2]
                answered += 1
            if seen["m_axi_arvalid"]:
                burst = seen["m_axi_araddr"], seen["m_axi_arlen"] + 1
                assert waiting in (None, burst), "AR changed"
                fresh = waiting is None
                waiting = burst
                assert not (fresh and (cycle - 1 in self.stop)), "a burst began after stop"
                assert not (fresh and cycle - 1 in self.hold), "a burst began on hold"
                if inputs["m_axi_arready"]:
                    self._check(seen, *burst)
                    waiting = None
                    address, count = burst
                    under_way += 1
                    self.most = max(self.most, under_way)
                    start = max(cycle + self.latency, beats[-1][0] + 1 if beats else 0)
                    beats += [
                        (start + beat, address + beat * size, int(beat == count - 1)) for beat in range(count)
                    ]
            else:
                assert waiting is None, "ARVALID fell"
            done = not todo and offered is None and not pause and not beats and waiting is None
            quiet = quiet + 1 if done else 0
            if quiet > 12:
                return
        raise AssertionError("it never ends")

    def _check(self, seen, address, count):
        size = self.config.word_bytes
        self.bursts.append((address, count))
        assert address // PAGE == (address + count * size - 1) // PAGE and count <= 256
        assert (1 << seen["m_axi_arsize"], seen["m_axi_arburst"]) == (size, 1)
        assert (seen["m_axi_arid"], seen["m_axi_arcache"], seen["m_axi_arprot"]) == (0, 3, 0)

    def run(self, backend):
        ports = {"reset": bit(), "stop": bit(), "hold": bit(), "base": unsigned(40)}
        ports |= {"read": ReadPort(self.config), "m_axi": AxiMaster(self.config), "state": BusState()}
        run(axi_reader, ports, self.stimulus, OUTPUTS, backend, {"config": self.config})
        return self


def rows(config, rng, count):
    """Loads of some rows each, with strides of the row or more, anywhere in memory."""
    requests = []
    while len(requests) < count:
        size = rng.choice([1, config.word_bytes, rng.randint(1, config.burst_words * config.word_bytes)])
        words = -(-size // config.word_bytes)
        stride, number = words + rng.choice([0, 0, 0, 1]), rng.randint(1, 12)
        first = rng.randrange(config.memory_words - number * stride)
        requests += [(first + row * stride, size) for row in range(number)]
        if rng.random() < 0.2:
            requests.append(rng.randint(1, 30))
    return requests


@FLOWS
@pytest.mark.parametrize("config", [NARROW, WIDE, LONG], ids=lambda config: config.name)
def test_every_word_in_order(config, idle, stalls, backend):
    bench = Bench(config, rows(config, random.Random(1), 60), idle, stalls)
    bench.run(backend)
    assert bench.words == bench.expected()
    beats = sum(count for _, count in bench.bursts)
    assert beats == len(bench.words) and bench.drained[-1]
    assert bench.most > 4 or idle


@BACKENDS
@pytest.mark.parametrize("config", [NARROW, LONG], ids=lambda config: config.name)
def test_rows_across_a_page(config, backend):
    """At each distance from it: cut there and nowhere else."""
    size, words = config.word_bytes, config.burst_words
    page = PAGE // size
    requests = []
    for before in range(words + 1):
        requests += [(page - before, words * size), 60]  # the pause: nothing joins
    bench = Bench(config, requests).run(backend)
    assert bench.words == bench.expected()
    cut = [(BASE + PAGE - before * size, before) for before in range(1, words)]
    assert [burst for burst in bench.bursts if burst[1] < words and burst[0] < BASE + PAGE] == cut
    assert len(bench.bursts) == 2 * (words - 1) + 2


@BACKENDS
@pytest.mark.parametrize("config", [NARROW, WIDE], ids=lambda config: config.name)
def test_rows_in_a_row_become_long_bursts(config, backend):
    """The first ones leave at once, the others join, up to the next multiple of 256 beats."""
    size, words = config.word_bytes, config.row_words
    count = 300
    bench = Bench(config, [(row * words, words * size) for row in range(count)], latency=400).run(backend)
    assert bench.words == bench.expected()
    eager = [(BASE + row * words * size, words) for row in range(EAGER)]
    rest = EAGER * words
    assert bench.bursts[: EAGER + 1] == [*eager, (BASE + rest * size, 256 - rest)]
    assert bench.bursts[EAGER + 1] == (BASE + 256 * size, min(256, count * words - 256))


@BACKENDS
def test_rows_leave_at_once_while_little_is_under_way(backend):
    """Though the row after it follows in memory."""
    rows = [(2 * row, 16) for row in range(24)]
    bench = Bench(NARROW, [*rows[:2], 40, *rows[2:4], 40, *rows[4:]], latency=25).run(backend)
    assert [count for _, count in bench.bursts] == [2] * (4 + EAGER) + [2 * (20 - EAGER)]


@BACKENDS
@pytest.mark.parametrize("latency", [30, 80])
def test_a_burst_a_cycle(latency, backend):
    """Rows of one word with gaps between them: nothing can be joined, and 30 of latency do not matter, 80 do."""
    requests = [(2 * row, 1) for row in range(200)]
    bench = Bench(NARROW, requests, latency=latency).run(backend)
    assert bench.words == bench.expected() and len(bench.bursts) == 200
    assert MAX_READS - 2 <= bench.most <= MAX_READS
    assert (bench.cycles < 200 + 60) == (latency == 30)


@BACKENDS
def test_the_end_of_the_memory(backend):
    """Its last word, and then its first, which does not follow."""
    bench = Bench(NARROW, [(NARROW.memory_words - 2, 16), (0, 16)], latency=20).run(backend)
    assert bench.words == bench.expected() and [count for _, count in bench.bursts] == [2, 2]


@BACKENDS
@pytest.mark.parametrize("response, decode", [((2, 0), 0), ((3, 0), 1), ((0, 1), 1)])
@pytest.mark.parametrize("beat", [0, 7, 19])
def test_errors(response, decode, beat, backend):
    """Reported once; EXOKAY is none."""
    bench = Bench(NARROW, [(row * 2, 16) for row in range(10)])
    bench.responses = {beat: response, 3: (1, 0)}
    bench.run(backend)
    assert [kind for _, kind in bench.failures] == [decode]


@BACKENDS
def test_hold(backend):
    """Nothing begins, nothing is lost."""
    bench = Bench(NARROW, rows(NARROW, random.Random(2), 40), stalls=True)
    bench.hold = range(30, 90)
    bench.run(backend)
    assert bench.words == bench.expected()


@BACKENDS
@pytest.mark.parametrize("start", [*range(3, 16, 2), 30, 47])
def test_stop(start, backend):
    """What the bus has seen ends as promised, the rest is forgotten; drained says when; then all begins afresh."""
    requests = rows(NARROW, random.Random(start), 60)
    bench = Bench(NARROW, requests, stalls=bool(start % 2), latency=20, seed=start)
    bench.stop = range(start, start + 120)
    bench.run(backend)
    wanted, words = bench.expected(), bench.words
    assert len(words) == sum(count for _, count in bench.bursts) <= len(wanted) and bench.drained[start + 110]
    same = next((index for index, word in enumerate(words) if word != wanted[index]), len(words))
    assert words == wanted[:same] + wanted[len(wanted) - len(words) + same :]
    assert len(bench.accepted) == sum(not isinstance(item, int) for item in bench.requests)
    requests, seen = bench.before
    assert words[seen:] == Bench(NARROW, bench.accepted[requests:]).expected()


@BACKENDS
@pytest.mark.parametrize("moment", [5, 9, 20, 33])
def test_reset(moment, backend):
    """In the middle, with the slave: everything is forgotten."""
    bench = Bench(NARROW, rows(NARROW, random.Random(moment), 40), stalls=True, seed=moment)
    bench.resets = (moment, moment + 1)
    bench.run(backend)
    assert bench.words == Bench(NARROW, bench.accepted).expected()
