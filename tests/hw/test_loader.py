"""The loader: order, bursts and credits."""

import random

import pytest

from golden.config import KEY_SLOTS, QUERY_SLOTS, VALUE_SLOTS
from golden.job import Job
from golden.schedule import load_order, walk
from hw.loader import LOAD_K, LOAD_Q, LOAD_V, loader
from hw.ports import Counters, ReadPort
from hw.run_registers import Run
from hw.signals import bit, unsigned
from hw.tile_walker import TileRecord
from tests.hw.flow import CONFIGS, FLOWS, either
from tests.hw.harness import BACKENDS, run

KINDS = {LOAD_K: "k", LOAD_Q: "q", LOAD_V: "v"}
SLOTS = {"k": KEY_SLOTS, "q": QUERY_SLOTS, "v": VALUE_SLOTS}
COUNTERS = ("k_bytes", "q_bytes", "v_bytes", "k_loads", "v_loads")
TILE = tuple(f"tile_{name}" for name in TileRecord.FIELDS)
OUTPUTS = (
    "read_valid", "read_address", "read_bytes", "tile_push", "load_push", "load_kind", "load_rows", *TILE,
    *(f"counters_{name}" for name in COUNTERS),
)  # fmt: skip


def job(n_q, n_kv, q_rows, causal=False, q_position=0, overlap=True, dim=5, value_dim=9):
    return Job(n_q, n_kv, dim, value_dim, 1 << 15, 10, q_rows, causal, q_position, overlap)


class Bench:
    """The memory, which takes bursts, and the arrays, which free buffers; collects what the loader does."""

    def __init__(self, config, seed=0):
        self.config, self.rng = config, random.Random(seed)
        self.cycle, self.hold = 0, set()  # hold: operands whose buffers are not freed
        self.addresses = {f"{kind}_address": self.rng.randrange(config.memory_words) for kind in "kqv"}
        self.addresses |= {f"{kind}_stride": self.rng.randint(1, 40) for kind in "kqv"}

    def descriptor(self, run_):
        size = self.config.element_bytes
        names = ("n_q", "n_kv", "q_rows", "q_position", "causal", "overlap")
        values = {name: int(getattr(run_, name)) for name in names}
        values |= self.addresses | {"qk_bytes": run_.dim * size, "v_bytes": run_.value_dim * size}
        return {f"descriptor_{name}": value for name, value in values.items()}

    def begin(self, run_):
        """Cycle with start; forgets what was collected."""
        self.loads, self.bursts, self.records, self.used = [], [], [], dict.fromkeys("kqv", 0)
        self.accepted, self.ends = [], []  # cycles of the bursts; (last burst, operand) of each load under way
        self.started, self.limit = self.cycle, SLOTS if run_.overlap else dict.fromkeys("kqv", 1)
        self.requested = 0  # bursts of the loads so far
        self.full = []  # loads whose buffers can be freed
        yield from self.step(self.descriptor(run_) | {"start": 1}, 0)

    def step(self, inputs, ready, idle=False):
        freed = set()
        for kind in "kqv":
            if kind in self.full and kind not in self.hold and either(self.rng, idle, 0.05):
                self.full.remove(kind)
                self.used[kind] -= 1
                freed.add(kind)
        inputs = {"start": 0, "reset": 0, "read_ready": ready} | inputs
        seen = yield inputs | {f"{kind}_release": int(kind in freed) for kind in "kqv"}
        if seen["read_valid"] and ready:
            self.bursts.append((seen["read_address"], seen["read_bytes"]))
            self.accepted.append(self.cycle - self.started)
            if len(self.bursts) == self.ends[0][0]:
                self.full.append(self.ends.pop(0)[1])
        if seen["load_push"]:
            kind = KINDS[seen["load_kind"]]
            self.loads.append((self.cycle - self.started, kind, seen["load_rows"]))
            self.used[kind] += 1
            assert self.used[kind] <= self.limit[kind], f"{kind} has no buffer"
            self.requested += seen["load_rows"]
            self.ends.append((self.requested, kind))
        if seen["tile_push"]:
            self.records.append(tuple(seen[name] for name in TILE))
        self.seen = seen
        self.cycle += 1

    def flow(self, cycles, stalls=False, idle=False):
        for _ in range(cycles):
            yield from self.step({}, either(self.rng, stalls, 0.4), idle)

    def whole(self, run_, stalls=False, idle=False):
        """A run from start to its last burst, checked."""
        yield from self.begin(run_)
        loads, bursts = self.expected(run_)
        for _ in range(100 * len(loads) + 10 * len(bursts)):
            yield from self.flow(1, stalls, idle)
            if len(self.bursts) == len(bursts) and not self.full:
                break
        yield from self.flow(20)
        assert [load[1:] for load in self.loads] == loads
        assert self.bursts == bursts
        tiles = list(walk(self.config, run_))
        assert self.records == [
            (t.streamed, t.finals, t.first_row, t.final_end, t.diagonal, t.keys, t.tile == 0, t.last, t is tiles[-1])
            for t in tiles
        ]
        size, rows = self.config.element_bytes, {kind: sum(n for k, n in loads if k == kind) for kind in "kqv"}
        counts = [rows["k"] * run_.dim * size, rows["q"] * run_.dim * size, rows["v"] * run_.value_dim * size]
        assert [self.seen[f"counters_{name}"] for name in COUNTERS] == [*counts, len(tiles), len(tiles)]

    def expected(self, run_):
        loads, bursts, query = [], [], 0
        for kind, tile in load_order(self.config, run_):
            first = query if kind == "q" else tile.tile * self.config.array_keys
            rows = tile.rows if kind == "q" else tile.keys
            query += rows if kind == "q" else 0
            size = (run_.value_dim if kind == "v" else run_.dim) * self.config.element_bytes
            at, stride = self.addresses[f"{kind}_address"], self.addresses[f"{kind}_stride"]
            loads.append((kind, rows))
            bursts += [((at + row * stride) % self.config.memory_words, size) for row in range(first, first + rows)]
        return loads, bursts

    def simulate(self, backend, script):
        config = self.config
        signals = {name: bit() for name in ("reset", "start", "k_release", "q_release", "v_release", "tile_push")}
        signals |= {
            "descriptor": Run(config), "read": ReadPort(config), "tile": TileRecord(config), "counters": Counters(),
            "load_push": bit(), "load_kind": unsigned(2), "load_rows": unsigned(config.max_rows.bit_length()),
        }  # fmt: skip

        def stimulus():
            yield {"reset": 1}
            yield from script()

        run(loader, signals, stimulus, OUTPUTS, backend, {"config": config})


def draw(config, rng, overlap):
    n_q, n_kv = rng.randint(1, min(20, config.max_keys)), rng.randint(1, min(40, config.max_keys))
    dims = {name: rng.randint(1, config.max_dim) for name in ("dim", "value_dim")}
    position = rng.choice((0, rng.randint(-16, 16)))
    return job(n_q, n_kv, rng.randint(1, min(9, config.max_rows)), rng.random() < 0.6, position, overlap, **dims)


@FLOWS
@pytest.mark.parametrize("name, overlap", [("tiny", True), ("tiny", False), ("lanes16", True), ("smallest", True)])
def test_random_runs(name, overlap, idle, stalls, backend):
    """One run after the other; idle: buffers are freed late; stalls: the memory takes a burst now and then."""
    bench = Bench(CONFIGS[name], seed=len(name))

    def script():
        for _ in range(5):
            yield from bench.whole(draw(bench.config, bench.rng, overlap), stalls, idle)

    bench.simulate(backend, script)


@BACKENDS
@pytest.mark.parametrize("held, overlap, expected", [
    ("kqv", True, "kqvkvkvkv"), ("k", True, "kqvkvkvkv"), ("v", True, "kqvkvkvkvkvkvkvkvk"),
    ("kqv", False, "kqv"), ("k", False, "kqv"), ("v", False, "kqvk"),
])  # fmt: skip
def test_credits(held, overlap, expected, backend):
    """Every buffer is used, none twice; a buffer that becomes free is used again."""
    bench = Bench(CONFIGS["tiny"])
    bench.hold = set(held)

    def script():
        yield from bench.begin(job(3, 80, 3, overlap=overlap))
        yield from bench.flow(200)
        assert "".join(kind for _, kind, _ in bench.loads) == expected
        bench.hold = set()
        yield from bench.flow(400)
        assert len(bench.loads) == 41

    bench.simulate(backend, script)


@BACKENDS
@pytest.mark.parametrize("overlap, expected", [(True, "kqvkqvk"), (False, "kqvk")])
def test_credits_for_q(overlap, expected, backend):
    """Blocks of one tile each: the third waits for a bank of Q, its K is loaded."""
    bench = Bench(CONFIGS["tiny"])
    bench.hold = {"q"}

    def script():
        yield from bench.begin(job(12, 4, 3, overlap=overlap))
        yield from bench.flow(200)
        assert "".join(kind for _, kind, _ in bench.loads) == expected

    bench.simulate(backend, script)


@BACKENDS
def test_bursts_without_a_gap(backend):
    """First request 3 cycles after start, and one in each cycle from there."""
    bench = Bench(CONFIGS["tiny"])

    def script():
        yield from bench.begin(job(6, 16, 3))
        yield from bench.flow(30)
        assert bench.loads[0][0] == 2
        assert bench.accepted == list(range(3, 31))

    bench.simulate(backend, script)


@BACKENDS
@pytest.mark.parametrize("wait", [1, 2, 3, 4, 9, 25])
def test_reset_in_the_middle(wait, backend):
    """No burst afterwards, all buffers free, and the next run from its start."""
    bench = Bench(CONFIGS["tiny"], seed=wait)
    bench.hold = {"k", "q", "v"}

    def script():
        yield from bench.begin(job(9, 40, 4))
        yield from bench.flow(wait)
        yield {"reset": 1, "read_ready": 0, "start": 0}
        seen = yield {"reset": 0, "read_ready": 1}
        assert not seen["read_valid"] and not seen["load_push"] and not seen["tile_push"]
        bench.hold = set()
        yield from bench.whole(job(5, 9, 4, causal=True))

    bench.simulate(backend, script)
