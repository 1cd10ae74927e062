"""The receiver: returned words to the buffers."""

import random

import pytest

from golden.config import KEY_SLOTS, NAMED, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS
from hw.loader import LOAD_K, LOAD_Q, LOAD_S, LOAD_V, LOADS
from hw.receiver import receiver
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import CONFIGS, IDLE, cycles_of
from tests.hw.harness import BACKENDS, run

KINDS = {LOAD_K: "k", LOAD_Q: "q", LOAD_V: "v", LOAD_S: "s"}
SLOTS = {LOAD_K: KEY_SLOTS, LOAD_Q: QUERY_SLOTS, LOAD_V: VALUE_SLOTS, LOAD_S: SCRATCH_SLOTS}


def most_rows(config, kind):
    return config.max_rows if kind in (LOAD_Q, LOAD_S) else config.array_keys


def ports(config):
    row_bits, words = max(config.max_rows, config.array_keys).bit_length(), config.burst_words.bit_length()
    signals = {name: bit() for name in ("reset", "load_push", "data_valid", "under_way")}
    signals |= {f"{name}_{event}": bit() for name in KINDS.values() for event in ("write", "done")}
    signals |= {"load_kind": unsigned(2), "load_rows": unsigned(row_bits), "done_rows": unsigned(row_bits)}
    signals["load_words"] = unsigned(words)
    signals |= {"data": unsigned(config.word_bits), "word": unsigned(config.word_bits)}
    signals["write_word"] = unsigned(index_bits(config.burst_words))
    for kind, name in KINDS.items():
        signals[f"{name}_row"] = unsigned(index_bits(SLOTS[kind] * most_rows(config, kind)))
    return signals


class Script:
    """Loads and returned words cycle by cycle, and the buffer writes and completions that must follow."""

    def __init__(self, config, seed):
        self.config, self.rng = config, random.Random(seed)
        self.pending, self.next_slot, self.ended = [], dict.fromkeys(KINDS, 0), False
        self.inputs, self.writes, self.completions, self.under_way = [], [], [], []
        self.reset()

    def reset(self):
        self.cycle(reset=1)
        self.next_slot, self.pending = dict.fromkeys(KINDS, 0), []
        self.fresh = 0  # loads requested in the cycle before

    def cycle(self, load=None, word=None, reset=0):
        kind, rows, words = load or (0, 0, 0)
        self.under_way.append(int(bool(self.loads() + (word is not None and self.ended))))
        self.inputs.append(
            {
                "reset": reset, "load_push": int(load is not None), "load_kind": kind, "load_rows": rows,
                "load_words": words, "data_valid": int(word is not None), "data": word or 0,
            }
        )  # fmt: skip
        self.fresh = int(load is not None)
        if load:
            slot, self.next_slot[kind] = self.next_slot[kind], (self.next_slot[kind] + 1) % SLOTS[kind]
            base = slot * most_rows(self.config, kind)
            places = [(base + row, index) for row in range(rows) for index in range(words)]
            self.pending += [(kind, place, place == places[-1], rows) for place in places]

    def answer(self, load=None):
        """The next word, and perhaps another load with it."""
        kind, (row, index), last, rows = self.pending.pop(0)
        word, after = self.rng.getrandbits(self.config.word_bits), len(self.inputs) + 1
        self.writes.append((after, KINDS[kind], row, index, word))
        if last:
            self.completions.append((after, KINDS[kind], rows))
        self.ended = last
        self.cycle(load, word)

    def loads(self):
        """Loads under way."""
        return sum(last for _, _, last, _ in self.pending)

    def draw(self):
        kind = self.rng.choice(list(KINDS))
        limit, words = most_rows(self.config, kind), self.config.burst_words
        rows = self.rng.choice((1, limit, self.rng.randint(1, min(limit, 6))))
        return kind, rows, self.rng.choice((1, words, self.rng.randint(1, words)))

    def check(self, backend):
        self.cycle()
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        signals = ports(self.config)
        outputs = [name for name in signals if name not in inputs]
        trace = run(receiver, signals, inputs, outputs, backend, after=2)
        writes, completions = [], []
        for name in KINDS.values():
            for cycle in cycles_of(trace[f"{name}_write"][1:]):
                at = cycle + 1
                place = trace[f"{name}_row"][at], trace["write_word"][at]
                writes.append((at, name, *place, trace["word"][at]))
            for cycle in cycles_of(trace[f"{name}_done"][1:]):
                completions.append((cycle + 1, name, trace["done_rows"][cycle + 1]))
        assert sorted(writes) == self.writes
        assert sorted(completions) == self.completions
        assert trace["under_way"][1 : len(self.under_way)] == self.under_way[1:]


@IDLE
@pytest.mark.parametrize("name", ["tiny", "lanes16", "base", "smallest"])
def test_random_loads(name, idle, backend):
    """Loads keep coming while words do, without a gap or with random ones."""
    script = Script(CONFIGS[name], seed=len(name))
    loads = [script.draw() for _ in range(14)]
    while loads or script.pending:
        load = loads.pop() if loads and script.loads() < LOADS and script.rng.random() < 0.2 else None
        # The first word of a load returns two cycles after its request, at the earliest.
        if script.loads() > script.fresh and not (idle and script.rng.random() < 0.5):
            script.answer(load)
        else:
            script.cycle(load)
    script.check(backend)


@BACKENDS
def test_as_many_loads_as_there_are_buffers(backend):
    """All loads requested before the first word returns, twice, so that every slot comes up and wraps."""
    script = Script(NAMED["tiny"], seed=1)
    for _ in range(3):
        kinds = [LOAD_K] * KEY_SLOTS + [LOAD_Q] * QUERY_SLOTS + [LOAD_V] * VALUE_SLOTS
        kinds += [LOAD_S] * SCRATCH_SLOTS
        script.rng.shuffle(kinds)
        assert len(kinds) == LOADS
        for kind in kinds:
            script.cycle((kind, script.rng.randint(1, 4), 1 + kind % 2))
        script.cycle()
        while script.pending:
            script.answer()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("words", [1, 2, 6, 11])
def test_reset_in_the_middle_of_a_load(words, backend):
    """What was under way is forgotten; the next load begins at word 0 of row 0 of slot 0."""
    script = Script(NAMED["tiny"], seed=words)
    for kind in KINDS:
        for _ in range(2):
            script.cycle((kind, 4, 3))
        script.cycle()
        while len(script.pending) > 20 - words and len(script.pending) > 1:
            script.answer()
        script.reset()
        for load in ((LOAD_K, 2, 3), (LOAD_Q, 5, 1), (LOAD_V, 3, 2), (LOAD_S, 2, 2)):
            script.cycle(load)
        script.cycle()
        while script.pending:
            script.answer()
    script.check(backend)
