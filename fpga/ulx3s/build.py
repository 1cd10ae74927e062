"""Builds the ULX3S through Edalize's trellis flow: Verilog, constraints, synthesis, place and route, bitstream."""

from __future__ import annotations

import copy
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from edalize.flows.trellis import Trellis

from fpga import launch
from fpga.build_error import BuildError
from fpga.build_folder import REPORT, build_folder
from fpga.ulx3s.board import OSCILLATOR_HZ, Board, check_baud
from fpga.ulx3s.netlist import finish_netlist
from fpga.ulx3s.report import ENGINE_CLOCK, build_report, markdown, seed_report
from fpga.ulx3s.synthesis import cells_of, synthesis_script
from fpga.ulx3s.top import LEDS, ulx3s
from gen.hierarchy import modules
from gen.module_text import module_text
from gen.programs import SimulatorError, run_programs
from gen.register_map import register_map
from gen.verilog import fingerprint
from golden.config import EngineConfig
from hw.signals import bit, unsigned

NAME = "ulx3s"
CONSTRAINTS = Path(__file__).with_name("ulx3s.lpf")


def build(
    board: Board,
    config: EngineConfig,
    folder: Path,
    baud: int,
    seeds: list[int],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict:
    """Build a bitstream for each seed, and keep the one with the fastest engine clock.

    Args:
        config: of the engine; its memory is the board's.
        folder: takes the bitstream ulx3s.bit, the Verilog and constraints it was made of, the registers as C header and
            HTML page, and the report.
        baud: of the serial line. seeds: of place and route.
        progress: called with the steps done, and how many there are.

    Returns:
        The report, as it is in report.json.

    Raises:
        BuildError: a tool is missing or failed; the device is too small; the clock does not close with any seed.
    """
    check_baud(baud)
    config = board.with_memory(config)
    check_tools()
    steps = 2 + len(seeds)
    progress(0, steps)
    with build_folder(folder) as place:
        sources = write_sources(board, config, place, baud)
        progress(1, steps)
        _configure(board, place, sources, seeds[0])
        _make([place], "synthesis", f"{NAME}.json")
        finish_netlist(place / f"{NAME}.json", NAME, config, board.places_arrays)
        cells = cells_of(place, NAME)
        _check_cells(board, config, cells)
        progress(2, steps)
        folders = []
        for seed in seeds:
            folders.append(place / f"seed_{seed}")
            _copy_project(place, folders[-1], sources)
            _configure(board, folders[-1], sources, seed)
        _make(folders, "place and route", f"{NAME}.bit", lambda done: progress(2 + done, steps))
        runs = [seed_report(seed, path) for seed, path in zip(seeds, folders, strict=True)]
        report = build_report(board, config, baud, cells, place, runs)
        _check_clock(board, runs)
        _keep_best(place, report["best_seed"])
        (place / REPORT).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        (place / "report.md").write_text(markdown(report), encoding="utf-8")
    return report


def check_tools() -> None:
    """Raise BuildError unless make, yosys, nextpnr-ecp5, ecppack and ecppll can be started."""
    if shutil.which("make") is None:
        raise BuildError("make is missing, which Edalize runs builds with; install it (apt-get install make)")
    for program in launch.PROGRAMS:
        if launch.command(program) is None:
            raise BuildError(f"{program} is missing; pip install 'flashtile[fpga]', or put it on PATH")


def write_sources(board: Board, config: EngineConfig, place: Path, baud: int) -> list[str]:
    """Write Verilog, constraints, the synthesis script and the registers; returns the names of the Verilog files."""
    registers = register_map(config, int(fingerprint(config)[:8], 16), board.clock_hz)
    try:
        arguments = {
            "clk_25mhz": bit(), "ftdi_txd": bit(), "ftdi_rxd": bit(), "led": unsigned(LEDS), "wifi_gpio0": bit(),
            "config": config, "registers": registers.registers, "clock_hz": board.clock_hz, "baud": baud,
        }  # fmt: skip
        made = modules(ulx3s, arguments, NAME)
    except ValueError as error:  # a baud rate that this clock does not give
        raise BuildError(str(error)) from None
    names = []
    for module in made:
        names.append(f"{module.name}.v")
        (place / names[-1]).write_text(module_text(module), encoding="utf-8")
    _write_pll(board, place / "ecp5_pll.v")
    names.append("ecp5_pll.v")
    aim = f'\n# What place and route tries to reach; the engine runs at {board.clock_hz / 1e6:g} MHz.\n'
    aim += f'FREQUENCY NET "{ENGINE_CLOCK}" {board.aim_hz / 1e6:g} MHZ;\n'
    (place / CONSTRAINTS.name).write_text(CONSTRAINTS.read_text(encoding="utf-8") + aim, encoding="utf-8")
    (place / "synthesis.tcl").write_text(synthesis_script(NAME, names, board.soft_multipliers), encoding="utf-8")
    (place / "config.json").write_text(config.to_json(), encoding="utf-8")
    registers.write_header(place / "flashtile_registers.h")
    registers.write_html(place / "registers")
    return names


def _write_pll(board: Board, path: Path) -> None:
    """The PLL as ecppll writes it; BuildError if it does not hit the frequency."""
    wanted = board.clock_hz / 1e6
    command = [
        *launch.command("ecppll"), "--module", "ecp5_pll", "--clkin", f"{OSCILLATOR_HZ / 1e6:g}", "--clkout0",
        f"{wanted:g}", "--file", path.name,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    found = [line.split(":")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("clkout0 frequency")]
    if done.returncode or not found:
        raise BuildError(f"ecppll failed for {wanted:g} MHz: {(done.stderr or done.stdout).strip()[:200]}")
    if abs(float(found[0]) - wanted) > 1e-3 * wanted:
        raise BuildError(f"the PLL makes {found[0]} MHz of the oscillator, not {wanted:g}; choose a clock it can make")


def _configure(board: Board, place: Path, sources: list[str], seed: int) -> None:
    """Edalize's project in a folder."""
    options = [
        *board.nextpnr, "--seed", str(seed), "--placer", "static", "--router", "router1", "--timing-allow-fail",
        "--report", "timing.json",
    ]  # fmt: skip
    edam = {
        "name": NAME,
        "toplevel": NAME,
        "files": [
            *({"name": name, "file_type": "verilogSource"} for name in sources),
            {"name": CONSTRAINTS.name, "file_type": "LPF"},
        ],
        "flow_options": {
            "yosys_template": "synthesis.tcl",
            "nextpnr_options": options,
            "ecppack_options": ["--compress", "--freq", "62.0"],
        },
    }
    # Edalize keeps the options of a flow in its class, where those of the next would be added to them.
    flow = type("Trellis", (Trellis,), {"_flow": copy.deepcopy(Trellis._flow)})
    flow(edam, place).configure()


def _copy_project(place: Path, folder: Path, sources: list[str]) -> None:
    """Another folder with the same sources and netlist, in which make has only place and route left to do."""
    folder.mkdir()
    for name in (*sources, CONSTRAINTS.name, "synthesis.tcl"):
        shutil.copy(place / name, folder / name)
    shutil.copy(place / f"{NAME}.json", folder / f"{NAME}.json")


def _make(folders: list[Path], what: str, target: str, done: Callable[[int], None] = lambda count: None) -> None:
    """Run make in some folders, as many at once as there are processors."""
    commands = []
    for folder in folders:
        make = ["make", "--silent", "--no-print-directory", "-C", str(folder)]
        make += [f"EDALIZE_LAUNCHER={shlex.join(launch.LAUNCHER)}", target]
        commands.append(["env", f"PYTHONPATH={os.pathsep.join(path for path in sys.path if path)}", *make])
    try:
        run_programs(what, commands, folders[0], done)
    except SimulatorError as error:
        raise BuildError(f"{error}; the logs are in the folder 'failed' of the build") from None


def _check_cells(board: Board, config: EngineConfig, cells: dict[str, int]) -> None:
    for cell, there in board.cells.items():
        if cells[cell] > there:
            raise BuildError(
                f"{config.name} takes {cells[cell]:,} {cell}, more than the {there:,} of the {board.device}; "
                "choose a smaller --config"
            )


def _check_clock(board: Board, runs: list[dict]) -> None:
    """Raise BuildError unless, with some seed, every clock is as fast as it has to be."""
    for run in runs:
        if all(mhz >= _needed(board, clock) for clock, mhz in run["fmax_mhz"].items()):
            return
    best = max(run["fmax_mhz"][ENGINE_CLOCK] for run in runs)
    raise BuildError(
        f"timing failed: the engine's clock closes at {best:.1f} MHz with the best of {len(runs)} seeds, and the board "
        f"needs {board.clock_hz / 1e6:g}; try more --seeds"
    )


def _needed(board: Board, clock: str) -> float:
    return (board.clock_hz if clock == ENGINE_CLOCK else OSCILLATOR_HZ) / 1e6


def _keep_best(place: Path, seed: int) -> None:
    """The files of the best seed in the place of the folders of all."""
    for name in (f"{NAME}.bit", f"{NAME}.config", "timing.json", "next.log"):
        shutil.move(place / f"seed_{seed}" / name, place / name)
    for path in place.glob("seed_*"):
        shutil.rmtree(path)
