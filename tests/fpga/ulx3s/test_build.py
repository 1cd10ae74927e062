"""The build of the ULX3S with stand-ins for the tools, and, slow, with the tools themselves."""

import json
import os
import re
import statistics
from pathlib import Path

import pytest

from fpga import launch
from fpga.build_error import BuildError
from fpga.cli_build import add_build
from fpga.ulx3s import build as ulx3s
from fpga.ulx3s.board import BOARDS
from fpga.ulx3s.report import markdown
from gen.cli import main
from gen.hierarchy import modules
from golden.config import NAMED
from tests.fpga.ulx3s import fake_tools

SMALL = BOARDS["ulx3s-25f"]
TINY = NAMED["tiny"]
BAUD = 1_000_000
REPORT = Path(__file__).parents[3] / "docs" / "reports" / "ulx3s_base.json"
LIMITS = {
    "ulx3s": {"LUT4": 12_000, "CCU2C": 4_000, "TRELLIS_FF": 28_000, "MULT18X18D": 150, "DP16KD": 200},
    "ulx3s-25f": {"MULT18X18D": 28, "DP16KD": 56},
}


@pytest.fixture(scope="module")
def converted():
    return {}


@pytest.fixture
def tools(tmp_path, monkeypatch, converted):
    """Stand-ins for the tools on PATH; the Verilog is made once for all tests of it."""

    def once(function, arguments, name):
        key = arguments["config"], arguments["clock_hz"], arguments["baud"]
        if key not in converted:
            converted[key] = modules(function, arguments, name)
        return converted[key]

    monkeypatch.setattr(ulx3s, "modules", once)
    folder = tmp_path / "bin"
    folder.mkdir()
    fake_tools.install(folder)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def command(*arguments):
    return main(["build", *arguments], [add_build], (BuildError,))


def test_best_seed_is_kept(tools, tmp_path):
    steps = []
    report = ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1, 2, 3], lambda *step: steps.append(step))
    place = tmp_path / "out"
    assert (place / "ulx3s.bit").read_bytes() == b"bits of seed 2\n"
    assert report["best_seed"] == 2
    assert report["fmax_mhz"] == {"least": 88.0, "median": 91.5, "most": 99.25}
    assert [run["seed"] for run in report["seeds"]] == [1, 2, 3]
    assert report["cells"] == fake_tools.CELLS | {"TRELLIS_DPR16X4": 0}
    assert report["memories"] == {"u.ram": {"words": 512, "bits": 36, "in": "$__PDPW16KD_"}}
    assert json.loads((place / "report.json").read_text()) == report
    assert steps[0] == (0, 5) and steps[-1] == (5, 5)
    assert not list(place.glob("seed_*")) and not list(place.glob(".flashtile-*"))
    for name in ("config.json", "flashtile_registers.h", "registers/index.html", "ulx3s.v", "engine.v"):
        assert (place / name).is_file(), name


def test_the_same_build_gives_the_same_sources(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(ulx3s, "modules", modules)
    texts = []
    for name in ("one", "two"):
        ulx3s.build(SMALL, TINY, tmp_path / name, BAUD, [1])
        files = [path for path in (tmp_path / name).iterdir() if path.suffix in (".v", ".lpf", ".h", ".tcl")]
        texts.append({path.name: path.read_bytes() for path in files})
    assert texts[0] == texts[1] and len(texts[0]) > 50
    assert not any(str(tmp_path).encode() in text for text in texts[0].values())


def test_every_port_has_a_pin(tools, tmp_path):
    ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1])
    lpf = (tmp_path / "out" / "ulx3s.lpf").read_text()
    header = (tmp_path / "out" / "ulx3s.v").read_text().partition(");")[0]
    ports = set()
    for width, name in re.findall(r"(?:input|output) +(?:wire|reg) +(?:\[(\d+):0\] )?(\w+)", header):
        ports |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
    assert set(re.findall(r'LOCATE COMP "(.+?)"', lpf)) == set(re.findall(r'IOBUF PORT "(.+?)"', lpf)) == ports
    sites = re.findall(r'SITE "(\w+)"', lpf)
    assert len(sites) == len(set(sites)) == 12
    assert f'FREQUENCY NET "clk" {SMALL.aim_hz // 1_000_000} MHZ;' in lpf


def test_timing_failure_fails_and_keeps_the_logs(tools, tmp_path):
    ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [2])
    fake_tools.install(tools, mhz={"1": 71.25, "2": 79.9})
    with pytest.raises(BuildError, match=r"closes at 79\.9 MHz with the best of 2 seeds, and the board needs 80"):
        ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1, 2])
    assert (tmp_path / "out" / "failed" / "seed_1" / "next.log").is_file()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["best_seed"] == 2  # that of the build before


def test_a_slow_oscillator_input_fails_too():
    run = {"seed": 1, "fmax_mhz": {"clk": 200.0, "clk_25mhz$TRELLIS_IO_IN": 24.0}}
    with pytest.raises(BuildError, match="timing failed"):
        ulx3s._check_clock(SMALL, [run])


def test_a_device_that_is_too_small(tools, tmp_path):
    fake_tools.install(tools, cells=fake_tools.CELLS | {"MULT18X18D": 29})
    with pytest.raises(BuildError, match="tiny takes 29 MULT18X18D, more than the 28 of the LFE5U-25F-6BG381C"):
        ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1])


@pytest.mark.parametrize("program", ["yosys", "nextpnr-ecp5", "ecppack", "ecppll"])
def test_a_tool_that_fails(program, tools, tmp_path):
    fake_tools.install(tools, fail=program)
    with pytest.raises(BuildError, match=f"failed.*{program} cannot go on"):
        ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1])
    assert not (tmp_path / "out" / "ulx3s.bit").exists()


def test_a_clock_that_the_pll_cannot_make(tools, tmp_path):
    fake_tools.install(tools, pll_mhz=81.25)
    with pytest.raises(BuildError, match=r"makes 81\.25 MHz .* not 80"):
        ulx3s.build(SMALL, TINY, tmp_path / "out", BAUD, [1])


def test_missing_tools(monkeypatch):
    monkeypatch.setattr(launch, "command", lambda program: None if program == "ecppack" else [program])
    with pytest.raises(BuildError, match=r"ecppack is missing; pip install 'flashtile\[fpga\]'"):
        ulx3s.check_tools()
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(BuildError, match="make is missing"):
        ulx3s.check_tools()


def test_interrupted(tools, tmp_path):
    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ulx3s.build(SMALL, TINY, tmp_path / "new" / "out", BAUD, [1], interrupt)
    assert not (tmp_path / "new").exists()


def test_foreign_folder(tools, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(BuildError, match="holds files that no build has written"):
        ulx3s.build(SMALL, TINY, tmp_path / "mine", BAUD, [1])
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="not a directory"):
        ulx3s.build(SMALL, TINY, tmp_path / "file", BAUD, [1])
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"


def test_write_protected_folder(tools, tmp_path, monkeypatch):
    def refuse(**arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)  # root, who runs CI, may write everywhere
    with pytest.raises(BuildError, match=r"cannot build into .*: Permission denied; choose a writable place"):
        ulx3s.build(SMALL, TINY, tmp_path / "new" / "out", BAUD, [1])
    assert not (tmp_path / "new").exists()


def test_command(tools, tmp_path, capsys):
    arguments = ["ulx3s-25f", "-o", str(tmp_path / "out"), "--seed", "1", "--seeds", "3"]
    assert command(*arguments, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["board"], report["best_seed"]) == ("ulx3s-25f", 2)
    assert command(*arguments) == 0
    shown = capsys.readouterr().out
    assert "fastest    99.2 MHz, median 91.5, slowest 88.0" in shown
    assert re.search(r"MULT18X18D +26  of 28", shown)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["nonsense"], "unknown board 'nonsense'; choose one of ulx3s, ulx3s-25f, zuboard"),
        (["ulx3s", "--seeds", "0"], "--seeds must be between 1 and 100, not 0"),
        (["ulx3s", "--seed", "-1"], "--seed must be at least 0, not -1"),
        (["ulx3s", "--project-only"], "--project-only is for the ZUBoard, not for ulx3s; leave it out"),
        (["zuboard", "--seeds", "3"], "--seeds is for the ULX3S, not for the ZUBoard; leave it out"),
        (["ulx3s", "--config", "huge"], "unknown configuration 'huge'"),
        (["ulx3s", "--baud", "9600"], "--baud must be between 115200 and 3000000, not 9600"),
    ],
)
def test_bad_input(arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error and len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def above(cells, limits):
    return {name: cells[name] for name, limit in limits.items() if cells[name] > limit}


def outside_block_ram(memories):
    return [name for name, memory in memories.items() if memory["words"] > 64 and "16KD" not in memory["in"]]


def test_the_committed_report_meets_the_targets():
    report, board = json.loads(REPORT.read_text()), BOARDS["ulx3s"]
    assert REPORT.with_suffix(".md").read_text(encoding="utf-8") == markdown(report)
    assert (report["device"], report["config"]) == (board.device, board.config)
    assert (report["clock_mhz"] * 1e6, report["memory_bytes"]) == (board.clock_hz, board.memory_bytes)
    reached = [run["fmax_mhz"]["clk"] for run in report["seeds"]]
    assert [run["seed"] for run in report["seeds"]] == [1, 2, 3, 4, 5]
    assert statistics.median(reached) >= 90 and min(reached) >= 80
    assert report["fmax_mhz"] == {"least": min(reached), "median": statistics.median(reached), "most": max(reached)}
    assert above(report["cells"], LIMITS["ulx3s"]) == {}
    assert outside_block_ram(report["memories"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("board, slowest", [("ulx3s", 90), ("ulx3s-25f", 80)])
def test_bitstream(board, slowest, tmp_path, capsys):
    """With the real tools, one seed: it fits, closes at the board's clock, and keeps memories in block RAM."""
    if any(launch.command(program) is None for program in launch.PROGRAMS):
        pytest.fail("yosys, nextpnr-ecp5 or ecppack is missing; pip install 'flashtile[fpga]'")
    assert command(board, "--output", str(tmp_path / "out"), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report
    assert report["fmax_mhz"]["least"] >= slowest, report["fmax_mhz"]
    assert report["clock_mhz"] >= slowest
    assert above(report["cells"], LIMITS[board]) == {}
    assert (tmp_path / "out" / "ulx3s.bit").stat().st_size > 100_000
    assert any(memory["words"] > 64 for memory in report["memories"].values())
    assert outside_block_ram(report["memories"]) == []
    if board == "ulx3s":  # The committed figures are those of today; another yosys may count a little otherwise.
        then = json.loads(REPORT.read_text())["cells"]
        assert then.keys() == report["cells"].keys()
        assert all(abs(report["cells"][name] - count) <= 0.1 * count for name, count in then.items())
