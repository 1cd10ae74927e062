"""The memory of a board against the script of tests/hw/test_memory.py, at its own latency."""

import pytest

from golden.config import NAMED
from hw.block_memory import block_memory, first_word_latency, host_latency
from hw.ports import ReadPort, WritePort
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import FLOWS
from tests.hw.harness import BACKENDS, run
from tests.hw.test_memory import Script

OUTPUTS = ("read_ready", "write_ready", "read_data_valid", "read_data", "host_q")
IGNORED = "latency", "stall", "clear"


class BlockScript(Script):
    def __init__(self, name, seed=0):
        config = NAMED[name]
        self.look_latency = host_latency(config)
        super().__init__(config, first_word_latency(config), seed)

    def check(self, backend):
        config = self.config
        signals = {
            "reset": bit(), "read": ReadPort(config), "write": WritePort(config), "host_write": bit(),
            "host_address": unsigned(index_bits(config.memory_words)), "host_data": unsigned(config.word_bits),
            "host_q": unsigned(config.word_bits),
        }  # fmt: skip
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0] if name not in IGNORED}
        trace = run(block_memory, signals, inputs, OUTPUTS, backend, {"config": config})
        checked = 0
        for cycle in range(1, len(self.inputs)):
            ready = trace["read_ready"][cycle], trace["write_ready"][cycle]
            assert ready == self.expected[cycle][:2], f"cycle {cycle}"
            word = trace["read_data"][cycle] if trace["read_data_valid"][cycle] else None
            assert word == self.answers.get(("read", cycle)), f"cycle {cycle}"
            if ("look", cycle) in self.answers:
                checked += 1
                assert trace["host_q"][cycle] == self.answers["look", cycle], f"cycle {cycle}"
        return checked


@FLOWS
@pytest.mark.parametrize("name", ["tiny", "base", "wide"])
def test_random_traffic(name, idle, stalls, backend):
    script = BlockScript(name)
    script.traffic(200, idle, stalls)
    script.settle()
    script.dump()
    script.settle()
    assert script.check(backend) >= script.area


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "base"])
def test_a_word_is_read_right_after_it_was_written(name, backend):
    """Each lane, in the cycle after; by the engine, and by the host."""
    script = BlockScript(name, seed=3)
    for strobe in range(1 << script.config.word_bytes // 2):
        assert script.cycle(write=(strobe % 8, script.word(), strobe)) == 2
        script.cycle(read=(strobe % 8, 1))
    script.cycle(host=(3, script.word()))
    script.cycle(look=3)
    script.settle()
    assert script.check(backend) == 1


@BACKENDS
@pytest.mark.parametrize("run_on", [0, 1, 2, 3, 5])
def test_reset_in_the_middle_of_a_burst(run_on, backend):
    """No word of it comes afterwards, the contents stay, and the next burst is served at once."""
    script = BlockScript("tiny")
    script.cycle(read=(8, 16))
    script.settle(run_on)
    script.cycle(reset=1)
    script.cycle(read=(2, 7))
    script.settle(20)
    script.dump()
    script.settle(20)
    script.check(backend)
