"""The memory behind the engine's ports, cycle by cycle."""

import random

import pytest

from golden.config import NAMED
from golden.job import MAX_LATENCY
from hw.memory import memory
from hw.ports import ReadPort, WritePort
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

OUTPUTS = ("read_ready", "write_ready", "read_data_valid", "read_data", "host_q", "bytes_read", "bytes_written")


class Script:
    """Inputs cycle by cycle, and what the memory has to do in each."""

    look_latency = 1  # of the host port

    def __init__(self, config, latency=0, seed=0):
        self.config, self.rng, self.latency = config, random.Random(seed), latency
        self.area = min(32, config.memory_words)  # words used, small so that reads meet writes
        self.words = [0] * config.memory_words
        self.inputs, self.expected, self.answers = [], [], {}
        self.left, self.next_address, self.read_bytes, self.write_bytes = 0, 0, 0, 0  # left: words of the burst
        self.request = self.offer = None  # a burst and a write that have not been taken yet
        self.cycle(reset=1, clear=1)
        for address in range(self.area):
            self.cycle(host=(address, self.word()))

    def word(self):
        return self.rng.getrandbits(self.config.word_bits)

    @property
    def ready(self):
        return self.left == 0

    def cycle(self, read=None, write=None, host=None, look=None, reset=0, clear=0, stall=0):
        """read: address and bytes; write: address, word and strobe; host: address and word; look: address.

        Returns what has been taken: 1 the burst, 2 the write.
        """
        now, ready = len(self.inputs), self.ready
        read_address, read_bytes = read or (0, 1)
        address, word, strobe = write or (0, 0, 0)
        host_address, host_word = host or (look or 0, 0)
        self.inputs.append(
            {
                "reset": reset, "clear": clear, "latency": self.latency, "stall": stall,
                "read_valid": int(read is not None), "read_address": read_address, "read_bytes": read_bytes,
                "write_valid": int(write is not None), "write_address": address, "write_data": word,
                "write_strobe": strobe, "host_write": int(host is not None), "host_address": host_address,
                "host_data": host_word,
            }
        )  # fmt: skip
        read_ready, write_ready = ready and not stall & 1, ready and read is None and not stall & 2
        taken = write_ready and write is not None
        self.expected.append((int(read_ready), int(write_ready), self.read_bytes, self.write_bytes))
        if look is not None and ready and read is None:
            self.answers["look", now + self.look_latency] = self.words[look]
        if taken:
            self.store(address, word, strobe)
            self.write_bytes += 2 * strobe.bit_count()
        if host:
            self.words[host_address] = host_word
        if read_ready and read:
            self.left, self.next_address = -(-read_bytes // self.config.word_bytes), read_address
            self.read_bytes += read_bytes
        if self.left and not stall & 1:
            self.answers["read", now + 1 + self.latency] = self.words[self.next_address % self.config.memory_words]
            self.left, self.next_address = self.left - 1, self.next_address + 1
        if reset:
            self.left = 0
            self.answers = {(kind, t): value for (kind, t), value in self.answers.items() if kind == "look" or t <= now}
        if clear or reset:
            self.read_bytes = self.write_bytes = 0
        return int(read_ready and read is not None) | taken << 1

    def store(self, address, word, strobe):
        for lane in range(self.config.word_bytes // 2):
            if strobe >> lane & 1:
                mask = 0xFFFF << 16 * lane
                self.words[address] = self.words[address] & ~mask | word & mask

    def settle(self, cycles=MAX_LATENCY + 10):
        for _ in range(cycles):
            self.cycle()

    def dump(self):
        """Look at every word."""
        for address in range(self.area):
            self.cycle(look=address)
        self.cycle()

    def burst(self):
        limit = self.config.max_dim * self.config.element_bytes
        size = self.rng.choice((1, self.config.word_bytes, limit, self.rng.randint(1, limit)))
        return self.rng.randrange(self.area), min(size, limit)

    def traffic(self, cycles, idle, stalls, held=0):
        """Random bursts, and beside them writes, that stay until they are taken; held: bits of stall that come up."""
        for _ in range(cycles):
            if self.request is None and self.ready and either(self.rng, idle, 0.3):
                self.request = self.burst()
            if self.offer is None and stalls:
                strobe = self.rng.getrandbits(self.config.word_bytes // 2)
                self.offer = (self.rng.randrange(self.area), self.word(), strobe)
            taken = self.cycle(self.request, self.offer, stall=self.rng.randrange(4) & held)
            if taken & 1:
                self.request = None
            if taken & 2:
                self.offer = None

    def check(self, backend):
        config = self.config
        signals = {
            "reset": bit(), "read": ReadPort(config), "write": WritePort(config), "latency": unsigned(7),
            "stall": unsigned(2),
            "host_write": bit(), "host_address": unsigned(index_bits(config.memory_words)),
            "host_data": unsigned(config.word_bits), "host_q": unsigned(config.word_bits),
            "bytes_read": unsigned(32), "bytes_written": unsigned(32), "clear": bit(),
        }  # fmt: skip
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        trace = run(memory, signals, inputs, OUTPUTS, backend, {"config": config})
        for cycle in range(1, len(self.inputs)):
            state = tuple(trace[name][cycle] for name in ("read_ready", "write_ready", "bytes_read", "bytes_written"))
            assert state == self.expected[cycle], f"cycle {cycle}"
            word = trace["read_data"][cycle] if trace["read_data_valid"][cycle] else None
            assert word == self.answers.get(("read", cycle)), f"cycle {cycle}"
            if ("look", cycle) in self.answers:
                assert trace["host_q"][cycle] == self.answers["look", cycle], f"cycle {cycle}"


@FLOWS
@pytest.mark.parametrize("name, latency", [("tiny", 0), ("tiny", 1), ("tiny", 64), ("base", 2), ("lanes16", 10)])
def test_random_traffic(name, latency, idle, stalls, backend):
    """Bursts follow each other, with writes in the cycles that they leave, in random order."""
    script = Script(NAMED[name], latency, seed=latency)
    script.traffic(200, idle, stalls)
    script.settle()
    script.dump()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("held, latency", [(1, 0), (2, 3), (3, 1), (3, 10)])
def test_stalls(held, latency, backend):
    """Held back, reads and writes are neither taken nor served, in the middle of a burst, too; nothing is lost."""
    script = Script(NAMED["tiny"], latency, seed=held)
    script.traffic(300, True, True, held)
    script.settle()
    script.dump()
    script.check(backend)


@BACKENDS
def test_a_write_in_a_cycle_without_reads(backend):
    """Stalled reads leave the port to writes only while no burst is requested or under way."""
    script = Script(NAMED["tiny"])
    assert script.cycle(write=(5, 1, 3), stall=1) == 2
    assert script.cycle(read=(4, 8), write=(5, 2, 3), stall=1) == 0
    assert script.cycle(read=(4, 8), write=(5, 2, 3)) == 1
    assert script.cycle(write=(5, 2, 3), stall=1) == 0
    assert script.cycle(write=(5, 2, 3), stall=0) == 0
    assert script.cycle(write=(5, 2, 3), stall=2) == 0
    assert script.cycle(write=(5, 2, 3), stall=1) == 2
    script.dump()
    script.check(backend)


def test_every_latency():
    script = Script(NAMED["tiny"], seed=1)
    for latency in range(MAX_LATENCY + 1):
        script.latency = latency
        script.traffic(60, idle=True, stalls=True)
        script.settle()
    script.check("myhdl")


@BACKENDS
@pytest.mark.parametrize("latency", [0, 1, 5])
def test_bursts_without_a_gap(latency, backend):
    """Latency is paid once: as many cycles of data as there are words."""
    script = Script(NAMED["tiny"], latency)
    for address in (0, 7, 3, 20, 20):
        script.cycle(read=(address, 4 * address % 13 + 1))
        while not script.ready:
            script.cycle(read=(31, 9) if script.left > 1 else None)  # not ready: not a burst
    script.settle()
    script.check(backend)
    arrivals = [cycle for kind, cycle in script.answers if kind == "read"]
    assert arrivals == list(range(arrivals[0], arrivals[0] + len(arrivals)))


@BACKENDS
def test_a_write_waits_for_the_reads(backend):
    """The burst that comes with the write reads the old word, the next one the new word."""
    script = Script(NAMED["tiny"], 3)
    assert script.cycle(read=(4, 12), write=(5, 0x12345678, 3)) == 1
    assert not script.cycle(write=(5, 0x12345678, 3))
    assert not script.cycle(write=(5, 0x12345678, 3))
    assert script.cycle(write=(5, 0x12345678, 3)) == 2
    script.cycle(read=(4, 12))
    script.settle()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "base"])
def test_every_strobe(name, backend):
    script = Script(NAMED[name])
    for strobe in range(1 << script.config.word_bytes // 2):
        assert script.cycle(write=(strobe, script.word(), strobe))
    script.dump()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("latency", [0, 1, 20, 64])
def test_reset_in_the_middle_of_a_burst(latency, backend):
    """No word of it comes afterwards, the memory keeps its contents, and the next burst is served at once."""
    script = Script(NAMED["tiny"], latency)
    for run_on in (0, 1, 3, 30):
        script.cycle(read=(8, 16))
        script.cycle()
        script.settle(run_on)
        script.cycle(reset=1)
        script.cycle(read=(2, 7))
        script.settle()
    script.dump()
    script.check(backend)


@BACKENDS
def test_addresses_wrap_at_the_end(backend):
    script = Script(NAMED["tiny"])
    script.cycle(read=(script.config.memory_words - 2, 16))
    script.settle()
    script.check(backend)


@BACKENDS
def test_clear_restarts_the_byte_counters(backend):
    script = Script(NAMED["tiny"])
    script.cycle(read=(1, 5))
    script.cycle(clear=1)
    script.cycle(read=(1, 5))
    script.cycle()
    script.cycle(write=(0, 1, 2))
    script.settle(3)
    script.check(backend)
    assert script.expected[-1][2:] == (5, 2)


@BACKENDS
@pytest.mark.parametrize("latency", [30, 64])
def test_a_run_at_a_longer_latency_gets_no_words_of_the_run_before(latency, backend):
    """A run may start as soon as the one before has ended, and its latency is its own."""
    script = Script(NAMED["tiny"], latency=0)
    script.cycle(read=(3, 16))
    script.settle(20)
    script.latency = latency
    script.cycle(clear=1)
    script.settle()
    script.check(backend)
