import io
import sys
from dataclasses import replace

import numpy as np
import pytest

from gen import cli
from golden.presets import preset_names

TINY = ["run", "--config", "tiny"]


def test_without_arguments_a_real_head_runs_on_base(run):
    code, out, err = run("run")
    assert (code, err) == (0, "")
    for phrase in (
        "head systolic18_layer0_head3 of all-MiniLM-L6-v2",
        "18 queries x 18 keys, d 32, d_v 32, not causal",
        "base: int8, two 8x8 arrays, 8-byte memory port",
        "18 query rows a block, overlap on, latency 10",
        "yes: output, m, l and all counters equal the golden model",
        "cycle model",
        "roofline",
        "utilisation",
        "NAIVE",
    ):
        assert phrase in out
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_the_json_object_has_the_documented_keys(report):
    code, result = report("run")
    assert code == 0 and result["bit_exact"] is True and result["mismatch"] is None
    assert result["simulator"] == "verilator" and result["config"] == "base" and result["seed"] == 0
    assert result["cycles"].keys() >= {"busy", "compute", "predicted", "roofline"}
    assert result["cycles"]["busy"] == result["cycles"]["predicted"]
    assert 0 < result["utilization"] < 1
    assert result["bytes"].keys() >= {"read", "written", "predicted", "naive"}
    assert result["bytes"]["read"] == 3 * 18 * 32
    assert result["bytes"]["written"] == 2 * 18 * 32
    assert result["bytes"]["predicted"] == 5 * 18 * 32
    error = result["error"]
    assert 0 < error["datapath_mean"] < 0.0015 and error["datapath_max"] < 0.012
    assert error["max"] <= error["quantisation_max"] + 0.03 * error["v_step"]
    assert 0 < error["mean"] < error["max"]
    assert result["clipped"] == 0 and result["saturated"] is False


@pytest.mark.parametrize(
    ("options", "roofline", "read", "written", "naive"),
    [
        # 32 x 32 pairs x 4 elements on 16 multipliers an array; causal: 768 bytes of 4 a word
        (["--random", 32, 4, "--q-rows", 16], 256, 640, 256, 12672),
        (["--random", 32, 4, "--q-rows", 16, "--causal"], 192, 512, 256, 7296),
        (["--random", 32, 4, "--q-rows", 4], 608, 2176, 256, 12672),
    ],
)
def test_roofline_and_bytes(report, options, roofline, read, written, naive):
    _, result = report(*TINY, *options)
    assert result["cycles"]["roofline"] == roofline
    assert result["bytes"] == {"read": read, "written": written, "predicted": read + written, "naive": naive}
    pairs = 32 * 33 // 2 if "--causal" in options else 32 * 32
    assert result["utilization"] == pairs * 8 / (32 * result["cycles"]["busy"])


@pytest.mark.parametrize("name", preset_names())
def test_presets_show_the_published_error(run, report, name):
    code, result = report(*TINY, "--preset", name)
    assert code == 0
    error = result["error"]
    assert error["max"] <= error["quantisation_max"] + 0.03 * error["v_step"]
    assert result["causal"] == (name in ("toy-sentence", "previous-token", "attention-sink"))
    _, out, _ = run(*TINY, "--preset", name)
    assert f"{error['published_max']:.4g}" in out and "its published INT8 error for this preset" in out


def test_a_preset_with_another_mask_has_no_published_error(report):
    _, result = report(*TINY, "--preset", "self", "--causal")
    assert result["causal"] and result["error"]["published_max"] is None


def test_options_reach_the_job(report):
    _, result = report(
        *TINY, "--random", 9, 3, "--q-rows", 4, "--no-overlap", "--latency", 0, "--seed", 7, "--simulator", "myhdl"
    )
    wanted = {"queries": 9, "keys": 9, "dim": 3, "q_rows": 4, "overlap": False, "latency": 0, "seed": 7, "heads": 1}
    assert {key: result[key] for key in wanted} == wanted
    assert result["simulator"] == "myhdl"


def test_heads_of_a_file_are_summed(save, report, tmp_path):
    _, one = report(*TINY, "--input", save(tmp_path / "one.npz"))
    _, two = report(*TINY, "--input", save(tmp_path / "two.npz", ((2, 5, 4), (2, 7, 4), (2, 7, 3))))
    assert (one["heads"], two["heads"]) == (1, 2)
    for group in ("cycles", "bytes"):
        assert two[group] == {name: 2 * value for name, value in one[group].items()}
    assert two["utilization"] == pytest.approx(one["utilization"])


def test_q88_reports_v_steps_and_clipped_values(save, run, report, tmp_path):
    q = np.zeros((5, 4))
    q[0, 0] = 300
    path = save(tmp_path / "heads.npz", q=q)
    code, result = report("run", "--config", "q88", "--input", path)
    assert code == 0 and result["clipped"] == 1
    assert result["error"]["v_step"] == 1 / 256
    assert 0.1 < result["error"]["datapath_max"] < 2
    assert "1 input values were out of range and clipped" in run("run", "--config", "q88", "--input", path)[1]


def test_rows_that_see_no_key_give_zeros_and_a_report(save, report, tmp_path):
    path, output = save(tmp_path / "heads.npz", ((9, 4), (5, 4), (5, 3))), tmp_path / "o.npz"
    code, _ = report(*TINY, "--input", path, "--causal", "--output", output)
    assert code == 0
    with np.load(output) as archive:
        assert not archive["o"][:4].any() and archive["o"][4:].all(axis=1).any()


def test_tiny_values_and_zeros_run(save, report, tmp_path):
    zeros = np.zeros((7, 4))
    assert report(*TINY, "--input", save(tmp_path / "z.npz", q=zeros, k=zeros, v=zeros))[0] == 0
    assert (
        report(*TINY, "--input", save(tmp_path / "z.npz", q=zeros + 1e-300, k=zeros + 5e-324, v=zeros + 1e-310))[0] == 0
    )


def test_a_terminal_gets_colour(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.main(TINY) == 2  # d = 32 is too large for tiny
    assert cli.main([*TINY, "--preset", "self"]) == 0
    assert "\x1b[1;32m" in terminal.getvalue()


def differ(monkeypatch, engine, changes):
    """Let the engine's first head differ: `changes` maps fields to functions."""

    def wrong(*arguments, **keywords):
        first, *rest = engine(*arguments, **keywords)
        return [replace(first, **{name: change(getattr(first, name)) for name, change in changes.items()}), *rest]

    monkeypatch.setattr(cli, "simulate", wrong)


@pytest.mark.parametrize(
    ("changes", "mismatch"),
    [
        ({"output": lambda o: o + (np.arange(64).reshape(16, 4) == 6)}, "output[1, 2] is "),
        ({"maximum": lambda m: m + (np.arange(16) == 3)}, "maximum[3] is "),
        ({"total": lambda total: total - (np.arange(16) == 15)}, "total[15] is "),
        ({"counters": lambda c: c | {"busy": c["busy"] + 1}}, "counter busy is "),
        ({"counters": lambda c: c | {"k_bytes": 0}}, "counter k_bytes is 0, golden 64"),
        (
            {"counters": lambda c: {key: c[key] for key in c if key != "saturations"}},
            "counter saturations is None, golden 0",
        ),
    ],
)
def test_any_difference_is_named_and_gives_exit_code_1(run, report, quick, monkeypatch, tmp_path, changes, mismatch):
    differ(monkeypatch, quick, changes)
    output = tmp_path / "o.npz"
    code, result = report(*TINY, "--preset", "self", "--output", output)
    assert code == 1 and result["bit_exact"] is False
    assert result["mismatch"].startswith(f"head 0: {mismatch}")
    assert not output.exists()
    code, out, err = run(*TINY, "--preset", "self")
    assert (code, err) == (1, "")
    assert f"bit-exact  NO: head 0: {mismatch}" in out
