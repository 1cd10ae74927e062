"""The benchmark's cases: limits and other systems' figures, held by the cycle model; exact, by Verilator."""

from dataclasses import replace

import pytest

from gen import benchmark
from gen.benchmark import CASES, Case, fastest_block, lanes_sweep, measure, naive_sweep, quick
from gen.report import roofline, useful_macs, utilisation, visible_pairs
from golden.config import NAMED
from golden.cycles import cycles
from golden.job import Job, JobError
from golden.traffic import traffic
from tests.gen.conftest import engine

BY_NAME = {case.name: case for case in (*CASES, *naive_sweep(), *lanes_sweep())}


@pytest.mark.parametrize("case", BY_NAME.values(), ids=BY_NAME)
def test_limits_and_published_figures_are_kept(case):
    job = case.job()
    time, moved = cycles(case.config, job), traffic(case.config, job).total
    assert roofline(case.config, job) <= time.busy <= (case.limit or time.busy)
    assert moved <= (case.limit_bytes or moved)
    if case.published:
        assert time.busy < (case.published.busy or time.busy + 1)
        assert time.compute < (case.published.compute or time.compute + 1)
        assert moved <= (case.published.bytes or moved)


def test_the_names_are_distinct_and_the_issue_s_cases_are_there():
    assert len(BY_NAME) == len(CASES) + len(naive_sweep()) + len(lanes_sweep())
    limits = {case.limit for case in CASES if case.limit}
    assert limits == {265_000, 138_500, 17_700, 67_000, 8_450, 8_500, 4_500}
    published = {case.published.busy for case in CASES if case.published}
    assert published == {1657, 2133, 2937, 4113, 10_961, 2667}


def test_rooflines_of_decoding():
    one, grouped = (roofline(NAMED["base"], BY_NAME[name].job()) for name in ("decode_512", "decode_512_group4"))
    assert (one, grouped) == (8216, 8288)


def test_system_a_s_model_gives_its_published_figure():
    assert benchmark.system_a_cycles(16) == 1520
    assert [case.published.compute for case in lanes_sweep()] == [6800, 3984, 2576, 1872, 1520]


@pytest.mark.parametrize("name", ["n128_d64", "tiny_naive", "decode_512_group4", "lanes_1x8", "flash_n64"])
def test_no_block_size_that_was_tried_or_passed_over_is_faster(name):
    case = BY_NAME[name]
    most = min(case.config.max_rows, case.n_q * case.group)
    sizes = {*range(max(8, case.config.array_keys), most + 1, 4), most}
    figures = {}
    for rows in sizes:
        job = case.job(q_rows=rows)
        figures[rows] = cycles(case.config, job).busy, traffic(case.config, job).total
    assert figures[fastest_block(case)] == min(figures.values())


def test_blocks_that_do_not_fit_are_not_tried():
    case = BY_NAME["naive_n256"]
    assert fastest_block(case) < case.config.max_rows
    with pytest.raises(JobError, match="memory of tiny is too small for the case huge"):
        fastest_block(replace(case, name="huge", n_q=1024, n_kv=1024))


def test_quick_leaves_out_what_takes_long():
    left = {case.name for case in quick(list(BY_NAME.values()))}
    assert BY_NAME.keys() - left == {"n512_d64", "n512_d64_causal", "naive_n256"}
    assert all(cycles(BY_NAME[name].config, BY_NAME[name].job()).busy <= benchmark.LONG for name in left)


def test_useful_work_counts_heads_groups_and_windows():
    job = Job(5, 9, 4, 8, 0, 0, q_rows=4)
    assert visible_pairs(job) == 45
    assert visible_pairs(replace(job, heads=6, group=3)) == 270
    causal = replace(job, causal=True, q_position=4)
    assert visible_pairs(causal) == 5 + 6 + 7 + 8 + 9
    assert visible_pairs(replace(causal, window=6, heads=2)) == 2 * (5 + 6 + 6 + 6 + 6)
    assert useful_macs(job) == 45 * 12
    assert utilisation(NAMED["tiny"], [job], 45) == 12 / 32


def test_reports_and_progress(monkeypatch):
    monkeypatch.setattr(benchmark, "simulate", engine)
    chosen = [BY_NAME[name] for name in ("n16_d16_q88", "tiny_naive", "decode_512_group4", "tiny_4row")]
    first, naive, decode, last = measure(chosen, "verilator")
    assert [one["case"] for one in (first, naive, decode, last)] == [case.name for case in chosen]
    assert naive["cycles"]["limit"] == 4500 and naive["bytes"]["limit"] == naive["bytes"]["published"] == 12_672
    assert naive["bytes"]["read"] + naive["bytes"]["written"] == naive["bytes"]["predicted"]
    assert (naive["published_by"], naive["cycles"]["published"]) == ("system B", 10_961)
    assert (first["published_by"], first["cycles"]["published_compute"]) == ("system A", 1520)
    assert (decode["heads"], decode["group"], decode["published_by"]) == (4, 4, None)
    assert decode["macs"] == 4 * 512 * 128
    assert (last["q_rows"], last["bytes"]["read"], last["bytes"]["written"]) == (4, 2176, 256)


def test_a_difference_is_named(monkeypatch):
    def wrong(*arguments):
        first, *rest = engine(*arguments)
        return [replace(first, output=first.output + 1), *rest]

    monkeypatch.setattr(benchmark, "simulate", wrong)
    one, other = measure([BY_NAME["tiny_16row"], BY_NAME["tiny_4row"]], "verilator")
    assert one["bit_exact"] is False and one["mismatch"].startswith("output[0, 0] is ")
    assert other["bit_exact"] is True and other["mismatch"] is None


def _exact(cases):
    reports = measure(cases, "verilator", seed=3)
    assert [one["mismatch"] for one in reports] == [None] * len(cases)
    for one in reports:
        assert one["cycles"]["busy"] == one["cycles"]["predicted"]
        assert one["cycles"]["compute"] == one["cycles"]["predicted_compute"]


@pytest.mark.parametrize("config", ["tiny", "base"])
def test_quick_cases_are_exact(config):
    _exact([case for case in quick(CASES) if case.config == NAMED[config]])


@pytest.mark.slow
def test_all_cases_are_exact():
    _exact([*CASES, *naive_sweep(), *lanes_sweep()])


def test_progress_grows_to_the_end(monkeypatch):
    def simulated(config, runs, simulator, advance, notice):
        for done in (0, 50, 100):
            advance(done, 100)
        return engine(config, runs, simulator)

    monkeypatch.setattr(benchmark, "simulate", simulated)
    seen = []
    cases = [BY_NAME["tiny_16row"], Case("other", NAMED["q88"], 8, 8, 4)]
    measure(cases, "verilator", progress=lambda done, total: seen.append((done, total)))
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(done) and done[0] == 0 and done[-1] == totals[0] and len(set(totals)) == 1
