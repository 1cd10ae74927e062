"""The subcommand `flashtile generate`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from gen.core_folder import FolderError, write_core
from gen.inputs import InputError
from gen.terminal import check_standard_output, emit, progress
from golden.config import NAMED, load_config

MOST_VECTORS = 999


def add_generate(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "generate",
        allow_abbrev=False,
        help="write the engine as Verilog, with file lists, a FuseSoC core and test vectors",
        description="Write the engine of a configuration as Verilog-2005, one module for each distinct block, with its "
        "configuration record, file lists, a FuseSoC core file and a README. The same arguments give the same bytes.",
    )
    parser.set_defaults(command=_generate)
    parser.add_argument("config", metavar="CONFIG", help=f"{', '.join(NAMED)}, or a .json file")
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True, help="a new or empty folder, or one with an earlier core"
    )
    parser.add_argument("--flat", action="store_true", help="one module for each top instead of one for each block")
    parser.add_argument(
        "--vectors", metavar="N", type=whole, default=0, help="test vectors to add (default: %(default)s)"
    )
    parser.add_argument("--seed", metavar="S", type=whole, default=0, help="of the vectors (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the report")


def _generate(arguments: argparse.Namespace) -> int:
    check_standard_output()
    config = load_config(arguments.config)
    for name, value, high in (("--vectors", arguments.vectors, MOST_VECTORS), ("--seed", arguments.seed, 2**63 - 1)):
        if not 0 <= value <= high:
            raise InputError(f"{name} must be between 0 and {high}, not {value}")
    if not arguments.output.strip():
        raise FolderError("the name of the folder is empty; give a new or empty folder")
    folder = Path(arguments.output)
    with progress("generating", "modules and vectors") as advance:
        names = write_core(config, folder, arguments.flat, arguments.vectors, arguments.seed, advance)
    verilog = [name for name in names if name.endswith(".v")]
    summary = {
        "config": config.name,
        "folder": str(folder),
        "top": "engine",
        "modules": len(verilog),
        "vectors": arguments.vectors,
        "seed": arguments.seed,
        "files": names,
    }
    vectors = f", {arguments.vectors} test vectors from seed {arguments.seed}" if arguments.vectors else ""
    text = f"{folder}: {len(verilog)} Verilog files, top module engine in engine.v{vectors}; see README.md there"
    emit(json.dumps(summary) if arguments.json else text)
    return 0
