"""Words between writer and memory, and what the last ones mean."""

import random

import pytest

from golden.config import NAMED
from hw.ports import WritePort
from hw.signals import bit
from hw.write_slice import write_slice
from tests.hw.flow import FLOWS, either
from tests.hw.harness import BACKENDS, run

PARTS = ("address", "data", "strobe")
OUTPUTS = ("offered_ready", "write_valid", *(f"write_{part}" for part in PARTS), "block_stored", "done")


def ports(config):
    bits = ("reset", "block_end", "run_end", "block_stored", "done")
    return {name: bit() for name in bits} | {"offered": WritePort(config), "write": WritePort(config)}


class Bench:
    """Random words, some of them the last of a block or of a run, on their way through."""

    def __init__(self, config, seed=0):
        self.config, self.rng = config, random.Random(seed)
        self.sent, self.taken, self.cycles = [], [], []

    def word(self):
        sizes = WritePort(self.config)
        values = [self.rng.choice((0, (1 << len(getattr(sizes, part))) - 1, None)) for part in PARTS]
        values = [
            self.rng.getrandbits(len(getattr(sizes, part))) if value is None else value
            for part, value in zip(PARTS, values, strict=True)
        ]
        return (*values, self.rng.randrange(2), self.rng.randrange(2))

    def stimulus(self, count, idle, stalls):
        yield {"reset": 1}
        word, cycle = None, 0
        while len(self.taken) < count:
            if word is None and len(self.sent) < count and either(self.rng, idle, 0.4):
                word = self.word()
            ready = int(either(self.rng, stalls, 0.4))
            shown = word or (0, 0, 0, 0, 0)
            inputs = dict(zip((*(f"offered_{part}" for part in PARTS), "block_end", "run_end"), shown, strict=True))
            seen = yield inputs | {"reset": 0, "offered_valid": int(word is not None), "write_ready": ready}
            if seen["write_valid"] and ready:
                out = (*(seen[f"write_{part}"] for part in PARTS), seen["block_stored"], seen["done"])
                self.taken.append(out)
                self.cycles.append(cycle)
            else:
                assert not seen["block_stored"] and not seen["done"]
            if word is not None and seen["offered_ready"]:
                self.sent.append(word)
                word = None
            cycle += 1
            assert cycle < 20 * count + 50, "words are missing"


@FLOWS
@pytest.mark.parametrize("name", ["tiny", "base"])
def test_words_and_events(name, idle, stalls, backend):
    bench = Bench(NAMED[name])
    run(write_slice, ports(bench.config), lambda: bench.stimulus(150, idle, stalls), OUTPUTS, backend)
    assert bench.taken == bench.sent and len(bench.sent) == 150
    assert {word[3:] for word in bench.sent} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    if not idle and not stalls:
        assert [b - a for a, b in zip(bench.cycles, bench.cycles[1:], strict=False)] == [1] * 149


@BACKENDS
def test_reset_drops_what_is_held(backend):
    config = NAMED["tiny"]
    inputs = {
        "reset": [1, 0, 0, 0, 0, 1, 0, 0, 0], "offered_valid": [0, 1, 1, 1, 0, 0, 0, 0, 0], "offered_address": 5,
        "block_end": 1, "run_end": 1, "write_ready": [0, 0, 0, 0, 0, 0, 1, 1, 1],
    }  # fmt: skip
    trace = run(write_slice, ports(config), inputs, OUTPUTS, backend)
    assert trace["write_valid"][4:6] == [1, 1]
    assert not any(trace["write_valid"][6:]) and not any(trace["done"])
