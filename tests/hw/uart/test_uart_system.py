"""The whole device behind its serial line, generated and under cocotb; and what lint and synthesis say of it."""

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

from gen.hierarchy import modules
from gen.module_text import module_text
from gen.register_map import register_map
from gen.verilator import verilator_binary
from golden.config import NAMED
from hw.signals import bit
from hw.uart.uart_system import uart_system
from tests.engine_runs import need
from tests.hw.uart import line_host as bench

HERE = Path(__file__).parent
TOP = "uart_system"
FAST = (
    "ping_tells_what_this_is", "a_head", "garbage_and_broken_frames", "framing_errors_and_breaks",
    "a_host_two_percent_fast", "a_host_two_percent_slow",
)  # fmt: skip
SLOW = (
    "registers_and_memory_against_a_model", "the_ends_of_memory", "whole_heads_back_to_back",
    "while_a_run_is_under_way", "soft_reset", "hardware_reset",
)  # fmt: skip


def write(config, folder, clock_hz=bench.CLOCK_HZ, baud=bench.BAUD):
    """The Verilog of uart_system; returns its files, leaves first."""
    registers = register_map(config, bench.BUILD, clock_hz).registers
    arguments = {name: bit() for name in ("clk", "reset", "rx", "tx", "busy", "fault")}
    arguments |= {"config": config, "registers": registers, "clock_hz": clock_hz, "baud": baud}
    files = []
    for module in modules(uart_system, arguments, TOP):
        files.append(folder / f"{module.name}.v")
        files[-1].write_text(module_text(module))
    return files


def clock_gated(files, folder):
    """The files, and a wrapper that stops the clock of an idle engine, which is most of what a simulator works on.

    Icarus then runs some ten times as fast while the line is busy. The clock goes on for longer after a run than
    anything in the engine takes.
    """
    path = next(path for path in files if path.stem == "engine")
    text = path.read_text()
    ports = re.search(r"^module engine \((.*?)^\);", text, re.M | re.S)[1]
    names = re.findall(r"^    (?:input|output) .*?(\w+),?(?: *//.*)?$", ports, re.M)
    connections = ", ".join(f".{name}({'gated' if name == 'clk' else name})" for name in names)
    ports = ports.replace("output reg ", "output wire")
    inner = folder / "engine_inner.v"
    inner.write_text(re.sub(r"^module engine \(", "module engine_inner (", text, flags=re.M))
    wrapper = folder / "engine.v"
    wrapper.write_text(
        f"module engine ({ports});\n"
        "    reg [7:0] left = 0;\n"
        "    reg open = 1;\n"
        "    always @(posedge clk) left <= reset || start || busy ? 255 : left ? left - 1 : 0;\n"
        "    always @(*) if (!clk) open = reset || start || busy || left != 0;\n"
        "    wire gated = clk && open;\n"
        f"    engine_inner inner ({connections});\n"
        "endmodule\n"
    )
    return [*(file for file in files if file != path), inner, wrapper]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Verilog of a configuration; made once."""
    sources = {}

    def files(name):
        if name not in sources:
            sources[name] = write(NAMED[name], tmp_path_factory.mktemp(name))
        return sources[name]

    return files


@pytest.fixture(scope="module")
def built(made, tmp_path_factory):
    """A simulator of a configuration, compiled once; gated: see clock_gated."""
    runners = {}

    def runner_of(name, gated):
        need("icarus")
        if (name, gated) not in runners:
            runner, folder = get_runner("icarus"), tmp_path_factory.mktemp(f"{name}_build")
            sources = clock_gated(made(name), folder) if gated else made(name)
            runner.build(sources=sources, hdl_toplevel=TOP, build_dir=folder, timescale=("1ns", "1ps"))
            runners[name, gated] = runner, folder
        return runners[name, gated]

    return runner_of


def run_bench(built, name, test, tmp_path, gated=True, seed=1):
    runner, folder = built(name, gated)
    results = runner.test(
        test_module="tests.hw.uart.cocotb_uart_system",
        testcase=test,
        seed=seed,
        hdl_toplevel=TOP,
        build_dir=folder,
        test_dir=tmp_path,
        results_xml=str(tmp_path / "results.xml"),
        extra_env={"FLASHTILE_CONFIG": name, "FLASHTILE_SEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    cases = ElementTree.parse(results).getroot().iter("testcase")
    ran = [case for case in cases if case.find("skipped") is None]
    assert [case.get("name") for case in ran] == [test]
    assert ran[0].find("failure") is None and ran[0].find("error") is None


def cases():
    for name in FAST:
        yield pytest.param("tiny", name)
    for name in SLOW:
        yield pytest.param("tiny", name, marks=pytest.mark.slow)
    # Icarus takes minutes for each of these.
    for config in ("base", "q88"):
        yield pytest.param(config, "whole_heads_back_to_back", marks=pytest.mark.slow)


@pytest.mark.parametrize(("config", "test"), [*cases()])
def test_on_the_line(built, config, test, tmp_path):
    run_bench(built, config, test, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["while_a_run_is_under_way"])
def test_with_all_clocks_running(built, test, tmp_path):
    run_bench(built, "tiny", test, tmp_path, gated=False)


@pytest.mark.parametrize("name", ["tiny", pytest.param("base", marks=pytest.mark.slow)])
def test_lint_is_clean(made, name):
    """Of the whole, and of each module of hw.uart as a top of its own."""
    files = made(name)
    binary, root = verilator_binary()
    own = [path.stem for path in files if " of hw.uart." in path.read_text()]
    assert {"uart_host", "frame_reader", "commands", "crc32", "run_state"} <= set(own)
    for top in (TOP, "register_file", "block_memory", *own):
        done = subprocess.run(
            [binary, "--lint-only", "-Wall", "--top-module", top, *files],
            env=os.environ | {"VERILATOR_ROOT": str(root)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), top


def test_every_test_of_the_bench_is_run():
    found = re.findall(r"^@cocotb.test\(\)\nasync def (\w+)", (HERE / "cocotb_uart_system.py").read_text(), re.M)
    assert sorted(found) == sorted((*FAST, *SLOW))
