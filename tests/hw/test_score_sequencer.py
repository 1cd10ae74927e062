"""The row sequencer of Q.K^T, cycle by cycle."""

import random

import pytest

from golden import latency
from golden.config import QUERY_SLOTS, log2_ceil
from golden.job import Job
from golden.schedule import walk
from hw.operand_buffer import row_chunks
from hw.score_sequencer import score_sequencer
from hw.signals import bit, index_bits, unsigned
from hw.tile_walker import TileRecord
from tests.hw.flow import CONFIGS, FLOWS, cycles_of, either
from tests.hw.harness import BACKENDS, run

READ = (
    "read_row", "read_chunk", "mask", "swap", "row", "first_chunk", "last_chunk", "pass_row", "visible", "start",
    "row_final", "last_final",
)  # fmt: skip
TAIL = 1


def ports(config):
    rows, depth = config.max_rows.bit_length(), config.array_depth
    bits = (
        "reset", "causal", "tile_valid", "weights_ready", "q_done", "p_release", "go", "tile_pop", "q_release", "valid",
        "swap", "first_chunk", "last_chunk", "pass_row", "start", "row_final", "last_final",
    )  # fmt: skip
    return {name: bit() for name in bits} | {
        "tile": TileRecord(config), "chunks": unsigned(config.max_chunks.bit_length()), "tail_mask": unsigned(depth),
        "mask": unsigned(depth), "p_released": unsigned(rows), "row": unsigned(index_bits(config.max_rows)),
        "read_row": unsigned(index_bits(QUERY_SLOTS * config.max_rows)),
        "read_chunk": unsigned(index_bits(row_chunks(config))), "visible": unsigned(config.array_keys.bit_length()),
    }  # fmt: skip


class Script:
    """Events cycle by cycle, the passes that they allow, and the rows that these read."""

    def __init__(self, config, chunks, job):
        self.config, self.chunks, self.job = config, chunks, job
        self.inputs, self.reads, self.goes, self.pops = [], {}, [], []
        self.restart()

    def restart(self):
        now = len(self.inputs)
        self.reads = {t: read for t, read in self.reads.items() if t <= now}
        self.tiles, self.ring = list(walk(self.config, self.job)), []
        self.blocks, self.loaded, self.ready, self.bank = self.tiles[-1].block + 1, 0, 0, 0
        self.chunk, self.used, self.last_go, self.last_rows = 0, 0, -100, 0
        self.cycle(tile=0, weights=0, reset=1)

    def cycle(self, tile=1, weights=1, q_done=0, release=0, reset=0):
        """tile: the next record is there; release: the oldest tile's p has been read. Returns if a pass begins."""
        now, head = len(self.inputs), self.tiles[0] if self.tiles and tile else None
        released = self.ring.pop(0) if release else 0
        values = {
            "reset": reset, "tile_valid": int(head is not None), "weights_ready": weights, "q_done": q_done,
            "p_release": release, "p_released": released,
        }  # fmt: skip
        shown = head or next(walk(self.config, self.job))
        fields = ("streamed", "finals", "first_row", "final_end", "keys", "diagonal")
        values |= {f"tile_{name}": getattr(shown, name) for name in fields}
        values |= {"tile_first": int(shown.tile == 0), "tile_last": int(shown.last)}
        self.inputs.append(values)
        last, go = self.chunk + 1 == self.chunks, False
        if head and weights and self.ready and not reset:
            spaced = self.last_go + self.last_rows + max(0, latency.ROW_LOOP - head.streamed)
            go = now >= spaced and (not last or self.used + head.streamed <= self.config.p_rows)
        if go:
            self.begin(now, head, last)
        self.used -= released
        self.ready += q_done
        self.loaded += q_done
        return go

    def begin(self, now, tile, last):
        depth = self.config.array_depth
        for count, row in enumerate(range(tile.first_row, tile.rows)):
            seen = min(max(tile.diagonal + row, 0), tile.keys) if self.job.causal else tile.keys
            final = row < tile.final_end
            self.reads[now + 1 + count] = (
                self.bank << log2_ceil(self.config.max_rows) | row, self.chunk, TAIL if last else (1 << depth) - 1,
                int(count == 0), row, int(self.chunk == 0), int(last), int(count == 0 and last), seen,
                int(tile.tile == 0), int(final), int(row + 1 == tile.final_end),
            )  # fmt: skip
        self.goes.append(now)
        self.last_go, self.last_rows = now, tile.streamed
        self.chunk = 0 if last else self.chunk + 1
        if last:
            self.pops.append((now, int(tile.last)))
            self.ring.append(tile.streamed)
            self.used += tile.streamed
            self.tiles.pop(0)
            if tile.last:
                self.ready -= 1
                self.bank ^= 1

    @property
    def q_room(self):
        return self.loaded < self.blocks and self.ready < QUERY_SLOTS

    def check(self, backend):
        for _ in range(self.config.max_rows + 1):
            self.cycle(tile=0)
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        inputs |= {"causal": int(self.job.causal), "chunks": self.chunks, "tail_mask": TAIL}
        names = ("go", "tile_pop", "q_release", "valid", *READ)
        trace = run(score_sequencer, ports(self.config), inputs, names, backend, {"config": self.config})
        active = [cycle for cycle, reset in enumerate(inputs["reset"]) if not reset]
        assert [t for t in active if trace["go"][t]] == self.goes
        assert [(t, trace["q_release"][t]) for t in active if trace["tile_pop"][t]] == self.pops
        assert [t for t in active if trace["q_release"][t]] == [t for t, last in self.pops if last]
        assert [t + 1 for t in cycles_of(trace["valid"][1:])] == sorted(self.reads)
        for cycle, read in self.reads.items():
            assert tuple(trace[name][cycle] for name in READ) == read, f"cycle {cycle}"
        return trace


def job(n_q, n_kv, q_rows, causal=False, q_position=0):
    return Job(n_q, n_kv, 1, 1, 1 << 15, 10, q_rows, causal, q_position)


JOBS = [
    ("tiny", 1, job(70, 26, 32)), ("tiny", 3, job(40, 22, 12, True, -3)), ("tiny", 2, job(9, 40, 3, True, 20)),
    ("lanes16", 2, job(40, 60, 17, True, 5)), ("smallest", 1, job(6, 5, 1, True)),
]  # fmt: skip


@FLOWS
@pytest.mark.parametrize("name, chunks, run_", JOBS, ids=lambda value: "" if isinstance(value, Job) else str(value))
def test_random_events(name, chunks, run_, idle, stalls, backend):
    """idle: records, weights and Q come late; stalls: p is read late, so that the ring fills up."""
    rng = random.Random(chunks)
    script = Script(CONFIGS[name], chunks, run_)
    while script.tiles:
        script.cycle(
            tile=either(rng, idle, 0.5), weights=either(rng, idle, 0.3),
            q_done=int(script.q_room and either(rng, idle, 0.1)),
            release=int(bool(script.ring) and either(rng, stalls, 0.02)),
        )  # fmt: skip
    script.check(backend)
    assert len(script.goes) == chunks * len(list(walk(script.config, run_)))


@BACKENDS
@pytest.mark.parametrize("missing", ["tile", "weights", "Q", "room"])
def test_never_starts_without(missing, backend):
    """Everything but one thing is there for a long time; the pass begins in the cycle in which it may."""
    script = Script(CONFIGS["tiny"], 1, job(32, 40, 32))
    if missing != "Q":
        script.cycle(tile=0, q_done=1)
    if missing == "room":
        while script.used < script.config.p_rows:
            script.cycle()
        script.cycle(tile=0)
    passes = len(script.goes)
    for _ in range(60):
        assert not script.cycle(tile=int(missing != "tile"), weights=int(missing != "weights"))
    assert len(script.goes) == passes
    if missing in ("Q", "room"):
        assert not script.cycle(q_done=int(missing == "Q"), release=int(missing == "room"))
    assert script.cycle()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("rows", [1, 2, 6, 7, 8, 32])
def test_spacing_of_passes(rows, backend):
    """A row comes again after ROW_LOOP cycles at the earliest, and passes of that many rows have no gap."""
    script = Script(CONFIGS["tiny"], 2, job(rows, 16, rows))
    script.cycle(q_done=1)
    while script.tiles:
        script.cycle(release=int(bool(script.ring)))
    starts = cycles_of(script.check(backend)["go"])
    assert starts == [starts[0] + max(rows, latency.ROW_LOOP) * index for index in range(8)]


@BACKENDS
@pytest.mark.parametrize("wait", [1, 2, 5, 12, 45])
def test_reset_in_the_middle(wait, backend):
    """Blocks of Q, rows of p, bank and chunk are forgotten."""
    script = Script(CONFIGS["tiny"], 3, job(20, 6, 5))
    for _ in range(3):
        script.cycle(q_done=1)
        script.cycle(q_done=1)
        for _ in range(wait):
            script.cycle()
        script.restart()
        for _ in range(4):
            assert not script.cycle()
    while script.tiles:
        script.cycle(q_done=int(script.q_room), release=int(bool(script.ring)))
    script.check(backend)
