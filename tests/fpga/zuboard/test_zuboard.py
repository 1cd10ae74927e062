"""The generated `zuboard` on other people's models of AXI: cocotbext-axi under cocotb; and what lint says of it."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

from fpga.zuboard.top import TOP, board_config, top_modules
from gen.module_text import module_text
from gen.verilator import verilator_binary
from golden.config import NAMED, ConfigError, EngineConfig
from tests.engine_runs import need

CONFIGS = {
    "tiny8": replace(NAMED["tiny"], name="tiny8", word_bytes=8),
    "tiny16": replace(NAMED["tiny"], name="tiny16", word_bytes=16),
    "q88_8": replace(NAMED["q88"], name="q88_8", word_bytes=8),
    "base": board_config(),
    "wide": board_config(NAMED["wide"]),
}
# `interrupt` is the name by which Vivado knows an interrupt; Verilator minds it for C++.
LINT = "--lint-only", "-Wall", "-Wno-SYMRSVDWORD"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a configuration's Verilog, its sources in order, and its JSON; made once."""
    folders = {}

    def folder(name: str) -> tuple[Path, list[Path]]:
        if name not in folders:
            place = tmp_path_factory.mktemp(name)
            (place / "config.json").write_text(CONFIGS[name].to_json())
            sources = []
            for module in top_modules(CONFIGS[name]):
                sources.append(place / f"{module.name}.v")
                sources[-1].write_text(module_text(module))
            folders[name] = place, sources
        return folders[name]

    return folder


@pytest.fixture(scope="module")
def simulate(made):
    """Run the cases of a bench whose names match a pattern; returns what failed, and where results were written."""
    built = {}

    def run(name: str, bench: str, pattern: str, folder: Path) -> tuple[int, Path]:
        need("icarus")
        place, sources = made(name)
        if name not in built:
            built[name] = get_runner("icarus")
            built[name].build(
                sources=sources, hdl_toplevel=TOP, build_dir=place / "build", timescale=("1ns", "1ps")
            )
        results = built[name].test(
            test_module=f"tests.fpga.zuboard.{bench}",
            test_filter=pattern,
            seed=1,
            hdl_toplevel=TOP,
            build_dir=place / "build",
            test_dir=folder,
            results_xml=str(folder / "results.xml"),
            extra_env={
                "FLASHTILE_CONFIG": str(place / "config.json"), "FLASHTILE_RESULT": str(folder / "result.json"),
                "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "COCOTB_LOG_LEVEL": "WARNING",
            },
        )  # fmt: skip
        cases = ElementTree.parse(results).getroot().iter("testcase")
        ran = [case for case in cases if case.find("skipped") is None]
        failed = [
            case.get("name") for case in ran if case.find("failure") is not None or case.find("error") is not None
        ]
        assert not failed
        return len(ran), folder / "result.json"

    return run


FAST = [
    ("tiny8", "cocotb_traffic", "each_mode.*(no_overlap|window|heads|naive)|across_pages|back_to_back"),
    ("tiny8", "cocotb_traffic", "each_channel_slowed|one_beat.*False|naive_behind.*=all|naive_while"),
    ("tiny8", "cocotb_trouble", "an_error_ends.*(=r/.*SLV|=b/.*DEC).*slowed=False|registers|interrupt|refused"),
    ("tiny8", "cocotb_trouble", "settles.*False|stands_still|in_the_middle.*True|idle|base"),
    ("tiny16", "cocotb_traffic", "each_mode/mode=flash|any_byte|slowed.*all"),
]
SLOW = [("tiny8", "cocotb_traffic", "."), ("tiny8", "cocotb_trouble", "."), ("tiny16", "cocotb_traffic", ".")]


@pytest.mark.parametrize("name, bench, pattern", FAST)
def test_on_cocotbext_axi(simulate, name, bench, pattern, tmp_path):
    ran, _ = simulate(name, bench, pattern, tmp_path)
    assert ran >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name, bench, pattern", SLOW)
def test_all_on_cocotbext_axi(simulate, name, bench, pattern, tmp_path):
    ran, _ = simulate(name, bench, pattern, tmp_path)
    assert ran > 12


def test_cycles_on_a_steady_memory(simulate, tmp_path):
    """30 cycles of latency: few more than the cycle model counts for as much of it on chip."""
    _, result = simulate("tiny8", "cocotb_cycles", ".", tmp_path)
    found = json.loads(result.read_text())
    print(found)
    for name, run in found.items():
        assert run["busy"] < run["model"] * (1.5 if "naive" in name else 1.2), (name, run)


@pytest.mark.slow
def test_cycles_of_base(simulate, tmp_path):
    _, result = simulate("base", "cocotb_cycles", ".", tmp_path)
    found = json.loads(result.read_text())
    print(found)
    assert found["n128_d64"]["busy"] <= 17_200 and found["n128_d64"]["longest"] == 28 * 8
    assert found["decode_512"]["busy"] <= 8_500


@pytest.mark.parametrize("name", ["tiny8", "base", pytest.param("wide", marks=pytest.mark.slow)])
def test_lint_is_clean(made, name):
    place, sources = made(name)
    binary, root = verilator_binary()
    command = [binary, *LINT, "--top-module", TOP, *(source.name for source in sources)]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["tiny8", "tiny16"])
def test_ports(made, name):
    """The names from which interfaces are inferred, and their widths."""
    place, _ = made(name)
    text = (place / f"{TOP}.v").read_text()
    found = re.findall(r"^    (input|output) +(?:wire|reg) +(?:\[(\d+):0\] )?(\w+),?", text, re.M)
    ports = {port: (direction, int(high or 0) + 1) for direction, high, port in found}
    data = CONFIGS[name].word_bits
    assert ports["aclk"] == ports["aresetn"] == ("input", 1) and ports["interrupt"] == ("output", 1)
    assert ports["s_axi_awaddr"] == ports["s_axi_araddr"] == ("input", 12)
    assert ports["s_axi_rdata"] == ("output", 32) and ports["s_axi_wstrb"] == ("input", 4)
    assert ports["m_axi_awaddr"] == ports["m_axi_araddr"] == ("output", 40)
    assert ports["m_axi_wdata"] == ("output", data) and ports["m_axi_rdata"] == ("input", data)
    assert ports["m_axi_wstrb"] == ("output", data // 8) and ports["m_axi_arlen"] == ("output", 8)
    assert len(ports) == 3 + 17 + 33


@pytest.mark.parametrize(
    "config, sentence",
    [
        (NAMED["tiny"], "word_bytes of tiny must be 8 or 16 for an AXI bus of 64 or 128 bit, not 4; use a"),
        (NAMED["lanes16"], "word_bytes of lanes16 must be 8 or 16"),
        (replace(NAMED["base"], memory_bytes=4096), "memory_bytes of base must be at least 8192 on an AXI bus, not 4"),
    ],
)
def test_refuses_what_no_axi_port_fits(config: EngineConfig, sentence):
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        top_modules(config)


def test_board_configurations():
    assert CONFIGS["base"].memory_bytes == CONFIGS["wide"].memory_bytes == 1 << 26
    assert (CONFIGS["base"].word_bits, CONFIGS["wide"].word_bits) == (64, 128)
