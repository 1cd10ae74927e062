"""The command `flashtile bench`: tables, JSON, files, and what it refuses."""

import json
import os
import sys
from dataclasses import replace

import pytest

from gen import benchmark, cli, cli_bench
from gen.outputs import OutputError
from gen.simulate import SimulatorError
from tests.gen.conftest import engine

QUICK = ("n128_d64", "n512_d64_wide", "decode_512", "decode_512_group4", "tiny_16row", "tiny_naive", "n16_d16_q88")


@pytest.fixture
def bench(capsys, monkeypatch):
    """Run the command on an engine that does what golden predicts; returns (exit code, stdout, stderr)."""
    monkeypatch.setattr(benchmark, "simulate", engine)

    def command(*arguments):
        code = cli.main(["bench", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_json(bench):
    code, out, err = bench("--json", "--quick", "--seed", 7)
    summary = json.loads(out)
    assert (code, err) == (0, "") and summary["bit_exact"] is True and summary["seed"] == 7
    assert summary["simulator"] in ("verilator", "icarus", "myhdl")
    names = [case["case"] for case in summary["cases"]]
    assert set(QUICK) < set(names) and "n512_d64" not in names
    assert [case["keys"] for case in summary["naive_sweep"]] == [8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 256]
    assert [case["case"] for case in summary["lanes_sweep"]] == [f"lanes_1x{lanes}" for lanes in (1, 2, 4, 8, 16)]
    for case in (*summary["cases"], *summary["naive_sweep"], *summary["lanes_sweep"]):
        assert case["bit_exact"] is True and case["mismatch"] is None
        assert case["cycles"]["busy"] == case["cycles"]["predicted"] >= case["cycles"]["roofline"]
        assert 0 < case["utilization"] < 1
        assert case["bytes"]["read"] + case["bytes"]["written"] == case["bytes"]["predicted"]


def test_tables(bench):
    code, out, err = bench("--quick")
    lines = out.splitlines()
    assert (code, err) == (0, "") and "\x1b" not in out and max(map(len, lines)) <= cli_bench.WIDTH
    assert lines[0] == "bit-exact: all 27 runs equal the golden model"
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["tiny_16row"][1:] == ["16", "378", "312", "256", "B", "1,657", "67.7%", "896", "896"]
    assert rows["n128_d64"][5] == "17,700"
    assert rows["n16_d16_q88"][5:9] == ["A", "2,667", "/", "1,520"]
    assert rows["256"] == ["256", "16,506", "35,840"]  # NAIVE is left out
    assert rows["1x16"][1:6] == ["16", "857", "571", "1,520", "2.7"]


def test_files(bench, tmp_path):
    folder = tmp_path / "deep" / "pictures"
    assert bench("--quick", "--output", folder)[0] == 0
    assert sorted(os.listdir(folder)) == sorted(cli_bench.FILES)
    before = {name: (folder / name).read_bytes() for name in cli_bench.FILES}
    assert json.loads(before["trace.json"])["otherData"]["config"] == "base"
    assert bench("--quick", "--output", folder, "--json")[0] == 0
    assert {name: (folder / name).read_bytes() for name in cli_bench.FILES} == before


def test_a_difference_gives_exit_code_1_and_no_files(bench, monkeypatch, tmp_path):
    def wrong(*arguments):
        first, *rest = engine(*arguments)
        return [replace(first, total=first.total + 1), *rest]

    monkeypatch.setattr(benchmark, "simulate", wrong)
    code, out, err = bench("--quick", "--output", tmp_path / "deep" / "pictures")
    assert (code, err) == (1, "") and out.startswith("NOT bit-exact: 9 of 27 runs\n  n128_d64: total[0] is ")
    assert os.listdir(tmp_path) == []
    code, out, _ = bench("--quick", "--json")
    assert code == 1 and json.loads(out)["bit_exact"] is False


@pytest.fixture
def refused(bench, monkeypatch):
    """Run with bad input; returns the sentence. Nothing may be simulated."""

    def command(*arguments):
        monkeypatch.setattr(benchmark, "measure", lambda *_: pytest.fail("simulated in spite of bad input"))
        code, out, err = bench(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("flashtile: error: ") and err.count("\n") == 1
        return err.removeprefix("flashtile: error: ").rstrip("\n")

    return command


def test_refusals(refused, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    for name, reason in (("file", "it is not a folder"), ("file/folder", "Not a directory")):
        message = f"cannot make the folder '{tmp_path / name}': {reason}; give another name"
        assert refused("--output", tmp_path / name) == message
    assert "the name of the folder is empty" in refused("--output", "")
    (tmp_path / "there" / "trace.json").mkdir(parents=True)
    assert "it is a directory" in refused("--output", tmp_path / "there")
    assert "--seed must be between 0 and" in refused("--seed", -1)
    assert "'x' is not a whole number" in refused("--seed", "x")
    assert "invalid choice" in refused("--simulator", "vcs")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'flashtile[plot]'" in refused("--output", tmp_path / "pictures")
    assert sorted(os.listdir(tmp_path)) == ["file", "there"] and (tmp_path / "file").read_text() == "mine"


def test_without_output_matplotlib_is_not_needed(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert bench("--quick", "--json")[0] == 0


@pytest.mark.parametrize("failure", [SimulatorError("g++ was killed"), KeyboardInterrupt()])
def test_a_failure_leaves_earlier_files(bench, monkeypatch, tmp_path, failure):
    def fail(*_):
        raise failure

    (tmp_path / "trace.json").write_text("old")
    monkeypatch.setattr(benchmark, "simulate", fail)
    assert bench("--quick", "--output", tmp_path)[0] == (2 if isinstance(failure, SimulatorError) else 130)
    assert os.listdir(tmp_path) == ["trace.json"] and (tmp_path / "trace.json").read_text() == "old"
    monkeypatch.setattr(benchmark, "simulate", engine)
    monkeypatch.setattr(cli_bench, "roofline_png", lambda _: fail())
    assert bench("--quick", "--output", tmp_path)[0] in (2, 130)
    assert (tmp_path / "trace.json").read_text() == "old"


def test_a_full_disk_is_one_sentence(bench, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OutputError("cannot write 'timeline.png': No space left on device; choose a writable place")

    monkeypatch.setattr(cli_bench, "replacing", full)
    code, out, err = bench("--quick", "--output", tmp_path / "pictures")
    assert (code, out) == (2, "") and "No space left on device" in err
    assert os.listdir(tmp_path) == []
