"""The loader: order, bursts, credits and fences."""

import random

import pytest

from golden.config import KEY_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS
from golden.schedule import Phase, load_order, walk
from hw.loader import LOAD_K, LOAD_Q, LOAD_S, LOAD_V, loader
from hw.ports import Counters, ReadPort
from hw.run_plan import Plan
from hw.run_registers import Run
from hw.signals import bit, unsigned
from hw.tile_walker import TileRecord
from tests.hw.descriptors import job, named, plan_fields, random_job, random_place, run_fields, tile_record
from tests.hw.flow import CONFIGS, FLOWS, either
from tests.hw.harness import BACKENDS, flat, run

KINDS = {LOAD_K: "k", LOAD_Q: "q", LOAD_V: "v", LOAD_S: "s"}
SLOTS = {"k": KEY_SLOTS, "q": QUERY_SLOTS, "v": VALUE_SLOTS, "s": SCRATCH_SLOTS}
COUNTERS = ("k_bytes", "q_bytes", "v_bytes", "s_read_bytes", "p_read_bytes", "k_loads", "v_loads")
TILE = tuple(f"tile_{name}" for name in TileRecord.FIELDS)
OUTPUTS = (
    "read_valid", "read_address", "read_bytes", "tile_push", "load_push", "load_kind", "load_rows", "load_words", *TILE,
    *(f"counters_{name}" for name in COUNTERS),
)  # fmt: skip


class Bench:
    """The memory, which takes bursts, and the arrays, which free buffers; collects what the loader does."""

    def __init__(self, config, seed=0):
        self.config, self.rng = config, random.Random(seed)
        self.cycle, self.hold = 0, set()  # hold: operands whose buffers are not freed, "fence": nothing is stored
        self.place = random_place(config, self.rng)
        self.signals = {name: bit() for name in ("reset", "walk", "start", "block_stored", "tile_push", "load_push")}
        self.signals |= {f"{kind}_release": bit() for kind in SLOTS}
        self.signals |= {
            "run": Run(config), "plan": Plan(config), "read": ReadPort(config), "tile": TileRecord(config),
            "counters": Counters(), "load_kind": unsigned(2),
            "load_rows": unsigned(max(config.max_rows, config.array_keys).bit_length()),
            "load_words": unsigned(config.burst_words.bit_length()),
        }  # fmt: skip

    def begin(self, run_, wait=2):
        """The walk, and the cycle with start; forgets what was collected."""
        self.loads, self.bursts, self.records, self.used = [], [], [], dict.fromkeys(SLOTS, 0)
        self.accepted, self.ends = [], []  # cycles of the bursts; (last burst, operand) of each load under way
        self.limit = SLOTS if run_.overlap else dict.fromkeys(SLOTS, 1)
        self.requested, self.full = 0, []  # bursts of the loads so far; loads whose buffers can be freed
        self.fences, self.stored = self.fenced_loads(run_), 0
        fields = named("run", run_fields(self.config, run_, self.place))
        fields |= named("plan", plan_fields(self.config, run_, self.place))
        yield from self.step({name: fields[name] for name in fields.keys() & flat(self.signals)} | {"walk": 1}, 0)
        for _ in range(wait):
            yield from self.step({}, 0)
        assert not self.loads
        self.started = self.cycle
        yield from self.step({"start": 1}, 0)

    def fenced_loads(self, run_):
        """Numbers of the loads that wait until what was written before them is in memory."""
        tiles = [tile for _, tile in load_order(self.config, run_)]
        waits = (Phase.SCORES, Phase.MAXIMUM, Phase.VALUES)
        changes = [index for index in range(1, len(tiles)) if tiles[index] is not tiles[index - 1]]
        return [index for index in changes if tiles[index].first and tiles[index].phase in waits]

    def step(self, inputs, ready, idle=False):
        freed = set()
        for kind in SLOTS:
            if kind in self.full and kind not in self.hold and either(self.rng, idle, 0.05):
                self.full.remove(kind)
                self.used[kind] -= 1
                freed.add(kind)
        # All loads of a phase are there: at some time what it writes is stored.
        done = self.stored < len(self.fences) and len(self.loads) == self.fences[self.stored] and not self.ends
        stored = int(done and "fence" not in self.hold and either(self.rng, idle, 0.1))
        inputs = {"walk": 0, "start": 0, "reset": 0, "read_ready": ready, "block_stored": stored} | inputs
        seen = yield inputs | {f"{kind}_release": int(kind in freed) for kind in SLOTS}
        if seen["read_valid"] and ready:
            self.bursts.append((seen["read_address"], seen["read_bytes"]))
            self.accepted.append(self.cycle - self.started)
            if len(self.bursts) == self.ends[0][0]:
                self.full.append(self.ends.pop(0)[1])
        if seen["load_push"]:
            kind = KINDS[seen["load_kind"]]
            passed = sum(fence <= len(self.loads) for fence in self.fences)
            assert self.stored >= passed, "what this load reads is not in memory"
            self.loads.append((self.cycle - self.started, kind, seen["load_rows"], seen["load_words"]))
            self.used[kind] += 1
            assert self.used[kind] <= self.limit[kind], f"{kind} has no buffer"
            self.requested += seen["load_rows"]
            self.ends.append((self.requested, kind))
        if seen["tile_push"]:
            self.records.append(tuple(seen[name] for name in TILE))
        self.seen = seen
        self.stored += stored
        self.cycle += 1

    def flow(self, cycles, stalls=False, idle=False):
        for _ in range(cycles):
            yield from self.step({}, either(self.rng, stalls, 0.4), idle)

    def whole(self, run_, stalls=False, idle=False):
        """A run from start to its last burst, checked."""
        yield from self.begin(run_, self.rng.randint(2, 9))
        loads, bursts, counts = self.expected(run_)
        left = 100 * len(loads) + 10 * len(bursts)
        while left and (len(self.bursts) < len(bursts) or self.full):
            yield from self.flow(1, stalls, idle)
            left -= 1
        yield from self.flow(20)
        assert [load[1:] for load in self.loads] == loads
        assert self.bursts == bursts
        tiles = list(walk(self.config, run_))
        assert self.records == [tile_record(tile, tile is tiles[-1]) for tile in tiles]
        assert {name: self.seen[f"counters_{name}"] for name in COUNTERS} == counts
        assert self.stored == len(self.fences)

    def expected(self, run_):
        """Loads (operand, rows, words of a row), bursts (address, bytes), and counters, from golden alone."""
        config, fields = self.config, run_fields(self.config, run_, self.place)
        loads, bursts, counts, scratch = [], [], dict.fromkeys(COUNTERS, 0), 0
        for kind, tile in load_order(config, run_):
            elements = run_.value_dim if kind == "v" else run_.dim
            size = 2 * tile.keys if kind == "s" else elements * config.element_bytes
            address = fields["scratch_address" if kind == "s" else f"{kind}_address"]
            if kind == "s":
                scratch = 0 if tile.first else scratch
                places = [(scratch + row) * config.scratch_row_words for row in range(tile.streamed)]
                scratch += tile.streamed
            elif kind == "q":
                rows = [divmod(tile.start + row, run_.group) for row in range(tile.rows)]
                heads = [(tile.kv_head * run_.group + member, query) for query, member in rows]
                places = [head * fields["q_head_stride"] + query * fields["q_stride"] for head, query in heads]
            else:
                first = tile.kv_head * fields[f"{kind}_head_stride"]
                rows = range(tile.tile * config.array_keys, tile.tile * config.array_keys + tile.keys)
                places = [first + row * fields[f"{kind}_stride"] for row in rows]
            loads.append((kind, len(places), -(-size // config.word_bytes)))
            bursts += [((address + place) % config.memory_words, size) for place in places]
            operand = kind if kind != "s" else "p_read" if tile.phase == Phase.VALUES else "s_read"
            counts[f"{operand}_bytes"] += size * len(places)
            if kind in "kv":
                counts[f"{kind}_loads"] += 1
        return loads, bursts, counts

    def simulate(self, backend, script):
        def stimulus():
            yield {"reset": 1}
            yield from script()

        run(loader, self.signals, stimulus, OUTPUTS, backend, {"config": self.config})


@FLOWS
@pytest.mark.parametrize("name, overlap", [("tiny", True), ("tiny", False), ("lanes16", True), ("parts16", True)])
def test_random_runs(name, overlap, idle, stalls, backend):
    """One run after the other; idle: buffers are freed late; stalls: the memory takes a burst now and then."""
    bench = Bench(CONFIGS[name], seed=len(name))

    def script():
        for _ in range(4):
            yield from bench.whole(random_job(bench.config, bench.rng, 10, overlap=overlap), stalls, idle)

    bench.simulate(backend, script)


@BACKENDS
@pytest.mark.parametrize("naive", [False, True])
def test_windows_and_heads(naive, backend):
    """Blocks begin at later tiles, heads with the first one again; groups stream query by query, a part of them."""
    bench = Bench(CONFIGS["tiny"])

    def script():
        for group, q_rows in ((1, 9), (3, 4)):
            fields = {"causal": True, "window": 6, "heads": 2 * group, "group": group, "naive": naive}
            yield from bench.whole(job(9, 30, q_rows, q_position=21, **fields))

    bench.simulate(backend, script)


@BACKENDS
def test_fences(backend):
    """S is stored before it is read, P, too, and O before the scratch area is used for the next block."""
    bench, so_far = Bench(CONFIGS["tiny"]), ""

    def script():
        nonlocal so_far
        bench.hold = {"fence"}
        yield from bench.begin(job(6, 8, 3, naive=True))
        for more in ("kqk", "ssss", "svsv", "kqk", "ssss", "svsv"):
            yield from bench.flow(100)
            so_far += more
            assert "".join(kind for _, kind, *_ in bench.loads) == so_far
            bench.hold = set()
            yield from bench.flow(1)
            bench.hold = {"fence"}
        assert bench.stored == len(bench.fences) == 5

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
        assert "".join(kind for _, kind, *_ in bench.loads) == expected
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
        assert "".join(kind for _, kind, *_ in bench.loads) == expected

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
