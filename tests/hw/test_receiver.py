"""The receiver: returned words to the buffers."""

import random

import pytest

from golden.config import KEY_SLOTS, NAMED, QUERY_SLOTS, VALUE_SLOTS
from hw.loader import LOAD_K, LOAD_Q, LOAD_V, LOADS
from hw.receiver import receiver
from hw.signals import bit, index_bits, unsigned
from tests.hw.flow import IDLE, cycles_of
from tests.hw.harness import BACKENDS, run

KINDS = {LOAD_K: "k", LOAD_Q: "q", LOAD_V: "v"}
SLOTS = {LOAD_K: KEY_SLOTS, LOAD_Q: QUERY_SLOTS, LOAD_V: VALUE_SLOTS}


def ports(config):
    row_bits, words = config.max_rows.bit_length(), config.row_words.bit_length()
    bits = ("reset", "load_push", "data_valid", "k_write", "q_write", "v_write", "k_done", "q_done", "v_done")
    signals = {name: bit() for name in bits}
    signals |= {"load_kind": unsigned(2), "load_rows": unsigned(row_bits), "done_rows": unsigned(row_bits)}
    signals |= {"qk_words": unsigned(words), "v_words": unsigned(words)}
    signals |= {"data": unsigned(config.word_bits), "word": unsigned(config.word_bits)}
    signals["write_word"] = unsigned(index_bits(config.row_words))
    for kind, name in KINDS.items():
        held = config.max_rows if kind == LOAD_Q else config.array_keys
        signals[f"{name}_row"] = unsigned(index_bits(SLOTS[kind] * held))
    return signals


class Script:
    """Loads and returned words cycle by cycle, and the buffer writes and completions that must follow."""

    def __init__(self, config, qk_words, v_words, seed):
        self.config, self.rng = config, random.Random(seed)
        self.words = {LOAD_K: qk_words, LOAD_Q: qk_words, LOAD_V: v_words}
        self.inputs, self.writes, self.completions = [], [], []
        self.reset()

    def reset(self):
        self.next_slot, self.pending = dict.fromkeys(KINDS, 0), []
        self.fresh = 0  # loads requested in the cycle before
        self.cycle(reset=1)

    def cycle(self, load=None, word=None, reset=0):
        kind, rows = load or (0, 0)
        self.inputs.append(
            {
                "reset": reset, "load_push": int(load is not None), "load_kind": kind, "load_rows": rows,
                "data_valid": int(word is not None), "data": word or 0,
                "qk_words": self.words[LOAD_K], "v_words": self.words[LOAD_V],
            }
        )  # fmt: skip
        self.fresh = int(load is not None)
        if load:
            slot, self.next_slot[kind] = self.next_slot[kind], (self.next_slot[kind] + 1) % SLOTS[kind]
            held = self.config.max_rows if kind == LOAD_Q else self.config.array_keys
            places = [(slot * held + row, index) for row in range(rows) for index in range(self.words[kind])]
            self.pending += [(kind, place, place == places[-1], rows) for place in places]

    def answer(self, load=None):
        """The next word, and perhaps another load with it."""
        kind, (row, index), last, rows = self.pending.pop(0)
        word, after = self.rng.getrandbits(self.config.word_bits), len(self.inputs) + 1
        self.writes.append((after, KINDS[kind], row, index, word))
        if last:
            self.completions.append((after, KINDS[kind], rows))
        self.cycle(load, word)

    def loads(self):
        """Loads under way."""
        return sum(last for _, _, last, _ in self.pending)

    def draw(self):
        kind = self.rng.choice(list(KINDS))
        limit = self.config.max_rows if kind == LOAD_Q else self.config.array_keys
        return kind, self.rng.choice((1, limit, self.rng.randint(1, limit)))

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


@IDLE
@pytest.mark.parametrize("name, qk_words, v_words", [("tiny", 4, 1), ("tiny", 1, 3), ("lanes16", 8, 5), ("base", 2, 8)])
def test_random_loads(name, qk_words, v_words, idle, backend):
    """Loads keep coming while words do, without a gap or with random ones."""
    script = Script(NAMED[name], qk_words, v_words, seed=qk_words)
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
    script = Script(NAMED["tiny"], 1, 2, seed=1)
    for _ in range(3):
        kinds = [LOAD_K] * KEY_SLOTS + [LOAD_Q] * QUERY_SLOTS + [LOAD_V] * VALUE_SLOTS
        script.rng.shuffle(kinds)
        assert len(kinds) == LOADS
        for kind in kinds:
            script.cycle((kind, script.rng.randint(1, 4)))
        script.cycle()
        while script.pending:
            script.answer()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("words", [1, 2, 6, 11])
def test_reset_in_the_middle_of_a_load(words, backend):
    """What was under way is forgotten; the next load begins at word 0 of row 0 of slot 0."""
    script = Script(NAMED["tiny"], 3, 2, seed=words)
    for kind in (LOAD_K, LOAD_Q, LOAD_V):
        for _ in range(2):
            script.cycle((kind, 4))
        script.cycle()
        while len(script.pending) > 20 - words and len(script.pending) > 1:
            script.answer()
        script.reset()
        for load in ((LOAD_K, 2), (LOAD_Q, 5), (LOAD_V, 3)):
            script.cycle(load)
        script.cycle()
        while script.pending:
            script.answer()
    script.check(backend)
