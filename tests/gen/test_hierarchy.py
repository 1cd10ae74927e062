"""Modules of small designs: which there are, how they are named, and that they do what the flat design does."""

import re
import subprocess
import sys
from importlib import metadata
from typing import ClassVar

import pytest
from myhdl import always, always_comb, block

from gen import hierarchy
from gen.block_ports import flat_signals
from gen.hierarchy import GenerationError, modules, outline
from gen.module_text import module_text
from hw.pe import pe
from hw.ports import Bundle
from hw.queue import queue
from hw.shifter import shifter
from hw.signals import bit, join, signed, split, unsigned


class Pair(Bundle):
    meanings: ClassVar = {"left": "what comes first"}

    def __init__(self):
        self.left, self.right, self.spare = unsigned(4), unsigned(4), unsigned(4)


@block
def add(clk, pair, total, step=0):
    """total = left + right + step. Ports: clk; pair; total."""

    @always(clk.posedge)
    def register():
        total.next = pair.left + pair.right + step

    return register


@block
def helper(a, b):
    """b = a, without a contract of its own."""

    @always_comb
    def wire():
        b.next = a

    return wire


@block
def lanes(clk, inputs, outputs, count):
    """Two adders a lane. Ports: clk; inputs; outputs."""
    totals = [unsigned(6) for _ in range(2 * count)]
    parts = split(inputs, 2 * count)
    instances = [join(totals, outputs)]
    for lane in range(count):
        pair = Pair()
        instances += [helper(parts[2 * lane], pair.left), helper(parts[2 * lane + 1], pair.right)]
        instances += [add(clk, pair, totals[2 * lane]), add(clk, pair, totals[2 * lane + 1], step=1)]
    return instances


def lane_modules(count=2, **options):
    ports = {"clk": bit(), "inputs": unsigned(8 * count), "outputs": unsigned(12 * count)}
    return modules(lanes, ports | {"count": count}, "top", **options)


def test_a_module_for_each_block_and_parameter_set():
    made = lane_modules()
    assert [module.name for module in made] == ["add_step0", "add_step1", "top"]
    assert outline(made[-1]) == [(0, "top", 1), (1, "add_step0", 2), (1, "add_step1", 2)]


def test_instances_and_nets_have_the_names_of_the_source():
    text = module_text(lane_modules()[-1])
    assert re.findall(r"(\w+) (add_\d) \(", text) == [
        ("add_step0", "add_0"), ("add_step1", "add_1"), ("add_step0", "add_2"), ("add_step1", "add_3"),
    ]  # fmt: skip
    for lane in range(4):
        assert f".total(totals_{lane})" in text
    assert ".pair_left(pair_left_0)" in text and ".pair_left(pair_left_1)" in text


def test_a_module_has_its_contract_and_the_ports_that_it_uses():
    text = module_text(lane_modules()[0])
    assert text.startswith("// total = left + right + step. Ports: clk; pair; total.\n//\n// Written by flashtile from")
    assert "with step = 0." in text
    ports = re.search(r"module add_step0 \(\n(.*?)\n\);", text, re.DOTALL)[1].splitlines()
    assert [line.split("//")[0].split() for line in ports] == [
        ["input", "wire", "clk,"],
        ["input", "wire", "[3:0]", "pair_left,"],
        ["input", "wire", "[3:0]", "pair_right,"],
        ["output", "reg", "[5:0]", "total"],
    ]
    assert ports[1].endswith("// what comes first")


def test_flat_is_one_module():
    (made,) = lane_modules(flat=True)
    assert made.name == "top" and module_text(made).count("module ") == 1


def test_order_of_generation_does_not_matter():
    def texts(count):
        return [module_text(module) for module in lane_modules(count)]

    first = texts(2)
    other = texts(3)
    assert texts(2) == first and texts(3) == other


def test_port_widths_tell_modules_apart():
    @block
    def two(clk, reset, push, pop, d, e, q, r, valid, other):
        """Two queues. Ports: all."""
        return queue(clk, reset, push, d, pop, q, valid, 4), queue(clk, reset, push, e, pop, r, other, 4)

    names = ("clk", "reset", "push", "pop", "valid", "other")
    ports = {name: bit() for name in names} | {"d": unsigned(3), "q": unsigned(3), "e": unsigned(5), "r": unsigned(5)}
    assert [module.name for module in modules(two, ports, "two")] == ["queue_d3", "queue_d5", "two"]


def test_another_myhdl_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.12")
    with pytest.raises(GenerationError, match=r"MyHDL 0\.11\.52, but 0\.12 is installed; pip install myhdl==0\.11\.52"):
        lane_modules()


def test_the_pinned_myhdl_is_the_one_that_setup_installs():
    (wanted,) = (line for line in metadata.requires("flashtile") if line.startswith("myhdl"))
    assert wanted == f"myhdl=={hierarchy.MYHDL}"


def test_an_undriven_signal_is_an_error():
    @block
    def loose(clk, q):
        """Ports: clk; q."""
        nothing = unsigned(4)

        @always(clk.posedge)
        def register():
            q.next = nothing

        return register

    with pytest.raises(GenerationError, match="block loose cannot be converted: Signal is not driven: nothing"):
        modules(loose, {"clk": bit(), "q": unsigned(4)}, "loose")


SMALL = {
    "pe": (pe, {
        "clk": bit(), "act_in": signed(3), "act_out": signed(3), "psum_in": signed(6), "psum_out": signed(7),
        "weight_in": signed(3), "weight_out": signed(3), "shift": bit(), "swap": bit(),
    }),
    "queue": (queue, {
        "clk": bit(), "reset": bit(), "push": bit(), "d": unsigned(2), "pop": bit(), "q": unsigned(2), "valid": bit(),
        "depth": 4,
    }),
    "shifter": (shifter, {"clk": bit(), "x": signed(6), "shift": unsigned(6), "y": signed(7)}),
    "lanes": (lanes, {"clk": bit(), "inputs": unsigned(16), "outputs": unsigned(24), "count": 2}),
}  # fmt: skip


def equivalent(folder, ours: str, name: str) -> subprocess.CompletedProcess:
    """Let yosys compare module `ours` with MyHDL's own flat conversion of a block of SMALL."""
    function, arguments = SMALL[name]
    (folder / "ours.v").write_text(ours)
    hierarchy.reset_names()
    function(**arguments).convert(hdl="Verilog", path=str(folder), name="theirs", no_myhdl_header=True)
    script = (
        f"read_verilog {folder}/ours.v {folder}/theirs.v; hierarchy -check; proc; memory; flatten; opt_clean; "
        "equiv_make theirs ours both; hierarchy -top both; equiv_simple -undef; equiv_induct -undef; "
        "equiv_status -assert"
    )
    code = f"from pyosys import libyosys\ndesign = libyosys.Design()\nlibyosys.run_pass({script!r}, design)\n"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("name", SMALL)
def test_equivalent_to_what_myhdl_converts(name, tmp_path):
    """Yosys proves that our modules, explicit widths included, are MyHDL's own flat conversion."""
    function, arguments = SMALL[name]
    made = modules(function, dict(arguments), "ours")
    assert set(made[-1].directions) <= set(flat_signals(arguments))
    done = equivalent(tmp_path, "".join(module_text(module) for module in made), name)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_the_proof_sees_a_wrong_sign(tmp_path):
    text = module_text(modules(*SMALL["pe"], "ours")[-1])
    wrong = text.replace("psum_in}) + ", "psum_in}) - ")
    assert wrong != text
    assert "unproven" in equivalent(tmp_path, wrong, "pe").stderr
