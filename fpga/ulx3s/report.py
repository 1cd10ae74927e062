"""What a build of the ULX3S came to: as data, for people, and as a page."""

from __future__ import annotations

import json
import statistics
from importlib import metadata
from pathlib import Path

from fpga import launch
from fpga.ulx3s.board import Board
from fpga.ulx3s.synthesis import memories_of
from golden.config import EngineConfig

ENGINE_CLOCK = "clk"


def seed_report(seed: int, folder: Path) -> dict:
    """What place and route left in a folder: the seed, and MHz of each clock by the name of its net."""
    timing = json.loads((folder / "timing.json").read_text(encoding="utf-8"))
    clocks = {name.removeprefix("$glbnet$"): round(clock["achieved"], 2) for name, clock in timing["fmax"].items()}
    return {"seed": seed, "fmax_mhz": clocks}


def build_report(board: Board, config: EngineConfig, baud: int, cells: dict, place: Path, runs: list[dict]) -> dict:
    """The report of a build, an object for JSON.

    Args:
        cells: see synthesis.cells_of. place: the folder of the build. runs: seed_report of each seed.

    Returns:
        board, device, config, memory_bytes, clock_mhz (of the engine), baud; cells by type, device_cells: how many
        there are; memories: see synthesis.memories_of; seeds: runs; best_seed; fmax_mhz of the engine's clock: least,
        median and most of all seeds; tools: their versions.
    """
    speeds = [run["fmax_mhz"][ENGINE_CLOCK] for run in runs]
    return {
        "board": board.name,
        "device": board.device,
        "config": config.name,
        "memory_bytes": config.memory_bytes,
        "clock_mhz": board.clock_hz / 1e6,
        "baud": baud,
        "cells": cells,
        "device_cells": board.cells,
        "memories": memories_of(place),
        "seeds": runs,
        "best_seed": runs[speeds.index(max(speeds))]["seed"],
        "fmax_mhz": {"least": min(speeds), "median": statistics.median(speeds), "most": max(speeds)},
        "tools": {program: launch.version(program) for program in launch.PROGRAMS}
        | {package: f"{package} {metadata.version(package)}" for package in ("edalize", "myhdl")},
    }


def text(report: dict, folder: Path) -> str:
    """The report for a terminal."""
    cells = [f"    {name:<16}{count:>8,}{_of_device(report, name)}" for name, count in report["cells"].items()]
    speed = report["fmax_mhz"]
    seeds = [
        f"    seed {run['seed']:<4}" + "".join(f"{mhz:>9.1f} MHz {name}" for name, mhz in run["fmax_mhz"].items())
        for run in report["seeds"]
    ]
    return "\n".join(
        (
            f"board      {report['board']}, {report['device']}",
            f"engine     {report['config']}, {report['memory_bytes'] // 1024} KB of block RAM",
            f"clock      {report['clock_mhz']:g} MHz",
            f"UART       {report['baud']:,} baud",
            "cells",
            *cells,
            f"fastest    {speed['most']:.1f} MHz, median {speed['median']:.1f}, slowest {speed['least']:.1f}",
            *seeds,
            "tools      " + ", ".join(dict.fromkeys(report["tools"].values())),
            f"bitstream  {folder / 'ulx3s.bit'}, seed {report['best_seed']}",
        )
    )


def _of_device(report: dict, cell: str) -> str:
    return f"  of {report['device_cells'][cell]:,}" if cell in report["device_cells"] else ""


def markdown(report: dict) -> str:
    """The report as a page."""
    cells = [
        f"| {name} | {count:,} | {report['device_cells'].get(name, '')} |" for name, count in report["cells"].items()
    ]
    clocks = list(report["seeds"][0]["fmax_mhz"])
    seeds = [
        f"| {run['seed']} | " + " | ".join(f"{run['fmax_mhz'][clock]:.1f}" for clock in clocks) + " |"
        for run in report["seeds"]
    ]
    speed, tools = report["fmax_mhz"], ", ".join(dict.fromkeys(report["tools"].values()))
    return "\n".join(
        (
            f"# `{report['config']}` on {report['board']} ({report['device']})",
            "",
            f"With {report['memory_bytes'] // 1024} KB of block RAM as memory. The engine runs at "
            f"{report['clock_mhz']:g} MHz.",
            "",
            f"Made by `flashtile build {report['board']} --seeds {len(seeds)}` with {tools}.",
            "",
            "| cells | used | in the device |",
            "|---|---|---|",
            *cells,
            "",
            "| seed | " + " | ".join(f"`{clock}`, MHz" for clock in clocks) + " |",
            "|---" * (1 + len(clocks)) + "|",
            *seeds,
            "",
            f"`clk`: median {speed['median']:.1f} MHz, slowest {speed['least']:.1f}, fastest {speed['most']:.1f}.",
            "",
        )
    )
