"""The writer between an engine's words and a slave that keeps them."""

import random

import pytest

from hw.axi.axi_ports import AxiMaster, BusState
from hw.axi.axi_writer import MAX_WRITES, axi_writer
from hw.ports import WritePort
from hw.signals import bit, unsigned
from tests.hw.axi.test_axi_reader import BASE, NARROW, PAGE, WIDE
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

SPAN = 16  # beats of the longest burst
OUTPUTS = [
    *(f"m_axi_{name}" for name in ("awvalid", "awaddr", "awlen", "awsize", "awburst", "awid", "awcache", "awprot")),
    *(f"m_axi_{name}" for name in ("wvalid", "wdata", "wstrb", "wlast", "bready")),
    "write_ready", "state_drained", "state_failed", "state_decode",
]  # fmt: skip


class Bench:
    """Words, a slave, and what is seen.

    words: (word address, data, strobe), or an integer: that many cycles of pause. stalls: of AW, W and B, the share of
    the cycles in which they stand still, 0 to 1.
    """

    def __init__(self, config, words, idle=False, stalls=(0, 0, 0), latency=3, seed=0):
        self.config, self.todo, self.idle, self.latency = config, list(words), idle, latency
        self.stalls, self.rng = dict(zip(("aw", "w", "b"), stalls, strict=True)), random.Random(seed)
        self.bursts, self.beats, self.failures, self.drained, self.accepted = [], [], [], [], []
        self.still = {name: range(0) for name in self.stalls}  # cycles in which a channel does not move at all
        self.stop, self.responses, self.resets = range(0), {}, ()
        self.cycles, self.most, self.before = 0, 0, (0, 0)  # before: words accepted and beats seen when stop ended
        self.first = {}  # cycle of the first word, AWVALID, WVALID

    def stimulus(self):
        todo, pause, offered, quiet = list(self.todo), 0, None, 0
        lengths, answers, waiting, number, taken = [], [], {}, 0, 0
        for cycle in range(20_000):
            self.cycles = cycle
            if pause:
                pause -= 1
            elif cycle and offered is None and todo and either(self.rng, self.idle, 0.7):
                offered = todo.pop(0)
                if isinstance(offered, int):
                    pause, offered = offered, None
            stopped = cycle in self.stop
            moves = {
                name: self.rng.random() >= share and cycle not in self.still[name]
                for name, share in self.stalls.items()
            }
            if stopped:
                self.before = len(self.accepted), len(self.beats)
            answer = bool(answers) and answers[0] <= cycle and moves["b"] and taken > 0
            inputs = {
                "reset": int(cycle == 0 or cycle in self.resets), "stop": int(stopped), "base": BASE,
                "write_valid": int(offered is not None and not stopped), "m_axi_awready": int(moves["aw"]),
                "m_axi_wready": int(moves["w"]), "m_axi_bvalid": int(answer), "m_axi_bresp": 0, "m_axi_bid": 0,
            }  # fmt: skip
            if offered:
                inputs["write_address"], inputs["write_data"], inputs["write_strobe"] = offered
            if answer:
                inputs["m_axi_bresp"], inputs["m_axi_bid"] = self.responses.get(number, (0, 0))
            seen = yield inputs
            if inputs["reset"]:
                lengths, answers, waiting, offered, taken = [], [], {}, None, 0
                self.bursts, self.beats, self.accepted = [], [], []
                continue
            self.drained.append(seen["state_drained"])
            # Accepted before this cycle, and not sent before the last: held, whatever the bus has seen.
            assert not (seen["state_drained"] and len(self.accepted) > len(self.beats) and not self.stop)
            if offered and inputs["write_valid"] and seen["write_ready"]:
                self.accepted.append(offered)
                self.first.setdefault("word", cycle)
                offered = None
            if seen["state_failed"]:
                self.failures.append(seen["state_decode"])
            if answer:
                assert seen["m_axi_bready"]
                answers.pop(0)
                number += 1
                taken -= 1
            for name, payload in (("aw", ("awaddr", "awlen")), ("w", ("wdata", "wstrb", "wlast"))):
                values = tuple(seen[f"m_axi_{signal}"] for signal in payload)
                if not seen[f"m_axi_{name}valid"]:
                    assert name not in waiting, f"{name}valid fell"
                    continue
                self.first.setdefault(name, cycle)
                fresh = name not in waiting
                assert waiting.setdefault(name, values) == values, f"{name} changed"
                if name == "aw" and fresh:
                    assert cycle - 1 not in self.stop, "a burst began after stop"
                    self._check(seen, values[0], values[1] + 1)
                    lengths.append(values[1] + 1)
                if name == "w":
                    assert lengths, "a beat that no burst has promised"
                if inputs[f"m_axi_{name}ready"]:
                    del waiting[name]
                    taken += name == "aw"
                    if name == "w":
                        self.beats.append(values[:2])
                        lengths[0] -= 1
                        assert values[2] == (lengths[0] == 0), "WLAST"
                        if not lengths[0]:
                            lengths.pop(0)
                            answers.append(cycle + self.latency)
            self.most = max(self.most, len(lengths) + len(answers))
            # Less than what is under way, and less than what is held.
            if lengths or answers or waiting:
                assert not seen["state_drained"], (cycle, lengths, answers, waiting)
            done = not todo and offered is None and not pause and not lengths and not answers and not waiting
            quiet = quiet + 1 if done else 0
            if quiet > 20:
                return
        raise AssertionError("it never ends")

    def _check(self, seen, address, count):
        size = self.config.word_bytes
        self.bursts.append((address, count))
        assert address // PAGE == (address + count * size - 1) // PAGE and count <= SPAN
        assert (1 << seen["m_axi_awsize"], seen["m_axi_awburst"]) == (size, 1)
        assert (seen["m_axi_awid"], seen["m_axi_awcache"], seen["m_axi_awprot"]) == (0, 3, 0)

    def written(self):
        """(word address, data, strobe), from bursts and beats."""
        size, beats = self.config.word_bytes, iter(self.beats)
        found = []
        for address, count in self.bursts:
            for beat in range(count):
                data, strobe = next(beats)
                lanes = [strobe >> 2 * lane & 3 for lane in range(size // 2)]
                assert set(lanes) <= {0, 3}
                found.append(
                    ((address - BASE) // size + beat, data, sum(1 << lane for lane, bits in enumerate(lanes) if bits))
                )
        assert not list(beats)
        return found

    def run(self, backend):
        ports = {"reset": bit(), "stop": bit(), "base": unsigned(40), "write": WritePort(self.config)}
        ports |= {"m_axi": AxiMaster(self.config), "state": BusState()}
        run(axi_writer, ports, self.stimulus, OUTPUTS, backend, {"config": self.config})
        return self


def words(config, rng, count):
    """Rows of some words each."""
    found = []
    while len(found) < count:
        number = rng.choice([1, 1, 2, rng.randint(1, 40)])
        first = rng.randrange(config.memory_words - number)
        for index in range(number):
            found.append((first + index, rng.getrandbits(config.word_bits), rng.randrange(1 << config.word_bytes // 2)))
            if rng.random() < 0.05:
                found.append(rng.randint(1, 12))
    return found


def in_a_row(first, count, strobe=15):
    return [(first + index, 3 * index + 1, strobe) for index in range(count)]


@FLOWS
@pytest.mark.parametrize("config", [NARROW, WIDE], ids=lambda config: config.name)
def test_every_word_once_and_in_order(config, idle, stalls, backend):
    bench = Bench(config, words(config, random.Random(1), 300), idle, (0.5, 0.5, 0.5) if stalls else (0, 0, 0))
    bench.run(backend)
    assert bench.written() == bench.accepted == [item for item in bench.todo if not isinstance(item, int)]
    assert bench.drained[-1] and 0 in bench.drained


@BACKENDS
@pytest.mark.parametrize("stalls", [(0.9, 0, 0), (0, 0.9, 0), (0, 0, 0.9), (0.9, 0, 0.9)])
def test_one_channel_slowed(stalls, backend):
    """Neither queue overflows, whichever channel it waits for."""
    bench = Bench(NARROW, words(NARROW, random.Random(2), 200), stalls=stalls).run(backend)
    assert bench.written() == bench.accepted and len(bench.accepted) >= 190


@BACKENDS
@pytest.mark.parametrize("channel", ["aw", "w", "b"])
def test_one_channel_stands_still(channel, backend):
    """The words that have been accepted by then wait, and none is lost."""
    bench = Bench(NARROW, words(NARROW, random.Random(3), 150))
    bench.still[channel] = range(40, 240)
    bench.run(backend)
    assert bench.written() == bench.accepted == [item for item in bench.todo if not isinstance(item, int)]


@BACKENDS
def test_bursts_end_where_they_must(backend):
    """At a multiple of 16, which pages are, too; where the next word lies elsewhere; after a pause, not before."""
    size = NARROW.word_bytes
    rows = in_a_row(3, 40) + in_a_row(PAGE // size - 5, 10) + [(100, 1, 1), (99, 2, 2), (100, 3, 4), (100, 4, 8)]
    rows += [*in_a_row(200, 2), 2, *in_a_row(202, 2), 12, *in_a_row(204, 2)]
    bench = Bench(NARROW, rows).run(backend)
    assert bench.written() == bench.accepted
    places = [((address - BASE) // size, count) for address, count in bench.bursts]
    assert places == [
        (3, 13), (16, 16), (32, 11), (PAGE // size - 5, 5), (PAGE // size, 5), (100, 1), (99, 2), (100, 1),
        (200, 4), (204, 2),
    ]  # fmt: skip


@BACKENDS
def test_the_word_after_the_last_of_the_memory(backend):
    """Word 0 does not follow the last one."""
    last = NARROW.memory_words - 1
    bench = Bench(NARROW, [(last, 1, 15), (0, 2, 15)]).run(backend)
    assert bench.written() == bench.accepted and [count for _, count in bench.bursts] == [1, 1]


@BACKENDS
@pytest.mark.parametrize("step", [1, 2])
def test_a_word_a_cycle(step, backend):
    """In long bursts, and in bursts of one beat, whose answers take 25 cycles."""
    count = 200
    bench = Bench(NARROW, [(step * index, index, 15) for index in range(count)], latency=25).run(backend)
    assert bench.written() == bench.accepted
    assert len(bench.bursts) == (13 if step == 1 else count)
    assert bench.cycles < count + 85
    if step == 2:
        assert 20 < bench.most <= MAX_WRITES


@BACKENDS
def test_no_more_than_it_can_count(backend):
    """Answers that take 80 cycles: 32 bursts are under way, and the next ones wait."""
    bench = Bench(NARROW, [(2 * index, index, 15) for index in range(150)], latency=80).run(backend)
    assert bench.written() == bench.accepted and bench.most == MAX_WRITES


@BACKENDS
def test_as_quick_as_it_says(backend):
    """The last word of a burst waits for four cycles; another burst that follows pushes it on."""
    bench = Bench(NARROW, in_a_row(5, 1)).run(backend)
    assert (bench.first["aw"] - bench.first["word"], bench.first["w"] - bench.first["word"]) == (8, 9)
    bench = Bench(NARROW, in_a_row(5, 1) + in_a_row(9, 1)).run(backend)
    assert (bench.first["aw"] - bench.first["word"], bench.first["w"] - bench.first["word"]) == (4, 5)


@BACKENDS
@pytest.mark.parametrize("response, decode", [((2, 0), 0), ((3, 0), 1), ((0, 1), 1)])
def test_errors(response, decode, backend):
    """Reported once; EXOKAY is none."""
    bench = Bench(NARROW, [(2 * index, index, 15) for index in range(10)])
    bench.responses = {4: response, 6: (1, 0)}
    bench.run(backend)
    assert bench.failures == [decode]


@BACKENDS
@pytest.mark.parametrize("start", [*range(3, 15, 2), 33, 60])
@pytest.mark.parametrize("slow", ["aw", "w", "b"])
def test_stop(start, slow, backend):
    """Each burst that the bus has seen is sent to its end and answered; nothing else of before comes; then afresh."""
    stalls = [0.8 if name == slow else 0.2 for name in ("aw", "w", "b")]
    bench = Bench(NARROW, words(NARROW, random.Random(start), 100), stalls=stalls, seed=start)
    bench.stop = range(start, start + 300)
    bench.run(backend)
    written, accepted = bench.written(), bench.accepted
    assert bench.drained[start + 290] and len(accepted) >= 100 - 20
    same = next((index for index, word in enumerate(written) if word != accepted[index]), len(written))
    assert written[same:] == accepted[len(accepted) - len(written) + same :] and written[-1] == accepted[-1]
    words_before, beats_before = bench.before
    assert written[beats_before:] == accepted[words_before:]


@BACKENDS
@pytest.mark.parametrize("moment", [5, 9, 20, 33])
def test_reset(moment, backend):
    """In the middle, with the slave: everything is forgotten."""
    bench = Bench(NARROW, words(NARROW, random.Random(moment), 100), stalls=(0.5, 0.5, 0.5), seed=moment)
    bench.resets = (moment, moment + 1)
    bench.run(backend)
    assert bench.written() == bench.accepted
