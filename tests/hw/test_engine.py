"""The engine end to end: every output bit and every counter equals golden's.

As converted Verilog in Verilator, whose registers start with random values; samples in Icarus, whose registers start
unknown, and in MyHDL.
"""


import numpy as np
import pytest

from gen.simulate import play
from golden.config import NAMED, EngineConfig
from golden.cycles import cycles
from golden.job import Job
from golden.layout import layout
from golden.predict import predict
from golden.presets import load_preset, preset_names
from golden.traffic import traffic
from tests.engine_runs import assert_exact, need, random_run, raw_run, run_of

TINY = NAMED["tiny"]


def seeded_run(seed):
    """The run of one seed: N = 4..32, d = 1..16, causal or not, all block sizes, overlap, latency."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(4, 33)), int(rng.integers(1, 17))
    return random_run(
        TINY,
        n,
        n,
        dim,
        dim,
        rng,
        causal=bool(rng.integers(2)),
        q_rows=int(rng.choice([4, 8, 16, 32])),
        overlap=bool(rng.integers(2)),
        latency=int(rng.integers(65)),
    )


def shaped_run(config, seed, limit=32):
    """A run whose sizes are all drawn on their own, query position and block size included."""
    rng = np.random.default_rng(seed)
    n_q, n_kv = int(rng.integers(1, limit + 1)), int(rng.integers(1, limit + 1))
    dim, value_dim = (int(rng.integers(1, min(config.max_dim, 40) + 1)) for _ in range(2))
    return random_run(
        config,
        n_q,
        n_kv,
        dim,
        value_dim,
        rng,
        causal=bool(rng.integers(2)),
        q_position=int(rng.integers(-n_q - 3, n_kv + 4)),
        q_rows=int(rng.integers(1, config.max_rows + 1)),
        overlap=bool(rng.integers(2)),
        latency=int(rng.choice([0, 1, 2, 3, 10, 63, 64])),
    )


@pytest.mark.parametrize(("simulator", "count"), [("verilator", 16), ("icarus", 10), ("myhdl", 4)])
def test_seeds(simulator, count):
    assert_exact(TINY, [seeded_run(seed) for seed in range(1000, 1000 + count)], simulator)


@pytest.mark.slow
@pytest.mark.parametrize(("simulator", "step"), [("verilator", 1), ("icarus", 20)])
def test_200_seeds(simulator, step):
    assert_exact(TINY, [seeded_run(seed) for seed in range(0, 200, step)], simulator)


@pytest.mark.parametrize("name", ["tiny", "q88", "lanes16", "base"])
def test_every_configuration(name):
    assert_exact(NAMED[name], [shaped_run(NAMED[name], seed, 12) for seed in (1, 2)], "verilator")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "wide", "q88", "lanes16"])
def test_every_configuration_at_length(name):
    assert_exact(NAMED[name], [shaped_run(NAMED[name], seed, 40) for seed in range(10, 18)], "verilator")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "wide", "q88", "lanes16"])
def test_every_configuration_in_icarus(name):
    limit = 12 if name == "wide" else 40  # Icarus needs a minute for a run of 16x16 arrays
    assert_exact(NAMED[name], [shaped_run(NAMED[name], seed, limit) for seed in (10, 11)], "icarus")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "q88", "lanes16"])
def test_every_configuration_in_myhdl(name):
    assert_exact(NAMED[name], [shaped_run(NAMED[name], 3, 16)], "myhdl")


# Shapes that no named configuration has: blocks shorter than a tile, one of everything, words wider and narrower than
# chunks, and a write queue that a block fills.
ODD = [
    EngineConfig("short_blocks", "int8", 4, 16, 4, 16, 4, 64, 4096),
    EngineConfig("smallest", "int8", 1, 1, 2, 1, 1, 16, 256),
    EngineConfig("wide_word", "int8", 1, 8, 16, 4, 8, 64, 8192),
    EngineConfig("narrow_word", "int8", 16, 2, 2, 32, 2, 64, 65536),
    EngineConfig("deep", "q8.8", 16, 1, 16, 16, 4, 32, 4096),
]


@pytest.mark.parametrize(
    "config",
    [pytest.param(config, id=config.name, marks=[] if config in ODD[:2] else pytest.mark.slow) for config in ODD],
)
def test_odd_configurations(config):
    runs = [shaped_run(config, seed, min(12, config.max_keys)) for seed in range(20, 24)]
    assert_exact(config, runs, "verilator")


def test_rows_come_back_as_early_as_they_may():
    """Tiles of two keys arrive faster than a row's state can be updated: latency.ROW_LOOP alone spaces the passes."""
    config = EngineConfig("two_keys", "int8", 4, 2, 8, 4, 8, 64, 4096)
    rng = np.random.default_rng(5)
    runs = [random_run(config, 4, 12, 4, 4, rng, q_rows=rows, latency=2) for rows in (4, 2, 1)]
    assert_exact(config, runs, "myhdl")


def extremes(config, n_q, n_kv, dim):
    """All combinations of full-scale operands, one outlier among zeros, equal rows, all zero."""
    top, bottom = (1 << (config.element_bits - 1)) - 1, -(1 << (config.element_bits - 1))

    def full(rows, value):
        return np.full((rows, dim), value)

    def outlier(rows):
        array = np.zeros((rows, dim), dtype=np.int64)
        array[rows // 2, dim // 2] = bottom
        return array

    rng = np.random.default_rng(7)
    row = rng.integers(bottom, top + 1, (1, dim))
    alternating = np.where(np.indices((n_kv, dim)).sum(axis=0) % 2, top, bottom)
    for q, k, v in (
        (full(n_q, top), full(n_kv, top), full(n_kv, top)),
        (full(n_q, bottom), full(n_kv, bottom), full(n_kv, bottom)),
        (full(n_q, top), full(n_kv, bottom), full(n_kv, bottom)),
        (full(n_q, bottom), alternating, alternating),
        (outlier(n_q), outlier(n_kv), outlier(n_kv)),
        (np.repeat(row, n_q, 0), np.repeat(row, n_kv, 0), np.repeat(row, n_kv, 0)),
        (full(n_q, 0), full(n_kv, 0), full(n_kv, 0)),
    ):
        # The largest scale saturates z; the middle one leaves a spread; 0 is uniform attention.
        for scale in ((65535, 0), (40000, 12 + 2 * config.element_bits), (0, 0)):
            yield raw_run(q, k, v, scale)


@pytest.mark.parametrize("name", ["tiny", "q88"])
def test_extremes(name):
    config = NAMED[name]
    runs = list(extremes(config, 5, 11, config.max_dim))
    results = assert_exact(config, runs, "verilator")
    assert any(result.counters["saturations"] for result in results)
    assert not all(result.counters["saturations"] for result in results)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lanes16", "base"])
def test_extremes_of_wider_arrays(name):
    config = NAMED[name]
    assert_exact(config, list(extremes(config, 3, 19, 16)), "verilator")


@pytest.mark.parametrize("value", [-128, 127])
@pytest.mark.parametrize(
    "simulator",
    ["verilator", pytest.param("icarus", marks=pytest.mark.slow), pytest.param("myhdl", marks=pytest.mark.slow)],
)
def test_largest_key_count(value, simulator):
    """Every key counts fully (p = 1), so that l and O reach their largest values."""
    q, k, v = np.full((2, 4), 127), np.full((TINY.max_keys, 4), 127), np.full((TINY.max_keys, 4), value)
    (result,) = assert_exact(TINY, [raw_run(q, k, v, (0, 0))], simulator)
    assert (result.total == TINY.max_keys << 16).all()
    assert (result.output == 256 * value).all()


def test_output_depends_on_data_alone():
    """Blocks, overlap and latency change cycles and bytes, never the result."""
    rng = np.random.default_rng(11)
    q, k, v = (rng.standard_normal((21, 6)) for _ in range(3))
    for causal in (False, True):
        runs = [
            run_of(TINY, q, k, v, causal=causal, q_rows=rows, overlap=overlap, latency=latency)
            for rows, overlap, latency in ((21, True, 10), (1, True, 0), (8, False, 3), (32, False, 64), (5, True, 64))
        ]
        first, *others = assert_exact(TINY, runs, "verilator")
        for other in others:
            assert (other.output == first.output).all()
            assert (other.maximum == first.maximum).all()
            assert (other.total == first.total).all()


@pytest.mark.parametrize(
    ("cuts", "simulator"),
    [
        (range(1, 240), "verilator"),
        ((3, 38, 120), "icarus"),
        pytest.param((1, 17, 71), "myhdl", marks=pytest.mark.slow),
    ],
)
def test_reset_at_any_cycle_leaves_it_ready(cuts, simulator):
    need(simulator)
    run = random_run(TINY, 9, 10, 5, 6, np.random.default_rng(1), q_rows=4)
    place = layout(TINY, run.job)
    prediction = predict(TINY, run.job, run.q, run.k, run.v)
    cuts = [cut for cut in cuts if cut < prediction.counters["busy"]]
    assert cuts

    def script(bench):
        bench.restart()
        for cut in cuts:
            bench.start(run.job, place)
            for _ in range(cut):
                assert bench.busy
                bench.step()
            bench.restart(1)
            assert not bench.busy
            yield bench.run(run, 2000)

    for result in play(TINY, lambda bench: list(script(bench)), simulator):
        assert (result.output == prediction.result.output).all()
        assert result.counters == prediction.counters


def test_rows_that_see_no_key():
    (result,) = assert_exact(TINY, [shaped_causal(n_q=9, n_kv=3)], "verilator")
    assert not result.output[:6].any() and not result.total[:6].any()
    assert result.output[6:].any() and result.total[6:].all()


def shaped_causal(n_q, n_kv):
    return random_run(TINY, n_q, n_kv, 5, 3, np.random.default_rng(3), causal=True, q_rows=4)


@pytest.mark.parametrize("name", preset_names())
def test_presets(name):
    preset = load_preset(name)
    assert_exact(TINY, [run_of(TINY, preset.q, preset.k, preset.v, causal=preset.causal)], "verilator")


# N=32 d=4 on tiny, latency 10: (q_rows, causal, overlap), the most busy cycles and the bytes that are allowed.
TINY_LIMITS = [
    ((16, False, True), 400, 896),
    ((32, False, True), 410, 640),
    ((4, False, True), 720, 2432),
    ((16, True, True), 300, 768),
    ((4, True, True), 720, 1536),
    ((16, False, False), 2133, 896),
    ((4, False, False), 4113, 2432),
]


@pytest.mark.parametrize(("how", "busy", "moved"), TINY_LIMITS)
def test_cycles_and_bytes_at_32_by_4(how, busy, moved):
    q_rows, causal, overlap = how
    job = Job(32, 32, 4, 4, 40000, 15, q_rows=q_rows, causal=causal, overlap=overlap, latency=10)
    assert cycles(TINY, job).busy <= busy
    assert traffic(TINY, job).total == moved
    run = random_run(
        TINY, 32, 32, 4, 4, np.random.default_rng(0), q_rows=q_rows, causal=causal, overlap=overlap, latency=10
    )
    (result,) = assert_exact(TINY, [run], "verilator")
    assert result.counters["busy"] <= busy
    assert result.counters["memory_read_bytes"] + result.counters["memory_write_bytes"] == moved


@pytest.mark.parametrize(("name", "compute", "busy"), [("q88", 400, 650), ("lanes16", 590, None)])
def test_cycles_at_16_by_16(name, compute, busy):
    config = NAMED[name]
    (result,) = assert_exact(config, [random_run(config, 16, 16, 16, 16, np.random.default_rng(0))], "verilator")
    assert result.counters["compute"] <= compute
    assert busy is None or result.counters["busy"] <= busy
