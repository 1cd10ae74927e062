"""Slices of a run, the trace and the pictures made of them."""

import json
import sys
from dataclasses import replace

import pytest

from gen import plots
from gen.benchmark import CASES, naive_sweep
from gen.outputs import OutputError
from gen.perfetto import trace, trace_text
from gen.timeline import TRACKS, occupied, slices
from golden.cycles import cycles
from golden.traffic import traffic

RUNS = {case.name: case for case in (*CASES, *naive_sweep()) if not case.name.startswith("n512")}
PNG = b"\x89PNG\r\n\x1a\n"


def run(name):
    case = RUNS[name]
    job = case.job()
    return case.config, job, cycles(case.config, job)


@pytest.mark.parametrize("name", ["n128_d64", "decode_512_group4", "tiny_16row", "tiny_4row_no_overlap", "tiny_naive"])
def test_slices_lie_within_busy_and_do_not_overlap(name):
    config, job, time = run(name)
    parts = list(slices(config, job, time))
    free = dict.fromkeys(TRACKS, 1)
    for part in parts:
        assert free[part.track] <= part.first < part.end <= time.busy + 1, part
        free[part.track] = part.end
    assert max(free.values()) == time.busy  # of which the last cycle comes after the last write
    used, moved = occupied(parts), traffic(config, job)
    assert (used["MM1"], used["MM2"]) == (moved.mm1_busy, moved.mm2_busy)
    assert used["DMA"] * config.word_bytes >= moved.read


def test_loads_have_their_operand():
    for name, operands in (("tiny_16row", "kqv"), ("tiny_naive", "kqvsp")):
        config, job, time = run(name)
        kinds = [part.kind for part in slices(config, job, time) if part.track == "DMA"]
        assert set(kinds) == set(operands) and kinds == [kind for kind, _, _ in time.loads]


@pytest.mark.parametrize("name", ["n128_d64", "tiny_naive"])
def test_the_trace_is_valid_and_the_same_twice(name):
    config, job, time = run(name)
    text = trace_text(config, job, time, "a run")
    assert text == trace_text(config, job, cycles(config, job), "a run")
    record = json.loads(text)
    assert record == trace(config, job, time, "a run")
    events = record["traceEvents"]
    threads = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert tuple(threads.values()) == TRACKS
    complete = [one for one in events if one["ph"] == "X"]
    assert {threads[one["tid"]] for one in complete} == set(TRACKS)
    for one in complete:
        assert one["dur"] > 0 and 0 < one["ts"] <= time.busy + 1 - one["dur"]
        assert one["name"] and one["cat"] == threads[one["tid"]]
    assert len(complete) == sum(map(len, (time.loads, time.mm1, time.softmax, time.mm2, time.writes)))
    assert record["otherData"]["busy"] == time.busy


@pytest.fixture
def reports():
    """Stands in for what the benchmark measured."""
    moved = {"read": 640, "written": 256}
    case = {"case": "tiny_16row", "config": "tiny", "macs": 8192, "utilization": 0.5, "bytes": moved}
    case["cycles"] = {"busy": 400}
    return [case, case | {"case": "n128_d64", "config": "base"}]


def test_pictures_are_the_same_twice(reports):
    config, job, time = run("tiny_16row")
    for make in (
        lambda: plots.roofline_png(reports),
        lambda: plots.timeline_png(config, job, time, "a run"),
        lambda: plots.timeline_png(*run("tiny_naive"), "NAIVE"),
    ):
        picture = make()
        assert picture.startswith(PNG) and 5_000 < len(picture) < 200_000
        assert picture == make()


def test_a_picture_does_not_depend_on_the_user_s_settings(reports):
    import matplotlib

    before = plots.roofline_png(reports)
    with matplotlib.rc_context({"font.size": 20, "savefig.dpi": 300}):
        assert plots.roofline_png(reports) == before


def test_without_matplotlib_one_sentence_says_what_to_do(monkeypatch, reports):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (plots.check_plotting, lambda: plots.roofline_png(reports)):
        with pytest.raises(OutputError, match=r"pictures need matplotlib, .*; pip install 'flashtile\[plot\]'"):
            draw()


def test_another_schedule_has_another_timeline():
    config, job, time = run("tiny_16row")
    causal = replace(job, causal=True)
    one, other = (plots.timeline_png(config, each, cycles(config, each), "a run") for each in (job, causal))
    assert one != other and time.busy > cycles(config, causal).busy
