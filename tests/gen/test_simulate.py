"""The testbench: the same verbs on every simulator."""

import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from gen import cli
from gen.device import SteppedDevice
from gen.simulate import EngineFault, SimulatorError, play, simulate
from gen.verilator import VerilatorDevice
from golden.config import NAMED
from golden.job import JobError
from golden.layout import layout
from golden.memory_image import memory_image, to_words
from golden.predict import predict
from tests.engine_runs import need, random_run
from tests.gen.vcd import read_vcd

TINY = NAMED["tiny"]
ALL = pytest.mark.parametrize("simulator", ["verilator", "icarus", "myhdl"])
RUN = random_run(TINY, 5, 9, 7, 3, np.random.default_rng(0), causal=True, q_rows=4)


@ALL
def test_memory_reads_as_it_was_written(simulator):
    need(simulator)
    words = [int(word) for word in np.random.default_rng(1).integers(0, 1 << 32, 20)]

    def script(bench):
        bench.restart()
        bench.load(TINY.memory_words - 20, words)
        bench.load(7, [])
        return bench.read_back(TINY.memory_words - 20, 20), bench.read_back(TINY.memory_words - 1, 1)

    assert play(TINY, script, simulator) == (words, words[-1:])


@ALL
def test_ports_are_sampled_at_the_falling_edge(simulator):
    """busy rises with the edge that sees start, and counts every cycle until it falls."""
    need(simulator)
    place = layout(TINY, RUN.job)
    counters = predict(TINY, RUN.job, RUN.q, RUN.k, RUN.v).counters

    def script(bench):
        bench.restart()
        bench.load(0, to_words(memory_image(TINY, RUN.job, place, RUN.q, RUN.k, RUN.v), TINY))
        bench.step(3)
        assert not bench.busy
        bench.set("descriptor_q_position", -5)
        assert bench.get("start") == 0
        bench.start(RUN.job, place)
        seen = 0
        while bench.busy:
            seen += 1
            bench.step()
        return seen, bench.counters()

    assert play(TINY, script, simulator) == (counters["busy"], counters)


@ALL
def test_signed_ports_keep_their_sign(simulator):
    """Rows whose maximum is negative, and rows that come up are those of this run alone."""
    need(simulator)
    run = random_run(TINY, 4, 8, 4, 4, np.random.default_rng(3))
    run.k[:] = -run.q[0]  # at least the first row has only negative scores
    golden = predict(TINY, run.job, run.q, run.k, run.v).result
    assert (golden.maximum < 0).any()
    for result in simulate(TINY, [run, run], simulator):
        assert (result.maximum == golden.maximum).all() and (result.total == golden.total).all()


@ALL
def test_an_engine_that_hangs_is_found(simulator):
    need(simulator)

    def script(bench):
        bench.restart()
        bench.run(RUN, 50)

    with pytest.raises(EngineFault, match="the engine is at fault: the engine was still busy after 50 cycles"):
        play(TINY, script, simulator)


@ALL
@pytest.mark.parametrize("verb", ["where it has no operand", "rows became final"])
def test_what_no_run_may_do_is_found(simulator, verb, monkeypatch):
    need(simulator)
    device = VerilatorDevice if simulator == "verilator" else SteppedDevice
    if verb == "rows became final":
        rows = device.rows
        monkeypatch.setattr(device, "rows", lambda self: rows(self)[1:])
    else:
        read = device.read
        monkeypatch.setattr(device, "read", lambda *arguments: [word ^ 1 << 31 for word in read(*arguments)])
    with pytest.raises(EngineFault, match=verb):
        simulate(TINY, [RUN], simulator)


@ALL
def test_progress_counts_cycles(simulator):
    need(simulator)
    seen = []
    simulate(TINY, [RUN], simulator, lambda done, expected: seen.append((done, expected)))
    done, (expected,) = [done for done, _ in seen], {expected for _, expected in seen}
    assert done == sorted(done) and 0.7 * expected < done[-1] < expected + 100


def test_a_head_that_the_engine_cannot_run_is_refused():
    run = replace(RUN, job=replace(RUN.job, q_rows=TINY.max_rows + 1))
    with pytest.raises(JobError, match="query rows per block must be between 1 and 32"):
        simulate(TINY, [run])


def test_an_unknown_simulator_is_refused():
    with pytest.raises(SimulatorError, match="unknown simulator 'spice'; choose one of verilator, icarus, myhdl"):
        simulate(TINY, [RUN], "spice")


def test_ctrl_c_ends_a_long_wait():
    def script(bench):
        bench.set("reset", 0)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        bench.step(10**12)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        play(TINY, script, "verilator")
    assert time.monotonic() - start < 10


# ---- waveforms


def command(simulator, trace, *more):
    arguments = ["run", "--config", "tiny", "--random", "4", "4", "--seed", "3", "--simulator", simulator, "--json"]
    return cli.main([*arguments, *more, "--trace", str(trace)])


@ALL
def test_a_waveform_is_whole_and_names_scopes(simulator, tmp_path, capsys):
    need(simulator)
    trace = tmp_path / "run.vcd"
    trace.write_text("old")
    assert command(simulator, trace) == 0
    assert os.listdir(tmp_path) == ["run.vcd"]
    wave = read_vcd(trace)
    top = next(scope for scope in wave.scopes if scope.endswith("engine_system"))  # tb_engine_system of Icarus
    assert len(wave.scopes) > 1 and any("softmax" in name for names in wave.variables.values() for name, _ in names)
    half_periods = wave.changes[wave.code(f"{top}.clk")]
    busy = wave.code(f"{top}.busy")
    assert wave.changes[busy] >= 3 and wave.values[busy] == "0"
    # Reset, loading 4 x 3 words, start, the run, reading back: all of it is there.
    assert half_periods > 2 * 100 and wave.values[wave.code(f"{top}.clk")] == "0"


def test_the_simulators_draw_the_same_run(tmp_path, capsys):
    """busy, start and the clock change as often, whoever draws them."""
    need("icarus")
    counts = set()
    for simulator in ("verilator", "icarus", "myhdl"):
        trace = tmp_path / f"{simulator}.vcd"
        assert command(simulator, trace) == 0
        wave = read_vcd(trace)
        paths = [path for names in wave.variables.values() for path, _ in names]
        ports = [next(path for path in paths if path.endswith(f"engine_system.{port}")) for port in ("clk", "start")]
        counts.add(tuple(wave.changes[wave.code(path)] for path in ports))
    (clock, start) = max(counts)
    assert start == 3 and len({start for _, start in counts}) == 1
    assert all(clock - 2 <= other <= clock for other, _ in counts)


@ALL
@pytest.mark.parametrize("failure", [KeyboardInterrupt, EngineFault])
def test_a_run_that_fails_leaves_no_half_written_waveform(simulator, failure, tmp_path, monkeypatch, capsys):
    """Interrupted, the old file stays; an engine at fault leaves a waveform that is whole up to the fault."""
    need(simulator)
    trace = tmp_path / "run.vcd"
    trace.write_text("old")

    def stop(device, limit):
        device.step(20)
        if failure is KeyboardInterrupt:
            raise KeyboardInterrupt

    monkeypatch.setattr(VerilatorDevice if simulator == "verilator" else SteppedDevice, "wait", stop)
    assert command(simulator, trace) == (130 if failure is KeyboardInterrupt else 1)
    assert os.listdir(tmp_path) == ["run.vcd"]
    if failure is KeyboardInterrupt:
        assert trace.read_text() == "old"
    else:
        assert read_vcd(trace).time > 0


@pytest.mark.parametrize(
    ("trace", "sentence"),
    [
        ("run.fst", "--trace writes the format VCD, not 'run.fst'; give the name of a .vcd file"),
        (".", "cannot write '.': it is a directory; give the name of a .vcd file"),
        ("no/run.vcd", "cannot write 'no/run.vcd': there is no directory"),
        ("pipe.vcd", "cannot write 'pipe.vcd': it is not a regular file"),
        ("in.npz", "--trace 'in.npz' is the input file; give another name"),
        ("./o.npz", "--trace './o.npz' is the --output file; give another name"),
    ],
)
def test_waveforms_that_cannot_be_written_are_named_first(save, refuse, tmp_path, monkeypatch, trace, sentence):
    monkeypatch.chdir(tmp_path)
    save("in.npz")
    os.mkfifo("pipe.vcd")
    said = refuse("run", "--config", "tiny", "--input", "in.npz", "--output", "o.npz", "--trace", trace)
    assert sentence in said
    assert sorted(os.listdir()) == ["in.npz", "pipe.vcd"]


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])  # MyHDL replaces what stands in its place
def test_a_full_disk_during_the_waveform_is_one_sentence(simulator, tmp_path, capsys):
    need(simulator)
    trace = tmp_path / "run.vcd"
    trace.write_text("old")
    (tmp_path / f".flashtile-{os.getpid()}.vcd").symlink_to("/dev/full")
    assert command(simulator, trace) == 2
    assert f"cannot write {str(trace)!r}: No space left on device" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["run.vcd"] and trace.read_text() == "old"
