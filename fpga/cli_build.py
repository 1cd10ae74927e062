"""The subcommand `flashtile build`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fpga.build_error import BuildError
from fpga.ulx3s.board import BOARDS, DEFAULT_BAUD, MAX_BAUD, MIN_BAUD
from gen.terminal import check_standard_output, emit, progress
from golden.config import NAMED, load_config

MOST_SEEDS = 100
ZUBOARD = "zuboard"
NAMES = *BOARDS, ZUBOARD


def add_build(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "build",
        allow_abbrev=False,
        help="build the bitstream of a board",
        description="Build the engine for a board, from Verilog to the bitstream, and report area and clock. Exit code "
        "2 if the clock does not close or a tool fails; the logs are then in the folder 'failed' of the output.",
    )
    parser.set_defaults(command=_build)
    parser.add_argument("board", metavar="BOARD", help=", ".join(NAMES))
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="a new folder, or one of an earlier build (default: build/BOARD)"
    )
    parser.add_argument(
        "--config", metavar="NAME",
        help=f"{', '.join(NAMED)}, or a .json file; the memory is the board's (default: the board's own)",
    )  # fmt: skip
    ulx3s_only = parser.add_argument_group("ULX3S")
    ulx3s_only.add_argument(
        "--baud", metavar="B", type=whole,
        help=f"of the serial line, {MIN_BAUD} to {MAX_BAUD} (default: {DEFAULT_BAUD})",
    )  # fmt: skip
    ulx3s_only.add_argument("--seed", metavar="S", type=whole, help="of place and route (default: 1)")
    ulx3s_only.add_argument(
        "--seeds", metavar="N", type=whole,
        help="place and route with N seeds, from --seed on, and keep the fastest (default: 1)",
    )  # fmt: skip
    zuboard_only = parser.add_argument_group("ZUBoard")
    zuboard_only.add_argument(
        "--project-only", action="store_true", help="write the project for Vivado, and do not look for Vivado"
    )
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")


def _build(arguments: argparse.Namespace) -> int:
    check_standard_output()
    if arguments.board not in NAMES:
        raise BuildError(f"unknown board {arguments.board!r}; choose one of {', '.join(NAMES)}")
    folder = Path(arguments.output or f"build/{arguments.board}")
    try:
        report, text = (_zuboard if arguments.board == ZUBOARD else _ulx3s)(arguments, folder)
    except ModuleNotFoundError as error:
        raise BuildError(f"{error.name} is missing, which builds need; pip install 'flashtile[fpga]'") from None
    emit(json.dumps(report) if arguments.json else text)
    return 0


# The builders are imported when they are wanted: they need packages of the extra fpga, which other commands do not.


def _ulx3s(arguments: argparse.Namespace, folder: Path) -> tuple[dict, str]:
    from fpga.ulx3s import build as ulx3s
    from fpga.ulx3s import report as ulx3s_report

    first, count = (1 if value is None else value for value in (arguments.seed, arguments.seeds))
    baud = DEFAULT_BAUD if arguments.baud is None else arguments.baud
    if arguments.project_only:
        raise BuildError(f"--project-only is for the ZUBoard, not for {arguments.board}; leave it out")
    if not 1 <= count <= MOST_SEEDS:
        raise BuildError(f"--seeds must be between 1 and {MOST_SEEDS}, not {count}")
    if first < 0:
        raise BuildError(f"--seed must be at least 0, not {first}")
    board = BOARDS[arguments.board]
    config = load_config(arguments.config or board.config)
    with progress(f"building {board.name}", "steps") as advance:
        seeds = list(range(first, first + count))
        report = ulx3s.build(board, config, folder, baud, seeds, advance or (lambda done, total: None))
    return report, ulx3s_report.text(report, folder)


def _zuboard(arguments: argparse.Namespace, folder: Path) -> tuple[dict, str]:
    from fpga.zuboard import build as zuboard

    for option in ("baud", "seed", "seeds"):
        if getattr(arguments, option) is not None:
            raise BuildError(f"--{option} is for the ULX3S, not for the ZUBoard; leave it out")
    config = load_config(arguments.config or "base")
    with progress("building zuboard", "steps") as advance:
        report = zuboard.build(config, folder, arguments.project_only, advance)
    return report, _zuboard_text(report, folder)


def _zuboard_text(report: dict, folder: Path) -> str:
    lines = [
        f"board      zuboard, {report['part']}",
        f"engine     {report['config']}",
        f"clock      {report['clock_mhz']:g} MHz",
    ]
    if report["bitstream"] is None:
        return "\n".join([*lines, f"project    {folder}; run make there, where Vivado is installed"])
    lines += [f"slack      {name}: {nanoseconds:+.3f} ns" for name, nanoseconds in report["timing"].items()]
    lines += [f"cells      {name} {count:,g}" for name, count in report["utilisation"].items()]
    return "\n".join([*lines, f"bitstream  {folder / report['bitstream']}, {folder / report['hwh']}"])
