"""The command `flashtile numerics`: what it prints and writes, and what it refuses."""

import json
import os
import sys

import pytest

from gen import cli, numerics_plot
from gen.numerics_report import file_text


@pytest.fixture
def numerics(capsys):
    """Run the command; returns (exit code, stdout, stderr)."""

    def command(*arguments):
        code = cli.main(["numerics", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def refused(numerics):
    """Run with bad input; returns the sentence."""

    def command(*arguments):
        code, out, err = numerics(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("flashtile: error: ") and err.count("\n") == 1
        return err.removeprefix("flashtile: error: ").rstrip("\n")

    return command


def test_files_and_text(numerics, tmp_path):
    code, out, err = numerics("--seeds", 1, "--output", tmp_path)
    assert (code, err) == (0, "")
    assert "N=32, d=4: 1 seed\n" in out and "output: 8 fraction bits" in out and "Q8.8 max" in out
    assert all(len(line) <= 80 and "…" not in line for line in out.splitlines())
    assert sorted(os.listdir(tmp_path)) == ["numerics.json", "numerics.png"]
    report = json.loads((tmp_path / "numerics.json").read_text(encoding="utf-8"))
    assert (report["seeds"], len(report["cases"])) == (1, 120)

    picture = (tmp_path / "numerics.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and not any(word in picture for word in (b"tEXt", b"tIME", b"iTXt"))
    numerics_plot.write_plot(report, tmp_path / "again.png")
    assert (tmp_path / "again.png").read_bytes() == picture


def test_json(numerics):
    code, out, err = numerics("--seeds", 1, "--json")
    report = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert json.loads(file_text(report)) == report
    assert {"seeds", "block", "unit", "cases", "budget", "row_sums"} == set(report)


def test_refusals(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("gen.cli_numerics.build", None)  # all are found before the run
    assert refused("--seeds", 0) == "--seeds must be between 1 and 100000, not 0"
    assert "'x' is not a whole number" in refused("--seeds", "x")
    assert refused("--output", "") == "the name of the folder is empty; give a folder"
    (tmp_path / "file").write_text("")
    assert refused("--output", tmp_path / "file") == (
        f"cannot write into '{tmp_path / 'file'}': it is not a directory; give another name"
    )
    missing = tmp_path / "missing"
    assert f"there is no directory '{missing}'; create it first" in refused("--output", missing)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert refused("--output", tmp_path) == (
        "the plot of --output needs matplotlib, which is not installed; install it, for instance with "
        "pip install 'flashtile[plot]', or leave --output out"
    )
    assert os.listdir(tmp_path) == ["file"]


def test_without_output_matplotlib_is_not_needed(numerics, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert numerics("--seeds", 1, "--json")[0] == 0
