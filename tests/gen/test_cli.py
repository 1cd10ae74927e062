import io
import json
import os
import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from gen import cli
from gen.simulate import EngineFault, SimulatorError
from golden.config import NAMED

TINY = ["run", "--config", "tiny"]


def test_the_simulation_itself_is_bit_exact(report, monkeypatch):
    monkeypatch.undo()
    code, result = report(*TINY, "--preset", "toy-sentence", "--simulator", "myhdl", "--q-rows", 8)
    assert (code, result["mismatch"]) == (0, None)


# ---- output


def test_the_output_is_the_dequantised_result(save, run, tmp_path):
    path = save(tmp_path / "heads.npz", ((2, 5, 4), (2, 7, 4), (2, 7, 3)))
    output = tmp_path / "o.npz"
    assert run(*TINY, "--input", path, "--output", output)[0] == 0
    with np.load(path) as archive, np.load(output) as result:
        o = result["o"]
        assert result.files == ["o"] and o.shape == (2, 5, 3) and o.dtype == np.float64
        for head in range(2):
            scores = archive["q"][head] @ archive["k"][head].T / 2
            weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            assert o[head] == pytest.approx(weights @ archive["v"][head], abs=0.05)
    assert sorted(os.listdir(tmp_path)) == ["heads.npz", "o.npz"]


def test_an_earlier_output_is_replaced_even_through_a_link(run, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "o.npz").write_text("old")
    (tmp_path / "link.npz").symlink_to(tmp_path / "real" / "o.npz")
    assert run(*TINY, "--preset", "self", "--output", tmp_path / "link.npz")[0] == 0
    assert (tmp_path / "link.npz").is_symlink()
    with np.load(tmp_path / "real" / "o.npz") as archive:
        assert archive["o"].shape == (16, 4)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SimulatorError("vvp was killed")])
def test_a_run_that_fails_leaves_an_earlier_output_alone(run, monkeypatch, tmp_path, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr(cli, "simulate", fail)
    output = tmp_path / "o.npz"
    output.write_text("old")
    code, out, err = run(*TINY, "--preset", "self", "--output", output)
    assert out == "" and "Traceback" not in err
    if isinstance(failure, KeyboardInterrupt):
        assert (code, err) == (130, "flashtile: error: interrupted\n")
    else:
        assert (code, err) == (2, "flashtile: error: vvp was killed\n")
    assert output.read_text() == "old" and os.listdir(tmp_path) == ["o.npz"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_write_that_fails_leaves_nothing_half_written(run, monkeypatch, tmp_path, failure):
    def fail(file, **_):
        file.write(b"half")
        raise failure

    monkeypatch.setattr(np, "savez", fail)
    output = tmp_path / "o.npz"
    output.write_text("old")
    code, out, err = run(*TINY, "--preset", "self", "--output", output)
    assert code == (130 if isinstance(failure, KeyboardInterrupt) else 2) and out == ""
    assert "interrupted" in err or f"cannot write {str(output)!r}: No space left on device" in err
    assert output.read_text() == "old" and os.listdir(tmp_path) == ["o.npz"]


# ---- progress


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("terminal", "after", "drawn"), [(True, 0, True), (True, 60, False), (False, 0, False)])
def test_a_bar_appears_on_a_terminal_once_it_takes_long(quick, monkeypatch, capsys, terminal, after, drawn):
    def slow(config, runs, simulator, progress=None, notice=None):
        if progress:
            for cycle in range(0, 400, 100):
                progress(cycle, 354)
        return quick(config, runs, simulator)

    screen = Screen() if terminal else io.StringIO()
    monkeypatch.setattr(cli, "simulate", slow)
    monkeypatch.setattr("gen.terminal.PROGRESS_AFTER", after)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert cli.main([*TINY, "--preset", "self", "--json"]) == 0
    assert ("simulating" in screen.getvalue()) is drawn
    assert drawn or screen.getvalue() == ""
    json.loads(capsys.readouterr().out)


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "the following arguments are required: COMMAND; see flashtile --help"),
        (["walk"], "invalid choice: 'walk'"),
        (["run", "--lanes", "3"], "unrecognized arguments: --lanes 3"),
        (["run", "--causa"], "unrecognized arguments: --causa"),
        (["run", "--latency", "ten"], "argument --latency: 'ten' is not a whole number; see flashtile run --help"),
        (["run", "--latency"], "argument --latency: expected one argument"),
        (["run", "--random", "4"], "argument --random: expected 2 arguments"),
        (["run", "--random", "4", "2.5"], "argument --random: '2.5' is not a whole number"),
        (["run", "--simulator", "spice"], "argument --simulator: invalid choice: 'spice' (choose from "),
        (["run", "--preset", "selfie"], "unknown preset 'selfie'; choose one of toy-sentence, "),
        (["run", "--head", "layer0"], "unknown head 'layer0'; choose one of systolic18_layer0_head3, "),
        (["run", "--config", "huge"], "unknown configuration 'huge'; choose one of tiny, base, "),
        (["run", "--config", "nowhere.json"], "cannot read configuration file 'nowhere.json': No such file"),
        (["run", "--input", "nowhere.npz"], "cannot read 'nowhere.npz': there is no such file"),
        (["run", "--input", ""], "cannot read '': there is no such file"),
        (["run", "--preset", "self", "--head", "x"], "--preset and --head are both data sources; give only one"),
        (["run", "--input", "x", "--random", "4", "4"], "--input and --random are both data sources"),
        (["run", "--random", "4", "65"], "D of --random must be between 1 and 64 (max_dim of base), not 65"),
        (["run", "--random", "-4", "4"], "N of --random must be between 1 and 4096 (max_keys of base), not -4"),
        (["run", "--random", "4", "4", "--seed", "-1"], "--seed must be at least 0, not -1"),
        (["run", "--q-rows", "0"], "query rows per block must be between 1 and 64 (max_rows of base), not 0"),
        (["run", "--q-rows", "65"], "query rows per block must be between 1 and 64 (max_rows of base), not 65"),
        (["run", "--latency", "-1"], "memory latency must be between 0 and 64 cycles, not -1"),
        (["run", "--latency", "65"], "memory latency must be between 0 and 64 cycles, not 65"),
        (TINY, "head dimension must be between 1 and 16 (max_dim of tiny), not 32"),
        ([*TINY, "--random", "1024", "16"], "memory of tiny is too small: the run needs 81920 bytes, memory_bytes is"),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(refuse, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    assert sentence in refuse(*arguments, *(["--output", "o.npz"] if arguments else []))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"k": np.ones((7, 4), dtype=complex)}, "array 'k' of 'in.npz' has dtype complex128"),
        ({"k": np.array([[None]])}, "array 'k' of 'in.npz' holds Python objects"),
        ({"q": np.ones(4)}, "array 'q' of 'in.npz' has shape (4,); it must be [n, d] or [heads, n, d]"),
        ({"v": np.ones((6, 3))}, "shapes in 'in.npz' do not fit (q (5, 4), k (7, 4), v (6, 3))"),
        ({"q": np.ones((0, 4))}, "array 'q' of 'in.npz', shape (0, 4), has no rows (an empty sequence)"),
        ({"q": np.ones((5, 0)), "k": np.ones((7, 0))}, "array 'q' of 'in.npz', shape (5, 0), has no columns"),
        ({"v": np.full((7, 3), np.nan)}, "v[0, 0] of 'in.npz' is nan; all values must be finite"),
        ({"q": np.full((5, 4), 1e200), "k": np.full((7, 4), 1e200)}, "values in 'in.npz' are too large"),
        ({"q": np.ones((5, 17)), "k": np.ones((7, 17))}, "head dimension must be between 1 and 16"),
        ({"v": np.ones((7, 17))}, "value dimension must be between 1 and 16 (max_dim of tiny), not 17"),
        ({"q": np.ones((1025, 4))}, "number of queries must be between 1 and 1024 (max_keys of tiny), not 1025"),
        ({"k": np.ones((1025, 4)), "v": np.ones((1025, 3))}, "number of keys must be between 1 and 1024"),
    ],
)
def test_bad_arrays_are_named_in_one_sentence(save, refuse, tmp_path, monkeypatch, changes, sentence):
    monkeypatch.chdir(tmp_path)
    save("in.npz", **changes)
    assert sentence in refuse(*TINY, "--input", "in.npz", "--output", "o.npz")
    assert os.listdir(tmp_path) == ["in.npz"]


@pytest.mark.parametrize("content", [pickle.dumps([1, 2]), b"", b"PK\x03\x04 but no archive"])
def test_bad_files_are_named_in_one_sentence(refuse, tmp_path, content):
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    assert repr(str(path)) in refuse("run", "--input", path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not JSON"),
        ("[1]", "must hold one JSON object, not a list"),
        ('{"name": "x", "lanes": 3}', "unknown parameter 'lanes' in"),
        ('{"name": "x"}', "parameter 'element' is missing in"),
        (NAMED["tiny"].to_json().replace('"array_keys": 4', '"array_keys": 3'), "array_keys must be a power of two"),
        (NAMED["tiny"].to_json().replace('"array_keys": 4', '"array_keys": 32'), "array_keys must be between 1 and 16"),
    ],
)
def test_a_configuration_that_cannot_be_built_names_the_parameter(refuse, tmp_path, content, sentence):
    path = tmp_path / "mine.json"
    path.write_text(content)
    assert sentence in refuse("run", "--config", path)


def test_a_configuration_file_works(report, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(NAMED["tiny"].to_json().replace('"tiny"', '"mine"'))
    code, result = report("run", "--config", path, "--preset", "self")
    assert (code, result["config"]) == (0, "mine")


def test_outputs_that_cannot_be_written_are_named_before_the_run(save, refuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("in.npz")
    before = Path("in.npz").read_bytes()
    os.mkfifo("pipe")
    run = [*TINY, "--input", "in.npz", "--output"]
    assert "cannot write '.': it is a directory" in refuse(*run, ".")
    assert "cannot write '': it is a directory" in refuse(*run, "")
    assert "cannot write 'new/': it is a directory" in refuse(*run, "new/")
    assert "cannot write 'new/o.npz': there is no directory" in refuse(*run, "new/o.npz")
    assert "cannot write 'in.npz/o.npz': there is no directory" in refuse(*run, "in.npz/o.npz")
    assert "cannot write 'pipe': it is not a regular file" in refuse(*run, "pipe")
    assert "cannot write '/dev/null': it is not a regular file" in refuse(*run, "/dev/null")
    assert "File name too long" in refuse(*run, 300 * "o")
    assert "--output './in.npz' is the input file; give another name" in refuse(*run, "./in.npz")
    assert Path("in.npz").read_bytes() == before and sorted(os.listdir()) == ["in.npz", "pipe"]


def test_write_protection_is_noticed_before_the_run(refuse, tmp_path, monkeypatch):
    (tmp_path / "o.npz").write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "o.npz': the file is write-protected" in refuse(*TINY, "--preset", "self", "--output", tmp_path / "o.npz")

    def full(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert "new.npz': Read-only file system" in refuse(*TINY, "--preset", "self", "--output", tmp_path / "new.npz")
    assert (tmp_path / "o.npz").read_text() == "old"


def test_too_little_memory_is_one_sentence(run, monkeypatch):
    def exhaust(*_):
        raise MemoryError

    monkeypatch.setattr(cli, "simulate", exhaust)
    code, out, err = run(*TINY, "--preset", "self")
    assert (code, out) == (2, "") and "memory is too small for this run" in err


def test_help_lists_presets_and_heads(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert "toy-sentence" in out and "long146_layer4_head5" in out and "lanes16" in out


def test_a_fault_of_the_engine_is_no_bad_input(run, monkeypatch):
    def faulty(*_):
        raise EngineFault("the engine is at fault: it was still busy after 9 cycles")

    monkeypatch.setattr(cli, "simulate", faulty)
    code, out, err = run(*TINY, "--preset", "self")
    assert (code, out) == (1, "")
    assert err == "flashtile: error: the engine is at fault: it was still busy after 9 cycles\n"


def test_standard_output_closed(run, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert cli.main([*TINY, "--preset", "self"]) == 2
