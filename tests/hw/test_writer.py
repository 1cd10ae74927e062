"""The write side: chunks of O, (m, l), S and P into memory words."""

import random
from dataclasses import dataclass

import pytest

from golden.formats import MAX_BITS
from golden.layout import STATE_BYTES
from golden.schedule import Phase, walk
from hw.ports import Counters, WritePort
from hw.run_registers import Run
from hw.signals import bit, unsigned
from hw.writer import Leaving, writer
from tests.hw.descriptors import job, named, place_inside, random_job, run_fields
from tests.hw.flow import CONFIGS, FLOWS, cycles_of, either
from tests.hw.harness import BACKENDS, flat, pack, run, unpack

EVENTS = ("output_pop", "stored", "block_end", "run_end")
COUNTERS = ("o_bytes", "state_bytes", "s_write_bytes", "p_write_bytes")
OUTPUTS = (
    "write_valid", "write_address", "write_data", "write_strobe", *EVENTS, *(f"counters_{name}" for name in COUNTERS),
)  # fmt: skip


@dataclass
class Entry:
    """What is pushed, the words (address, lanes) that it has to become, what its last word means, and its (m, l)."""

    fields: dict
    words: list
    events: tuple
    counter: str
    state: int | None = None


def entries_of_run(config, run_, place, rng):
    """Chunks of O in the order of P.V, the final rows of each tile for chunk 0, the same rows for chunk 1, and so on;
    before them, with NAIVE, S and P row by row."""
    fields, tiles, scratch, made = run_fields(config, run_, place), list(walk(config, run_)), 0, []
    for tile in tiles:
        if tile.phase == Phase.MAXIMUM:
            continue
        if tile.phase in (Phase.SCORES, Phase.EXP):
            scratch = 0 if tile.first else scratch
            for row in range(tile.first_row, tile.row_end):
                at = fields["scratch_address"] + scratch * config.scratch_row_words
                last = tile.last and row + 1 == tile.row_end
                made.append(stored_row(config, tile, at, last, rng))
                scratch += 1
            continue
        for chunk in range(config.chunks(run_.value_dim)):
            for row in range(tile.first_row, tile.final_end):
                made.append(chunk_of_o(config, run_, fields, tile, chunk, row, tile is tiles[-1], rng))
    return made


def lanes_at(config, address, first, values):
    """Words (address, lanes) of 16-bit values that begin with lane number `first` behind an address."""
    words, width = {}, config.word_bytes // 2
    for index, value in enumerate(values, first):
        words.setdefault(address + index // width, {})[index % width] = value
    return list(words.items())


def noise(config, rng):
    return [rng.getrandbits(16) for _ in range(max(config.array_depth, config.array_keys))]


def stored_row(config, tile, address, last, rng):
    lanes = noise(config, rng)
    flags = {name: rng.randrange(2) for name in Leaving.FLAGS}  # those of O mean nothing
    flags |= {"stored": 1, "stored_p": int(tile.phase == Phase.EXP), "last": int(last)}
    words = lanes_at(config, address, 0, lanes[: tile.keys])
    fields = {"lanes": pack(lanes, 16), "elements": tile.keys} | flags
    return Entry(fields, words, (0, 1, int(last), 0), "p_write_bytes" if flags["stored_p"] else "s_write_bytes")


def chunk_of_o(config, run_, at, tile, chunk, row, end, rng):
    depth, lanes = config.array_depth, noise(config, rng)
    query, member = divmod(tile.start + row, run_.group)
    head = tile.kv_head * run_.group + member
    elements = min(depth, run_.value_dim - chunk * depth)
    last_final, last_chunk = row + 1 == tile.final_end, chunk + 1 == config.chunks(run_.value_dim)
    address = at["o_address"] + head * at["o_head_stride"] + query * at["o_stride"]
    words = lanes_at(config, address, chunk * depth, lanes[:elements])
    state = None
    if last_chunk:
        m = rng.choice((-(1 << MAX_BITS - 1), (1 << MAX_BITS - 1) - 1, -1, rng.getrandbits(MAX_BITS - 1)))
        total = rng.choice(((1 << config.sum_bits) - 1, rng.getrandbits(config.sum_bits)))
        state = total | (m & (1 << MAX_BITS) - 1) << config.sum_bits
        if run_.state:
            address = at["state_address"] + head * at["state_head_stride"] + query * at["state_stride"]
            words += lanes_at(config, address, 0, unpack(total | (m & (1 << 32) - 1) << 32, 16, 4))
    flags = {"stored": 0, "stored_p": 0, "last_chunk": last_chunk, "last_final": last_final, "last": tile.last}
    ends = last_final and last_chunk
    fields = {"lanes": pack(lanes, 16), "elements": elements, "end": end} | flags
    return Entry(fields, words, (1, 0, int(ends and tile.last), int(ends and end)), "o_bytes", state)


class Bench:
    """Runs one after the other on one writer."""

    def __init__(self, config, seed=0):
        self.config, self.rng = config, random.Random(seed)
        self.runs, self.taken, self.pushes = [], [], []
        self.signals = {name: bit() for name in ("reset", "clear", "begin_run", "push", "state_push", *EVENTS)} | {
            "run": Run(config), "leaving": Leaving(config), "state": unsigned(MAX_BITS + config.sum_bits),
            "write": WritePort(config), "counters": Counters(),
        }  # fmt: skip

    def add(self, run_, at_end=False):
        """Whether there is room for it; at_end: operands end with the memory."""
        place = place_inside(self.config, run_, self.rng, at_end)
        if place:
            self.runs.append((run_, place, entries_of_run(self.config, run_, place, self.rng)))
        return place is not None

    def stimulus(self, idle, stalls, fill):
        yield {"reset": 1}
        for run_, place, made in self.runs:
            fields = named("run", run_fields(self.config, run_, place))
            fields = {name: value for name, value in fields.items() if name in flat(self.signals)}
            yield fields | {"reset": 0, "clear": 1, "begin_run": 1}
            states = [entry.state for entry in made if entry.state is not None]
            left, queued, words, ahead, filling, cycle = list(made), 0, [], 0, fill, 0
            while left or queued:
                filling = filling and bool(left) and queued < self.config.output_rows
                push = bool(left) and queued < self.config.output_rows and (filling or either(self.rng, idle, 0.3))
                ready = int(not filling and either(self.rng, stalls, 0.4))
                inputs = {"clear": 0, "begin_run": 0, "push": int(push), "write_ready": ready}
                # m and l come before the row's last chunk, by a block of rows at most.
                early = bool(states) and ahead < self.config.p_rows and self.rng.random() < 0.5
                late = push and left[0].state is not None and ahead == 0
                inputs["state_push"] = int(early or late)
                if early or late:
                    inputs["state"] = states.pop(0)
                    ahead += 1
                if push:
                    entry = left.pop(0)
                    queued += 1
                    ahead -= entry.state is not None
                    inputs |= named("leaving", entry.fields)
                    self.pushes.append(cycle)
                seen = yield inputs
                events = tuple(seen[name] for name in EVENTS)
                if seen["write_valid"] and ready:
                    lanes, strobe = unpack(seen["write_data"], 16, self.config.word_bytes // 2), seen["write_strobe"]
                    word = {lane: value for lane, value in enumerate(lanes) if strobe >> lane & 1}
                    words.append((seen["write_address"], word, events))
                else:
                    assert not any(events[:2])
                queued -= events[0] + events[1]
                cycle += 1
                assert cycle < 60 * len(made) * self.config.row_words + 100, "words are missing"
            yield {"push": 0, "write_ready": 1, "state_push": 0}
            seen = yield {}
            assert not seen["write_valid"]
            self.taken.append((words, {name: seen[f"counters_{name}"] for name in COUNTERS}))

    def check(self, backend, idle=False, stalls=False, fill=False):
        stimulus = lambda: self.stimulus(idle, stalls, fill)  # noqa: E731
        trace = run(writer, self.signals, stimulus, OUTPUTS, backend, {"config": self.config})
        for (run_, _, made), (words, counters) in zip(self.runs, self.taken, strict=True):
            expected, counts = [], dict.fromkeys(COUNTERS, 0)
            for entry in made:
                expected += [(address, lanes, (0, 0, 0, 0)) for address, lanes in entry.words]
                expected[-1] = (*entry.words[-1], entry.events)
                payload = sum(2 * len(lanes) for _, lanes in entry.words)
                state = STATE_BYTES if run_.state and entry.state is not None else 0
                counts[entry.counter] += payload - state
                counts["state_bytes"] += state
            assert words == expected, run_
            assert counters == counts, run_
        return trace


@FLOWS
@pytest.mark.parametrize("name", ["tiny", "q88", "lanes16"])
def test_every_value_dimension(name, idle, stalls, backend):
    """Addresses, strobes, data, events and bytes; several tiles, tiles without final rows, with and without (m, l)."""
    bench = Bench(CONFIGS[name])
    for value_dim in range(1, bench.config.max_dim + 1):
        shape = bench.rng.choice(((3, 9, 2), (2, 20, 2), (5, 1, 2)))
        causal, state = bench.rng.random() < 0.5, bench.rng.random() < 0.5
        assert bench.add(job(*shape, value_dim=value_dim, causal=causal, q_position=2, state=state))
    bench.check(backend, idle, stalls)


@FLOWS
@pytest.mark.parametrize("name", ["tiny", "base", "wide", "lanes16", "smallest", "banks16", "parts16"])
def test_random_runs(name, idle, stalls, backend):
    """Heads, groups, windows, S and P, (m, l), in words of two bytes up to sixteen; rows anywhere."""
    bench = Bench(CONFIGS[name], seed=2)
    fields = {"state": False} if name == "smallest" else {}
    while len(bench.runs) < 6:
        bench.add(random_job(bench.config, bench.rng, 9, **fields))
    bench.check(backend, idle, stalls)


@BACKENDS
def test_the_end_of_memory(backend):
    """Where O, (m, l) and the scratch area end with it, the next address would be beyond."""
    bench = Bench(CONFIGS["tiny"])
    for dim, naive in ((1, False), (2, True), (1, True), (8, True), (2, False)):
        assert bench.add(job(6, 8, 3, value_dim=dim, naive=naive, state=True), at_end=True)
    bench.check(backend, stalls=True)


@BACKENDS
def test_state_in_words_of_two_bytes(backend):
    """Four words for (m, l), one for O."""
    bench = Bench(CONFIGS["smallest"])
    assert bench.add(job(4, 3, heads=2, state=True))
    bench.check(backend, idle=True, stalls=True)


@BACKENDS
@pytest.mark.parametrize("value_dim", [4, 16, 13])
def test_a_full_queue(value_dim, backend):
    """As many entries as fit before the memory takes the first."""
    bench = Bench(CONFIGS["tiny"])
    for naive in (False, True):
        assert bench.add(job(45, 5, 32, value_dim=value_dim, state=True, naive=naive))
    bench.check(backend, fill=True)


@BACKENDS
@pytest.mark.parametrize("name, fields", [("tiny", {}), ("lanes16", {"state": True}), ("base", {"naive": True})])
def test_a_word_a_cycle(name, fields, backend):
    """From 3 cycles after the first push on, without a gap."""
    bench = Bench(CONFIGS[name])
    assert bench.add(job(8, 8, 8, value_dim=bench.config.max_dim, **fields))
    trace = bench.check(backend)
    words = sum(len(entry.words) for entry in bench.runs[0][2])
    assert cycles_of(trace["write_valid"][2:]) == list(range(3, 3 + words))


@BACKENDS
@pytest.mark.parametrize("wait", [0, 1, 2, 3, 4, 9])
def test_reset_with_entries_in_the_queue(wait, backend):
    """Nothing of a run that reset has cut off is written, and the next run is whole."""
    bench = Bench(CONFIGS["tiny"])
    assert bench.add(job(4, 6, 2, value_dim=7, causal=True, q_position=2, state=True))
    whole = bench.stimulus

    begun = {"run_o_address": 9, "run_o_stride": 3, "run_state": 1}

    def cut_off(*flow):
        yield {"reset": 1}
        yield {"reset": 0, "clear": 1, "begin_run": 1, "write_ready": 1} | begun
        entry = {"leaving_lanes": 77, "leaving_elements": 4, "leaving_last_final": 0, "leaving_last_chunk": 1}
        for _ in range(wait + 3):
            yield {"clear": 0, "begin_run": 0, "push": 1, "state_push": 1, "state": 5} | entry
        yield {"push": 0, "state_push": 0, "reset": 1, "write_ready": 0}
        yield from whole(*flow)

    bench.stimulus = cut_off
    bench.check(backend)
