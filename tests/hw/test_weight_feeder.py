"""The weight feeder: order, masks and handshakes of the chunks of a tile."""

import random
from itertools import pairwise

import pytest

from golden import latency
from golden.config import KEY_SLOTS, VALUE_SLOTS
from hw.operand_buffer import row_chunks
from hw.signals import bit, index_bits, unsigned
from hw.weight_feeder import weight_feeder
from tests.hw.flow import CONFIGS, FLOWS, cycles_of
from tests.hw.harness import BACKENDS, run


def ports(config, slots):
    signals = {name: bit() for name in ("reset", "tile_done", "take", "ready", "freed", "shift", "first")}
    chunk = config.max_chunks.bit_length()
    return signals | {
        "tile_rows": unsigned(config.max_rows.bit_length()), "chunks": unsigned(chunk),
        "tail_mask": unsigned(config.array_depth), "read_row": unsigned(index_bits(slots * config.array_keys)),
        "read_chunk": unsigned(index_bits(row_chunks(config))), "mask": unsigned(config.array_depth),
    }  # fmt: skip


class Script:
    """Tiles that arrive and chunks that are taken, and from them what the feeder has to read, and when."""

    def __init__(self, config, slots, chunks, tail_elements):
        self.config, self.slots, self.chunks = config, slots, chunks
        self.all_elements = (1 << config.array_depth) - 1
        self.tail_mask = (1 << tail_elements) - 1
        self.inputs, self.reads, self.ready, self.releases, self.firsts = [], {}, set(), [], []
        self.restart()

    def restart(self):
        """Reset: no read is under way from the next cycle on, and slots count from 0."""
        now = len(self.inputs)
        self.inputs.append({"reset": 1, "tile_done": 0, "tile_rows": 0, "take": 0})
        self.reads = {t: read for t, read in self.reads.items() if t <= now}
        self.releases = [t for t in self.releases if t <= now]
        self.firsts = [t for t in self.firsts if t <= now]
        self.tiles, self.tile, self.chunk = [], 0, 0  # (cycle, keys) of each; the next chunk to be read
        self.begun, self.finish, self.taken = False, -1, True

    def cycle(self, tile=None, want=True):
        """One cycle: a tile of so many keys is complete; take the chunk if it is there and wanted. Returns if taken."""
        now, keys = len(self.inputs), self.config.array_keys
        loaded = self.begun and now >= self.finish and not self.taken
        take = loaded and want
        if loaded:
            self.ready.add(now)
        self.inputs.append({"reset": 0, "tile_done": int(tile is not None), "tile_rows": tile or 0, "take": int(take)})
        if take:
            self.taken = True
        # A new tile needs one cycle more: its record comes up after the release of the one before.
        known = self.tile < len(self.tiles) and self.tiles[self.tile][0] < now
        if self.taken and known and now >= self.finish + (self.chunk == 0):
            held, last = self.tiles[self.tile][1], self.chunk + 1 == self.chunks
            self.begun, self.taken, self.finish = True, False, now + keys
            self.firsts.append(now + 1)
            for index, key in enumerate(reversed(range(keys))):
                mask = 0 if key >= held else self.tail_mask if last else self.all_elements
                self.reads[now + 1 + index] = (self.tile % self.slots * keys + key, self.chunk, mask)
            if last:
                self.releases.append(self.finish)
            self.tile, self.chunk = (self.tile + 1, 0) if last else (self.tile, self.chunk + 1)
        if tile is not None:
            self.tiles.append((now, tile))
        return take

    @property
    def room(self):
        """Whether a buffer is free for another tile."""
        return len(self.tiles) - self.tile < self.slots - 1

    def check(self, backend):
        for _ in range(self.config.array_keys + latency.FEED + 2):
            self.cycle(want=False)
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        inputs |= {"chunks": self.chunks, "tail_mask": self.tail_mask}
        signals = ports(self.config, self.slots)
        outputs = [name for name in signals if name not in inputs]
        trace = run(weight_feeder, signals, inputs, outputs, backend, {"slots": self.slots, "config": self.config})
        end = len(self.inputs)
        resets = cycles_of(inputs["reset"])
        for name, cycles in (("ready", self.ready), ("freed", self.releases)):
            found = [t for t in cycles_of(trace[name]) if t not in resets]
            assert found == sorted(t for t in cycles if t < end and t not in resets), name
        for cycle, read in self.reads.items():
            if cycle < end:
                found = trace["read_row"][cycle], trace["read_chunk"][cycle], trace["mask"][cycle]
                assert found == read, f"cycle {cycle}"
        # shift and first come with the buffer's output; reset clears what is on the way.
        for name, cycles in (("shift", self.reads), ("first", self.firsts)):
            arrive = [t + latency.FEED for t in cycles if not any(t <= r < t + latency.FEED for r in resets)]
            assert cycles_of(trace[name])[: len(arrive)] == sorted(t for t in arrive if t < end), name


SHAPES = pytest.mark.parametrize(
    "name, slots, chunks, tail_elements",
    [("tiny", KEY_SLOTS, 4, 3), ("tiny", VALUE_SLOTS, 1, 1), ("lanes16", KEY_SLOTS, 5, 1), ("smallest", 4, 1, 1)],
)


@FLOWS
@SHAPES
def test_random_tiles(name, slots, chunks, tail_elements, idle, stalls, backend):
    """Ragged and whole tiles, as fast as there is room or with pauses; chunks taken at once or late."""
    script = Script(CONFIGS[name], slots, chunks, tail_elements)
    rng = random.Random(slots * chunks)
    keys = script.config.array_keys
    tiles = [rng.choice((keys, rng.randint(1, keys))) for _ in range(3 * slots)]
    while tiles or script.tile < 3 * slots or not script.taken:
        arrives = bool(tiles) and script.room and not (idle and rng.random() < 0.9)
        script.cycle(tiles.pop() if arrives else None, want=not (stalls and rng.random() < 0.8))
    script.check(backend)


@BACKENDS
def test_chunks_follow_each_other_without_a_gap(backend):
    """Taken with the last read: the reads of a tile are contiguous, and a tile follows after one cycle."""
    script = Script(CONFIGS["tiny"], KEY_SLOTS, 4, 4)
    script.cycle(4)
    script.cycle(4)
    while script.tile < 2 or not script.taken:
        script.cycle()
    script.check(backend)
    assert [after - before for before, after in pairwise(script.firsts)] == [4, 4, 4, 5, 4, 4, 4]


@BACKENDS
@pytest.mark.parametrize("reset_after", range(1, 12))
def test_reset_at_any_time(reset_after, backend):
    """Between, before and in the middle of chunks; the next tile is read from slot 0, chunk 0, last key first."""
    script = Script(CONFIGS["tiny"], KEY_SLOTS, 2, 3)
    for _ in range(2):
        script.cycle(3)
        script.cycle(4)
        for _ in range(reset_after):
            script.cycle(want=reset_after % 2)
        script.restart()
    script.cycle(2)
    while not (script.tile and script.taken):
        script.cycle()
    script.check(backend)
