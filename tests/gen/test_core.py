"""The generated cores: clean for lint and synthesis, the same bytes each time, right for a testbench in Verilog."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gen.core_folder import write_core
from gen.verilator import verilator_binary
from gen.verilog import core
from golden.config import NAMED, EngineConfig
from tests.engine_runs import need
from tests.gen.vector_bench import play

EACH = pytest.mark.parametrize("name", NAMED)
LARGE = EngineConfig("large", "int8", 16, 16, 16, 128, 64, 4096, 1 << 20)
WAIVER = re.compile(r"lint_off|lint_on|verilator|synthesis (on|off)|\(\*(?!\)| ram_style = \"block\" )")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a named configuration's core with two vectors, flat or not; made once."""
    folders = {}

    def folder(name, flat=False):
        if (name, flat) not in folders:
            folders[name, flat] = tmp_path_factory.mktemp("core") / name
            write_core(NAMED[name], folders[name, flat], flat, vector_count=2)
        return folders[name, flat]

    return folder


def lint(folder: Path, top: str, files: list[str]) -> str:
    binary, root = verilator_binary()
    command = [binary, "--lint-only", "-Wall", "--top-module", top, *files]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or done.stderr
    return done.stderr


def listed(folder: Path, name: str = "filelist.f") -> list[str]:
    return (folder / name).read_text().split()


@EACH
@pytest.mark.parametrize("flat", [False, True])
def test_lint_is_clean(made, name, flat):
    folder = made(name, flat)
    assert lint(folder, "engine", listed(folder)) == ""
    assert lint(folder, "engine_system", listed(folder, "filelist_system.f")) == ""


@EACH
def test_lint_is_clean_for_every_module(made, name):
    """Each module as a top of its own."""
    folder = made(name)
    files = listed(folder, "filelist_system.f")
    for file in files:
        assert lint(folder, file.removesuffix(".v"), files) == "", file


def test_lint_sees_a_lost_bit(made, tmp_path):
    text = (made("tiny") / "running_sum.v").read_text()
    wrong = re.sub(r"reg  \[(\d+):0\] total", lambda found: f"reg  [{int(found[1]) - 1}:0] total", text)
    assert wrong != text
    (tmp_path / "running_sum.v").write_text(wrong)
    files = [str(made("tiny") / file) for file in listed(made("tiny")) if file != "running_sum.v"]
    assert "WIDTHTRUNC" in lint(tmp_path, "running_sum", ["running_sum.v", *files])


@EACH
def test_no_waiver(made, name):
    """Not one comment or attribute that quietens a tool; nets that nothing reads are named so, and are few."""
    unused = set()
    for path in sorted(made(name).glob("*.v")):
        text = path.read_text()
        assert not WAIVER.search(text), path.name
        unused |= {(path.name, net) for net in re.findall(r"\bunused_\w+(?=;)", text)}
    config = NAMED[name]
    # Activations leave at the last column, weights at the last row, of each of the two arrays.
    edges = 2 * (config.array_depth + config.array_keys)
    assert len([net for file, net in unused if file.startswith("systolic_array")]) <= edges + 2
    others = sorted(net for file, net in unused if not file.startswith("systolic_array"))
    assert others == []


@EACH
def test_synthesis_finds_no_fault(made, name):
    """No latch, no undriven and no multiply driven net, no combinational loop."""
    files = [made(name) / file for file in listed(made(name), "filelist_system.f")]
    script = "; ".join(
        [f"read_verilog {' '.join(map(str, files))}", "hierarchy -check -top engine_system", "proc", "check -assert",
         "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr", "flatten", "opt_clean", "check -assert"]
    )  # fmt: skip
    code = f"from pyosys import libyosys\ndesign = libyosys.Design()\nlibyosys.run_pass({script!r}, design)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def slow_if(condition):
    return [pytest.mark.slow] if condition else []


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=slow_if(name != "tiny")) for name in NAMED]
)
def test_vectors_in_a_verilog_testbench(made, name, number, flat, tmp_path):
    """Every word and counter as promised, to the cycle, from modules and flat alike.

    No X on any output after reset, though registers and memories start uninitialised.
    """
    need("icarus")
    assert play(made(name, flat), number, tmp_path).startswith("equal after ")


@pytest.mark.parametrize("name", ["tiny", pytest.param("base", marks=pytest.mark.slow)])
def test_every_output_of_the_engine_is_known_after_reset(made, name, tmp_path):
    """Its memory ports, too, which the testbench of engine_system does not see."""
    need("icarus")
    folder = made(name)
    ports = re.findall(r"^    (input|output) +(?:wire|reg) +(?:signed )?(?:\[(\d+):0\] )?(\w+),? *(?://.*)?$",
                       (folder / "engine.v").read_text(), re.M)  # fmt: skip
    outputs = [port for direction, _, port in ports if direction == "output"]
    assert {"busy", "read_address", "read_bytes", "write_address", "write_data", "write_strobe"} <= set(outputs)
    inputs = [port for direction, _, port in ports if direction == "input" and port not in ("clk", "reset")]
    wires = "".join(f"wire [{high or 0}:0] {port};\n" for _, high, port in ports if port in outputs)
    wires += "".join(f"reg [{high or 0}:0] {port} = 0;\n" for _, high, port in ports if port in inputs)
    checks = "".join(f"if (^{port} === 1'bx) $display(\"{port} at %0d\", cycle);\n" for port in outputs)
    (tmp_path / "bench.v").write_text(
        "module bench;\nreg clk = 0, reset = 1; integer cycle;\n" + wires
        + f"engine dut ({', '.join(f'.{port}({port})' for _, _, port in ports)});\n"
        + "initial begin\nread_ready = 1; write_ready = 1;\nfor (cycle = 0; cycle < 60; cycle = cycle + 1) begin\n"
        + "reset = cycle < 2; #1 clk = 1; #1 clk = 0;\nif (cycle > 1) begin\n" + checks
        + 'end\nend\n$display("known");\nend\nendmodule\n'
    )  # fmt: skip
    sources = [folder / listed_ for listed_ in listed(folder)]
    program = tmp_path / "bench.vvp"
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", program, tmp_path / "bench.v", *sources], check=True)
    assert subprocess.run(["vvp", program], capture_output=True, text=True, check=True).stdout == "known\n"


def test_the_testbench_sees_a_wrong_word(made, tmp_path):
    need("icarus")
    write_core(NAMED["tiny"], tmp_path / "core", vector_count=1)
    path = tmp_path / "core" / "vectors" / "000_after.hex"
    words = path.read_text().splitlines()
    words[-1] = f"{int(words[-1], 16) ^ 1:0{len(words[-1])}x}"
    path.write_text("\n".join(words) + "\n")
    assert play(tmp_path / "core", 0, tmp_path).startswith("word ")


def digest(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_reproducible_in_any_order_and_process(tmp_path):
    for name in ("tiny", "q88", "tiny"):
        write_core(NAMED[name], tmp_path / "here" / name, vector_count=1)
    code = (
        "from pathlib import Path\nfrom gen.core_folder import write_core\nfrom golden.config import NAMED\n"
        f"for name in ('q88', 'lanes16', 'tiny'):\n"
        f"    write_core(NAMED[name], Path({str(tmp_path / 'there')!r}) / name, vector_count=1)\n"
    )
    environment = dict(os.environ, PYTHONHASHSEED="7")
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    for name in ("tiny", "q88"):
        assert digest(tmp_path / "here" / name) == digest(tmp_path / "there" / name)


@pytest.mark.parametrize(("config", "seconds"), [(NAMED["base"], 10), (LARGE, 60)], ids=lambda value: str(value))
def test_limits(config, seconds, tmp_path):
    """Time and memory of a process of its own: seconds for the modules of `base` and of 16 x 16, at most 2 GB."""
    path = tmp_path / "config.json"
    path.write_text(config.to_json())
    code = (
        "import resource\nfrom gen.cli import main\n"
        f"assert main(['generate', {str(path)!r}, '-o', {str(tmp_path / 'core')!r}]) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert time.monotonic() - start <= seconds
    assert int(done.stdout.split()[-1]) <= 2 << 20  # KiB


def test_modules_have_the_names_of_their_blocks(made):
    """Each module is in a file of its name, and begins with a block of hw in a file of that block's name."""
    for path in sorted(made("base").glob("*.v")):
        text = path.read_text()
        assert re.findall(r"^module (\w+) \($", text, re.M) == [path.stem]
        block, module = re.search(r"^// Written by flashtile from block (\w+) of hw\.(\w+)", text, re.M).groups()
        assert path.stem == block or path.stem.startswith(f"{block}_")
        assert "Ports:" in text and (block == module or block in ("row_maximum", "adder_tree", "maximum_tree"))


def test_flat_is_one_module_for_each_top(made):
    folder = made("tiny", True)
    assert sorted(path.name for path in folder.glob("*.v")) == ["engine.v", "engine_system.v"]
    assert (listed(folder), listed(folder, "filelist_system.f")) == (["engine.v"], ["engine_system.v"])


def test_the_record_is_the_configuration(made):
    assert EngineConfig.from_file(made("base") / "config.json") == NAMED["base"]
    assert core(NAMED["tiny"]).files == {path.name: path.read_text() for path in made("tiny").glob("*.v")}
    vector = json.loads((made("tiny") / "vectors" / "000.json").read_text())
    assert set(vector) == {"configuration", "seed", "descriptor", "latency", "counters", "words", "output"}


def test_the_project_readme_shows_a_real_module(made):
    """The module and the tree in README.md are those of `tiny`."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert (made("tiny") / "pe_psum_out18s_psum_in17s.v").read_text() in text
    outline = (made("tiny") / "README.md").read_text().split("## Modules\n\n")[1].split("\n\n## Ports")[0]
    assert outline in text
