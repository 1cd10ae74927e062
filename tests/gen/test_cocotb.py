"""The bench that docs/integrate.md shows: the generated engine under cocotb."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

from gen.core_folder import write_core
from golden.config import NAMED
from tests.engine_runs import need

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core") / "tiny"
    write_core(NAMED["tiny"], folder, vector_count=3)
    return folder


def test_vectors_under_cocotb(core, tmp_path, monkeypatch):
    need("icarus")
    monkeypatch.syspath_prepend(str(HERE))  # where the simulator's Python finds the bench
    runner = get_runner("icarus")
    sources = [core / name for name in (core / "filelist.f").read_text().split()]
    runner.build(sources=sources, hdl_toplevel="engine", build_dir=tmp_path / "build", timescale=("1ns", "1ps"))
    results = runner.test(
        test_module="cocotb_engine",
        seed=1,
        hdl_toplevel="engine",
        build_dir=tmp_path / "build",
        test_dir=tmp_path,
        results_xml=str(tmp_path / "results.xml"),
        extra_env={"FLASHTILE_CORE": str(core), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    cases = ElementTree.parse(results).getroot().iter("testcase")
    assert [case.find("failure") is None and case.find("error") is None for case in cases] == [True]
