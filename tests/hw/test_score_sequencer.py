"""The row sequencer of Q.K^T and of S and P from memory, cycle by cycle."""

import random
from dataclasses import replace

import pytest

from golden import latency
from golden.config import QUERY_SLOTS, SCRATCH_SLOTS, log2_ceil
from golden.job import Job
from golden.schedule import Phase, walk
from hw.operand_buffer import row_chunks
from hw.run_registers import Run
from hw.score_sequencer import RowFlags, score_sequencer
from hw.signals import bit, index_bits, unsigned
from hw.tile_walker import TileRecord
from tests.hw.descriptors import job, named
from tests.hw.flow import CONFIGS, FLOWS, cycles_of, either
from tests.hw.harness import BACKENDS, run

SCORED = ("read_row", "read_chunk", "mask", "swap", "first_chunk", "last_chunk", "pass_row", "scored")
FLAGS = (
    "row", "start", "final", "last_final", "replayed", "replayed_p", "keeps_maximum", "to_values", "to_memory",
    "stored_p", "last_stored", "limit", "keys",
)  # fmt: skip
EVENTS = ("reset", "tile_valid", "weights_ready", "q_done", "s_done", "p_release", "stored")
REPLAYED = (Phase.MAXIMUM, Phase.EXP, Phase.VALUES)
TAIL = 1


def ports(config):
    outputs = (
        "go_scores", "tile_pop", "value_tile", "q_release", "s_release", "valid", "scored", "swap", "first_chunk",
        "last_chunk", "pass_row",
    )  # fmt: skip
    tile = TileRecord(config)
    return {name: bit() for name in (*EVENTS, *outputs)} | {
        "run": Run(config), "tile": tile, "p_released": unsigned(len(tile.streamed)),
        "mask": unsigned(config.array_depth), "read_row": unsigned(index_bits(QUERY_SLOTS * config.max_rows)),
        "read_chunk": unsigned(index_bits(row_chunks(config))),
        "s_row": unsigned(index_bits(SCRATCH_SLOTS * config.max_rows)),
        "row": RowFlags(index_bits(config.max_rows), len(tile.diagonal), len(tile.keys)),
    }  # fmt: skip


class Script:
    """Events cycle by cycle, the passes that they allow, and the rows that these read."""

    def __init__(self, config, chunks, run_):
        self.config, self.chunks, self.job = config, chunks, run_
        self.inputs, self.reads, self.events = [], {}, []
        self.restart()

    def restart(self):
        now = len(self.inputs)
        self.reads = {t: read for t, read in self.reads.items() if t <= now}
        self.events = [event for event in self.events if event[0] <= now]
        self.tiles, self.ring = list(walk(self.config, self.job)), []
        self.blocks = self.tiles[-1].block + 1
        self.replays = sum(tile.phase in REPLAYED for tile in self.tiles)
        self.loaded, self.ready, self.bank = 0, 0, 0
        self.s_loaded, self.s_ready, self.slot = 0, 0, 0
        self.chunk, self.used, self.stored, self.last_go, self.last_rows = 0, 0, 0, -100, 0
        self.settled = False  # the next tile was there in the cycle before, as is
        self.late = 0, 0
        self.p_fits = self.store_fits = False  # as worked out in the cycle before, as is
        self.chunk_idle = 0  # how far another pass of a tile has to be from the one before
        self.cycle(tile=0, weights=0, reset=1)

    def cycle(self, tile=1, weights=1, q_done=0, s_done=0, release=0, stored=0, reset=0):
        """tile: the next record is there; release: the oldest tile's p has been read. Returns if a pass begins."""
        now, head = len(self.inputs), self.tiles[0] if self.tiles and (tile or self.settled) else None
        released = self.ring.pop(0) if release else 0
        events = reset, int(head is not None), weights, q_done, s_done, release, stored
        values = dict(zip(EVENTS, events, strict=True)) | {"p_released": released}
        shown = head or next(walk(self.config, self.job))
        fields = {name: int(getattr(shown, name)) for name in TileRecord.FIELDS if name not in ("idle", "end")}
        self.inputs.append(values | named("tile", fields | {"idle": latency.idle(shown.again)}))
        go = bool(head and not reset and self.settled and self.may(now, head, weights))
        self.settled = bool(head and not reset)
        # What became free in the cycle before does not count yet.
        self.p_fits = self.used + self.late[0] + shown.streamed <= self.config.p_rows
        self.store_fits = self.stored + self.late[1] + shown.streamed <= self.config.output_rows
        self.late = released, stored
        self.chunk_idle = latency.idle(shown.streamed)
        if go:
            self.begin(now, head)
        self.used -= released
        self.stored -= stored
        self.ready += q_done
        self.loaded += q_done
        self.s_ready += s_done
        self.s_loaded += s_done
        return go

    def may(self, now, tile, weights):
        replay = tile.phase in REPLAYED
        if now < self.last_go + self.last_rows + (self.chunk_idle if self.chunk else latency.idle(tile.again)):
            return False
        if not (self.s_ready if replay else weights and self.ready):
            return False
        if not replay and self.chunk + 1 < self.chunks:
            return True
        if tile.phase in (Phase.FLASH, Phase.VALUES):
            return self.p_fits
        return tile.phase == Phase.MAXIMUM or self.store_fits

    def begin(self, now, tile):
        replay, phase = tile.phase in REPLAYED, tile.phase
        last = replay or self.chunk + 1 == self.chunks
        values, stores = phase in (Phase.FLASH, Phase.VALUES), phase in (Phase.SCORES, Phase.EXP)
        for count, row in enumerate(range(tile.first_row, tile.row_end)):
            query = (tile.start + row) // self.job.group
            flags = (
                row, row >= tile.fresh_from, row < tile.final_end, row + 1 == tile.final_end, replay,
                phase == Phase.VALUES, phase in (Phase.EXP, Phase.VALUES), values, stores, phase == Phase.EXP,
                tile.last and row + 1 == tile.row_end,
                self.job.q_position + query + 1 - tile.tile * self.config.array_keys, tile.keys,
            )  # fmt: skip
            place = self.bank << log2_ceil(self.config.max_rows) | row
            mask = TAIL if last else (1 << self.config.array_depth) - 1
            first = count == 0
            scored = (place, self.chunk, mask, first, self.chunk == 0, last, first and last and values, True)
            read = named("row", dict(zip(FLAGS, flags, strict=True)))
            if replay:
                place = self.slot << log2_ceil(self.config.max_rows) | count
                read |= {"s_row": place, "swap": first, "last_chunk": 1, "pass_row": first and values, "scored": False}
            else:
                read |= dict(zip(SCORED, scored, strict=True))
            self.reads[now + 1 + count] = read
        self.last_go, self.last_rows = now, tile.streamed
        happens = {"go_scores": not replay, "tile_pop": last, "value_tile": last and values}
        happens["q_release"] = last and tile.last and not replay
        self.events += [(now, name) for name, flag in happens.items() if flag]
        if replay:
            self.events.append((now + latency.replay_read(self.config), "s_release"))
            self.s_ready -= 1
            self.slot ^= 1
        self.chunk = 0 if last else self.chunk + 1
        if last:
            self.settled = False
            self.tiles.pop(0)
            if values:
                self.ring.append(tile.streamed)
                self.used += tile.streamed
            self.stored += tile.streamed * stores
            if tile.last and not replay:
                self.ready -= 1
                self.bank ^= 1

    @property
    def q_room(self):
        return self.loaded < self.blocks and self.ready < QUERY_SLOTS

    @property
    def s_room(self):
        return self.s_loaded < self.replays and self.s_ready < SCRATCH_SLOTS

    def check(self, backend):
        """Returns the cycles in which passes begin."""
        for _ in range(self.config.max_rows + latency.replay_read(self.config) + 1):
            self.cycle(tile=0)
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]}
        inputs |= {"run_qk_chunks": self.chunks, "run_qk_mask": TAIL, "run_group": self.job.group}
        events = ("go_scores", "tile_pop", "value_tile", "q_release", "s_release")
        names = {*events, "valid", "s_row", *SCORED, *(f"row_{flag}" for flag in FLAGS)}
        trace = run(score_sequencer, ports(self.config), inputs, names, backend, {"config": self.config})
        active = [cycle for cycle, reset in enumerate(inputs["reset"]) if not reset]
        found = [(t, name) for name in events for t in active if trace[name][t]]
        assert sorted(found) == sorted(self.events)
        assert [t + 1 for t in cycles_of(trace["valid"][1:])] == sorted(self.reads)
        for cycle, read in self.reads.items():
            assert {name: trace[name][cycle] for name in read} == read, f"cycle {cycle}"
        return [t for t in sorted(self.reads) if trace["swap"][t]]


GROUPED = {"heads": 6, "group": 3}
JOBS = [
    ("tiny", 1, job(70, 26, 32)), ("tiny", 3, job(40, 22, 12, causal=True, q_position=-3)),
    ("tiny", 2, job(9, 40, 5, causal=True, q_position=20, window=7)),
    ("tiny", 2, job(9, 10, 7, causal=True, q_position=1, **GROUPED)),
    ("tiny", 2, job(13, 14, 6, causal=True, window=9, naive=True, q_position=1, **GROUPED)),
    ("tiny", 1, job(40, 22, 32, naive=True)), ("lanes16", 2, job(40, 60, 17, causal=True, q_position=5)),
    ("smallest", 1, job(6, 5, causal=True)), ("smallest", 1, job(4, 3, naive=True)),
]  # fmt: skip


@FLOWS
@pytest.mark.parametrize("name, chunks, run_", JOBS, ids=lambda value: "" if isinstance(value, Job) else str(value))
def test_random_events(name, chunks, run_, idle, stalls, backend):
    """idle: records, weights, Q, S and P come late; stalls: p is read and S leaves late, so that the rings fill up."""
    rng = random.Random(chunks)
    script = Script(CONFIGS[name], chunks, run_)
    while script.tiles:
        script.cycle(
            tile=either(rng, idle, 0.5), weights=either(rng, idle, 0.3),
            q_done=int(script.q_room and either(rng, idle, 0.1)), s_done=int(script.s_room and either(rng, idle, 0.2)),
            release=int(bool(script.ring) and either(rng, stalls, 0.02)),
            stored=int(script.stored > 0 and either(rng, stalls, 0.1)),
        )  # fmt: skip
    script.check(backend)


def naive_until(script, phase):
    """Run on up to the first tile of a phase, for MAXIMUM without any S."""
    while script.tiles[0].phase < phase:
        s_done = int(script.s_room and phase != Phase.MAXIMUM)
        script.cycle(q_done=int(script.q_room), s_done=s_done, stored=int(script.stored > 0))
    script.cycle(tile=0)


@BACKENDS
@pytest.mark.parametrize("missing", ["tile", "weights", "Q", "room", "S", "room for S", "room for P"])
def test_never_starts_without(missing, backend):
    """Everything but one thing is there for a long time; the pass begins in the cycle in which it may."""
    naive = missing in ("S", "room for S", "room for P")
    config = replace(CONFIGS["tiny"], max_dim=4)  # an output queue of one block
    script = Script(config, 1, job(32, 40, 32, naive=naive))
    if missing != "Q":
        script.cycle(tile=0, q_done=1)
    if missing == "S":
        naive_until(script, Phase.MAXIMUM)
    if missing == "room for P":
        naive_until(script, Phase.EXP)
        while script.stored:
            script.cycle(tile=0, stored=1)
        script.cycle(tile=0, s_done=int(script.s_room))
    if missing in ("room", "room for S", "room for P"):
        while script.used < script.config.p_rows and script.stored < script.config.output_rows:
            script.cycle()
        if missing == "room for P":
            script.cycle(tile=0, s_done=1)
        for _ in range(40):
            script.cycle(tile=0)
    missed = {"tile": int(missing != "tile"), "weights": int(missing != "weights")}
    for _ in range(60):
        assert not script.cycle(**missed)
    if missing == "room for S" or missing == "room for P":
        for _ in range(31):
            assert not script.cycle(stored=1)
        assert not script.cycle(stored=1)
    elif missing in ("room", "Q", "S"):
        assert not script.cycle(q_done=int(missing == "Q"), release=int(missing == "room"), s_done=int(missing == "S"))
    for _ in range(2 if missing.startswith("room") else missing == "tile"):
        assert not script.cycle()
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
    starts = script.check(backend)
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
