"""The subcommand `flashtile build`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fpga.build_error import BuildError
from fpga.ulx3s import build as ulx3s
from fpga.ulx3s.board import BOARDS, DEFAULT_BAUD, MAX_BAUD, MIN_BAUD
from fpga.ulx3s.report import text
from gen.terminal import check_standard_output, emit, progress
from golden.config import NAMED, load_config

MOST_SEEDS = 100


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
    parser.add_argument("board", metavar="BOARD", help=", ".join(BOARDS))
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="a new folder, or one of an earlier build (default: build/BOARD)"
    )
    parser.add_argument(
        "--config", metavar="NAME",
        help=f"{', '.join(NAMED)}, or a .json file; the memory is the board's (default: the board's own)",
    )  # fmt: skip
    parser.add_argument(
        "--baud", metavar="B", type=whole, default=DEFAULT_BAUD,
        help=f"of the serial line, {MIN_BAUD} to {MAX_BAUD} (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--seed", metavar="S", type=whole, default=1, help="of place and route (default: %(default)s)")
    parser.add_argument(
        "--seeds", metavar="N", type=whole, default=1,
        help="place and route with N seeds, from --seed on, and keep the fastest (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")


def _build(arguments: argparse.Namespace) -> int:
    check_standard_output()
    if arguments.board not in BOARDS:
        raise BuildError(f"unknown board {arguments.board!r}; choose one of {', '.join(BOARDS)}")
    if not 1 <= arguments.seeds <= MOST_SEEDS:
        raise BuildError(f"--seeds must be between 1 and {MOST_SEEDS}, not {arguments.seeds}")
    if arguments.seed < 0:
        raise BuildError(f"--seed must be at least 0, not {arguments.seed}")
    config = load_config(arguments.config or BOARDS[arguments.board].config)
    folder = Path(arguments.output or f"build/{arguments.board}")
    seeds = list(range(arguments.seed, arguments.seed + arguments.seeds))
    board = BOARDS[arguments.board]
    with progress(f"building {board.name}", "steps") as advance:
        report = ulx3s.build(board, config, folder, arguments.baud, seeds, advance or (lambda done, total: None))
    emit(json.dumps(report) if arguments.json else text(report, folder))
    return 0
