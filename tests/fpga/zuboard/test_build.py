"""The build with a program `vivado` that is a stand-in, and without any."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from fpga.build_error import BuildError
from fpga.zuboard import build as builds
from fpga.zuboard.build import build
from golden.config import NAMED, ConfigError
from tests.fpga.zuboard import vivado_stub
from tests.fpga.zuboard.projects import config, copy_project, project

ROOT = vivado_stub.STUB.parents[3]


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(builds, "write_project", copy_project)


@pytest.fixture
def no_vivado(monkeypatch, tmp_path):
    # A PATH with what make needs, and no vivado on it, whatever this machine has.
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("make", "sh", "env"):
        (tools / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tools))


@pytest.fixture
def vivado(monkeypatch, tmp_path):
    return lambda **settings: vivado_stub.install(tmp_path / "bin", monkeypatch, **settings)


def test_project_only(no_vivado, tmp_path):
    seen = []
    report = build(config(), tmp_path / "out", True, lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] and seen == sorted(seen)
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["bitstream"] is report["vivado"] is report["timing"] is None
    assert (report["config"], report["part"], report["registers"]) == ("small64", "xczu1cg-sbva484-1-e", 0xA0000000)
    assert json.loads((tmp_path / "out" / "config.json").read_text())["memory_bytes"] == 1 << 26
    assert {"Makefile", "rtl", "zuboard.tcl", "zuboard.xdc", "block_design.tcl"} <= names(tmp_path / "out")


def test_without_vivado_the_project_is_complete_and_the_build_fails(quick, no_vivado, tmp_path):
    with pytest.raises(BuildError, match=r"no program 'vivado' on PATH: run make in '.*out'.*--project-only"):
        build(config(), tmp_path / "out")
    assert "zuboard.tcl" in names(tmp_path / "out")


def test_project_only_does_not_call_vivado(quick, vivado, tmp_path):
    vivado(crash="1")
    assert build(config(), tmp_path / "out", True)["bitstream"] is None


def test_build(quick, vivado, tmp_path):
    vivado()
    report = build(config(128), tmp_path / "out")
    assert (report["vivado"], report["bitstream"], report["hwh"]) == ("v2023.2", "zuboard.bit", "zuboard.hwh")
    assert report["timing"]["wns"] == 0.212 and report["utilisation"]["dsp"] == 154
    assert (tmp_path / "out" / "zuboard.bit").read_text() == "a bitstream\n"
    assert report == json.loads((tmp_path / "out" / "report.json").read_text())
    assert not any(name.startswith(".flashtile-") for name in names(tmp_path / "out"))


@pytest.mark.parametrize(
    "settings, sentence",
    [
            ({"setup": "-0.350"}, "timing is not met: worst setup slack -0.350 ns at 150 MHz; see .*failed/timing.rpt"),
        ({"hold": "-0.010"}, "timing is not met: worst hold slack -0.010 ns"),
        ({"setup": "none"}, "for WNS.*setup was not timed"),
        ({"report": "0"}, "left no timing summary"),
        ({"crash": "1"}, "Vivado failed: ERROR: .*out of memory; see .*failed/build.log"),
        ({"missing": "m_axi"}, "Vivado failed: ERROR: flashtile: Vivado did not infer the interface m_axi"),
        ({"bitstream": "0"}, "Vivado failed: "),
        ({"clocks": ""}, "Vivado failed: ERROR: .*no clock clk_pl_0"),
        ({"period": "10.000"}, "Vivado failed: ERROR: .*clk_pl_0 has 10.000 ns instead of 6.667 ns"),
        ({"utilization": "nothing"}, "names no LUTs"),
    ],
)
def test_a_failed_build_leaves_the_earlier_one(quick, vivado, tmp_path, settings, sentence):
    vivado()
    build(config(), tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    vivado(**settings)
    with pytest.raises(BuildError, match=sentence):
        build(config(), tmp_path / "out")
    after = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert after == before
    assert "build.log" in names(tmp_path / "out" / "failed") and "report.json" not in names(tmp_path / "out" / "failed")
    vivado()
    build(config(), tmp_path / "out")
    assert "failed" not in names(tmp_path / "out")


def test_negative_slack_fails_where_vivado_is_content(quick, vivado, tmp_path):
    # The hook sees no slow path, as if it were not run; the report has one.
    vivado(summary=vivado_stub.SUMMARY.replace("@WNS@", "-0.001"))
    with pytest.raises(BuildError, match=r"worst setup slack -0\.001 ns"):
        build(config(), tmp_path / "out")


def test_no_bitstream_without_an_error_fails(quick, vivado, tmp_path, monkeypatch):
    vivado()
    monkeypatch.setattr(builds, "NAME", "other")
    with pytest.raises(BuildError, match=r"ended without an error, but left no .*other\.bit"):
        build(config(), tmp_path / "out")


def test_strange_files_are_not_removed(no_vivado, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match="holds files that no build has written"):
        build(config(), tmp_path / "out", True)
    assert names(tmp_path / "out") == {"thesis.tex"}


def test_a_configuration_for_no_axi_port_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="base"):
        build(NAMED["tiny"], tmp_path / "out", True)
    assert not (tmp_path / "out").exists()


def test_interrupted(vivado, tmp_path):
    vivado(sleep="300")
    program = (
        "import functools, sys, pathlib; from fpga.zuboard import build; from tests.fpga.zuboard import projects; "
        "build.write_project = functools.partial(projects.copy_project, written=sys.argv[2]); "
        "build.build(projects.config(), pathlib.Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "new" / "out"), str(project(tmp_path))]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (found := [*(tmp_path / "new").glob("out/.flashtile-*/asleep")]) or not found[0].read_text():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    sleeper = int(found[0].read_text())
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert not (tmp_path / "new").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper, 0)
