"""The row sequencer of P.V, cycle by cycle."""

import random
from itertools import pairwise

import pytest

from golden import latency
from hw.signals import bit, index_bits, unsigned
from hw.value_sequencer import TILES, value_sequencer
from tests.hw.flow import CONFIGS, FLOWS, cycles_of, either
from tests.hw.harness import BACKENDS, run

TILE = ("tile_rows", "tile_finals", "tile_idle", "tile_last", "tile_end")
READ = ("read_index", "swap", "chunk", "last_chunk", "last", "run_end")


def ports(config):
    rows = config.max_rows.bit_length()
    bits = ("reset", "tile_push", "tile_last", "tile_end", "p_started", "weights_ready", "output_pop", "go")
    signals = {name: bit() for name in (*bits, "p_release", "valid", "swap", "last_chunk", "last", "run_end")}
    signals["tile_idle"] = unsigned(latency.ROW_LOOP.bit_length())
    signals |= {name: unsigned(rows) for name in ("tile_rows", "tile_finals", "p_released")}
    signals |= {name: unsigned(config.max_chunks.bit_length()) for name in ("chunks", "chunk")}
    return signals | {"read_index": unsigned(index_bits(config.p_rows))}


class Script:
    """Events cycle by cycle, the passes that they allow, and the rows that these read."""

    def __init__(self, config, chunks):
        self.config, self.chunks = config, chunks
        self.inputs, self.reads, self.goes, self.releases = [], {}, [], []
        self.restart()

    def restart(self):
        now = len(self.inputs)
        idle = dict.fromkeys((*TILE, "tile_push", "p_started", "weights_ready", "output_pop"), 0)
        self.inputs.append(idle | {"reset": 1})
        self.reads = {t: read for t, read in self.reads.items() if t <= now}
        self.tiles, self.started, self.used, self.late, self.chunk, self.base = [], 0, 0, 0, 0, 0
        self.waiting = 0  # tiles pushed whose p has not begun
        self.last_go, self.last_rows = -100, 0
        self.fits = False  # as worked out in the cycle before

    def cycle(self, tile=None, started=0, weights=1, pop=0):
        """tile: see TILE. Returns whether a pass begins."""
        now, go = len(self.inputs), False
        fields = dict(zip(TILE, tile or (0, 0, 0, 0, 0), strict=True))
        events = {"p_started": started, "weights_ready": weights, "output_pop": pop}
        self.inputs.append({"reset": 0, "tile_push": int(tile is not None)} | fields | events)
        if self.tiles:
            head_rows, head_finals, head_idle, head_last, head_end = self.tiles[0]
            spaced = self.last_go + self.last_rows
            spaced += max(0, latency.ROW_LOOP - head_rows) if self.chunk else head_idle
            spaced = max(spaced, self.last_go + 2)
            go = bool(weights and (self.started or self.chunk) and now >= spaced and self.fits)
            # What left in the cycle before does not count yet.
            self.fits = self.used + self.late + head_finals <= self.config.output_rows
        if go:
            last = self.chunk + 1 == self.chunks
            for row in range(head_rows):
                index = (self.base + row) % self.config.p_rows
                self.reads[now + 1 + row] = (index, int(row == 0), self.chunk, int(last), head_last, head_end)
            self.goes.append(now)
            self.last_go, self.last_rows = now, head_rows
            self.used += head_finals
            self.started -= self.chunk == 0
            self.chunk = 0 if last else self.chunk + 1
            if last:
                self.releases.append((now, head_rows))
                self.base += head_rows
                self.tiles.pop(0)
        self.started += started
        self.used -= pop
        self.late = pop
        self.waiting += (tile is not None) - started
        if tile:
            self.tiles.append(tile)
        return go

    def push(self, tile):
        """A tile, and a cycle later the first of its p."""
        self.cycle(tile)
        self.cycle(started=1)

    def check(self, backend):
        for _ in range(self.config.max_rows + 1):
            self.cycle(weights=0)
        inputs = {name: [values[name] for values in self.inputs] for name in self.inputs[0]} | {"chunks": self.chunks}
        signals = ports(self.config)
        outputs = [name for name in signals if name not in inputs]
        trace = run(value_sequencer, signals, inputs, outputs, backend, {"config": self.config})
        active = [cycle for cycle, reset in enumerate(inputs["reset"]) if not reset]
        assert [t for t in active if trace["go"][t]] == self.goes
        found = [(t, trace["p_released"][t]) for t in active if trace["p_release"][t]]
        assert found == self.releases
        assert cycles_of(trace["valid"][1:]) == [t - 1 for t in sorted(self.reads)]
        for cycle, read in self.reads.items():
            assert tuple(trace[name][cycle] for name in READ) == read, f"cycle {cycle}"
        return trace


def draw(config, rng, end=0):
    rows = rng.choice((1, config.max_rows, rng.randint(1, config.max_rows), rng.randint(1, min(9, config.max_rows))))
    idle = rng.choice((0, latency.idle(rng.randint(1, rows))))
    return rows, rng.choice((0, rows, rng.randint(0, rows))), idle, max(end, rng.randrange(2)), end


@FLOWS
@pytest.mark.parametrize("name, chunks", [("tiny", 1), ("tiny", 3), ("lanes16", 5), ("smallest", 1)])
def test_random_tiles(name, chunks, idle, stalls, backend):
    """idle: tiles, p and weights come late; stalls: rows of output leave rarely, so that the queue fills up."""
    config, rng = CONFIGS[name], random.Random(chunks)
    tiles = 6 + 16 // chunks
    script, left, waiting = Script(config, chunks), tiles, draw(config, rng)
    while left or script.tiles:
        tile = waiting
        in_ring = sum(rows for rows, *_ in script.tiles)
        if tile and (len(script.tiles) >= TILES or in_ring + tile[0] > config.p_rows or not either(rng, idle, 0.1)):
            tile = None
        if tile:
            left -= 1
            waiting = draw(config, rng, int(left == 1)) if left else None
        script.cycle(
            tile,
            started=int(script.waiting > 0 and either(rng, idle, 0.3)),
            weights=either(rng, idle, 0.3),
            pop=int(script.used > 0 and (script.used > config.output_rows - 1 or either(rng, stalls, 0.2))),
        )
    script.check(backend)
    assert len(script.goes) == tiles * chunks


@BACKENDS
@pytest.mark.parametrize("missing", ["tile", "p", "weights", "output room"])
def test_never_starts_without(missing, backend):
    """Everything but one thing is there for a long time; the pass begins in the cycle in which it may."""
    config = CONFIGS["tiny"]
    script = Script(config, 1)
    full = config.output_rows // config.max_rows
    if missing == "output room":
        for _ in range(full):
            script.cycle((32, 32, 0, 1, 0))
            script.cycle(started=1)
            for _ in range(40):
                script.cycle()
        assert script.used == config.output_rows
    passes = len(script.goes)
    if missing != "tile":
        script.cycle((9, 1, 0, 0, 0), weights=int(missing != "weights"))
        if missing != "p":
            script.cycle(started=1, weights=int(missing != "weights"))
    for _ in range(30):
        assert not script.cycle(weights=int(missing != "weights"))
    assert len(script.goes) == passes
    if missing == "tile":
        script.push((9, 1, 0, 0, 0))
    elif missing == "p":
        script.cycle(started=1)
    elif missing == "output room":
        script.cycle(pop=1)
        for _ in range(2):
            assert not script.cycle()
    assert script.cycle()
    script.check(backend)


@BACKENDS
@pytest.mark.parametrize("rows", [1, 2, 6, 7, 8, 32])
def test_spacing_of_passes(rows, backend):
    """A row comes again after ROW_LOOP cycles at the earliest, and passes of that many rows have no gap."""
    script = Script(CONFIGS["tiny"], 4)
    idle = latency.idle(rows)
    script.push((rows, 0, idle, 0, 0))
    script.push((rows, 0, idle, 1, 1))
    while script.tiles:
        script.cycle()
    trace = script.check(backend)
    starts = cycles_of(trace["go"])
    assert starts == [starts[0] + max(rows, latency.ROW_LOOP) * index for index in range(8)]


@BACKENDS
@pytest.mark.parametrize("idle", range(latency.ROW_LOOP + 1))
def test_idle_cycles_before_a_tile(idle, backend):
    """They count from the last row of the tile before, and only ahead of the first chunk."""
    script = Script(CONFIGS["tiny"], 2)
    for _ in range(3):
        script.push((9, 0, idle, 0, 0))
    while script.tiles:
        script.cycle()
    starts = cycles_of(script.check(backend)["go"])
    assert [after - before for before, after in pairwise(starts)] == [9, 9 + idle, 9, 9 + idle, 9]


@BACKENDS
@pytest.mark.parametrize("wait", [1, 2, 5, 12])
def test_reset_in_the_middle_of_a_pass(wait, backend):
    """The tiles, their p and the output rows are forgotten; the ring is read from index 0 again."""
    script = Script(CONFIGS["tiny"], 2)
    for _ in range(3):
        script.cycle((8, 8, 0, 1, 0), started=0)
        script.cycle((3, 3, 0, 1, 1), started=1)
        for _ in range(wait):
            script.cycle(started=0)
        script.restart()
        for _ in range(4):
            assert not script.cycle()
    script.cycle((5, 5, 6, 1, 1))
    script.cycle(started=1)
    while script.tiles:
        script.cycle()
    script.check(backend)
