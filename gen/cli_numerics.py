"""The subcommand `flashtile numerics`."""

from __future__ import annotations

import argparse
import json
import os
import sys

from gen.inputs import InputError
from gen.numerics_plot import check_plot, write_plot
from gen.numerics_report import build, file_text, text
from gen.outputs import OutputError, check_output, replacing
from gen.terminal import check_standard_output, emit, progress

MOST_SEEDS = 100_000
RESULT, PLOT = "numerics.json", "numerics.png"


def add_numerics(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "numerics",
        allow_abbrev=False,
        help="measure the datapath's errors over many seeds, kinds of data, sizes, formats and schedules",
        description="Run the golden model on many heads, and measure its errors against exact softmax, what each "
        "rounding adds to them, and what rounding softmax to Q8.8 would do to row sums. Reproducible.",
    )
    parser.set_defaults(command=_numerics)
    parser.add_argument(
        "--seeds",
        metavar="S",
        type=whole,
        default=1000,
        help="of N=32 with d=4; the other sizes get a tenth (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help=f"write {RESULT} and {PLOT} there (needs matplotlib)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the report")


def _numerics(arguments: argparse.Namespace) -> int:
    check_standard_output()
    if not 1 <= arguments.seeds <= MOST_SEEDS:
        raise InputError(f"--seeds must be between 1 and {MOST_SEEDS}, not {arguments.seeds}")
    if arguments.output is not None:
        _check_folder(arguments.output)
    with progress("measuring", "heads") as advance:
        report = build(arguments.seeds, advance)
    if arguments.output is not None:
        with replacing(os.path.join(arguments.output, RESULT)) as partial:
            partial.write_text(file_text(report), encoding="utf-8")
        with replacing(os.path.join(arguments.output, PLOT)) as partial:
            write_plot(report, partial)
    emit(json.dumps(report, allow_nan=False) if arguments.json else text(report, sys.stdout.isatty()))
    return 0


def _check_folder(folder: str) -> None:
    """Raise OutputError for an --output into which the results cannot be written."""
    if not folder.strip():
        raise OutputError("the name of the folder is empty; give a folder")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise OutputError(f"cannot write into {folder!r}: it is not a directory; give another name")
    for name in (RESULT, PLOT):
        check_output("--output", os.path.join(folder, name), "a folder", {})
    check_plot()
