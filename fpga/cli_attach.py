"""The subcommand `flashtile attach`: attention heads of a real model on a real board, or on a simulated one."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fpga.host.errors import DeviceError
from fpga.ulx3s.board import DEFAULT_BAUD, MAX_BAUD, MIN_BAUD
from gen.inputs import Inputs, QuantisedHead, load_inputs, quantise_head
from gen.report import HeadRun, errors
from gen.simulate import EngineResult
from gen.terminal import check_standard_output, emit, notice, progress
from golden.config import NAMED
from golden.heads import DEFAULT_HEAD, head_names
from golden.predict import TIMED, Prediction, predict
from golden.presets import preset_names

if TYPE_CHECKING:
    from fpga.host.accelerator import Accelerator, RawResult

NOT_EXACT = 1
SMALL_PRESET = "previous-token"  # what runs by default where heads of the model are too large


@dataclass(frozen=True)
class _Attached:
    """A head on the device: seconds, with the time to load it and to read it back; mismatch: a phrase or None."""

    name: str
    head: QuantisedHead
    prediction: Prediction
    result: RawResult
    seconds: float
    mismatch: str | None


def add_attach(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "attach",
        allow_abbrev=False,
        help="run attention heads on a board and compare them with the golden model",
        description="Run attention heads of a real model on a board, or on a simulated one, and compare output, m, l "
        "and all counters that do not depend on the memory's timing with the golden model. Exit code 0 if all are "
        "equal, 1 if not, 2 if the device cannot be used.",
    )
    parser.set_defaults(command=_attach)
    parser.add_argument(
        "--port", metavar="PORT", required=True,
        help="serial port, such as /dev/ttyUSB0; pynq:FILE.bit on a PYNQ board; sim:ulx3s or sim:zuboard, simulated",
    )  # fmt: skip
    parser.add_argument(
        "--baud", metavar="B", type=whole, default=DEFAULT_BAUD,
        help=f"of the serial port, {MIN_BAUD} to {MAX_BAUD}: that of the bitstream (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--config", metavar="NAME",
        help=f"what the device must be, but for its memory: {', '.join(NAMED)}, or a .json file (default: any; "
        "a simulated one is base)",
    )  # fmt: skip
    default = f"the head {DEFAULT_HEAD} without, or where that is too large the preset {SMALL_PRESET}"
    data = parser.add_argument_group("data", default)
    names = ", ".join(head_names())
    data.add_argument("--head", metavar="NAME", nargs="+", default=[], help=f"of a real model: {names}")
    data.add_argument("--preset", metavar="NAME", nargs="+", default=[], help=", ".join(preset_names()))
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the report")


def _attach(arguments: argparse.Namespace) -> int:
    check_standard_output()
    inputs = _inputs(arguments.head, arguments.preset)
    with _connect(arguments) as device:
        if not inputs:
            fits = load_inputs(device.config).heads[0][0].shape[1] <= device.config.max_dim
            inputs = _inputs([DEFAULT_HEAD], []) if fits else _inputs([], [SMALL_PRESET])
        heads = [(name, _described(device, data)) for name, data in inputs.items()]
        with progress(f"running on {device.name}", "heads") as advance:
            runs = []
            for name, head in heads:
                runs.append(_run(device, name, head))
                if advance:
                    advance(len(runs), len(heads))
        summary = _summary(device, runs)
    emit(json.dumps(summary, allow_nan=False) if arguments.json else _text(summary, sys.stdout.isatty()))
    return 0 if summary["bit_exact"] else NOT_EXACT


def _inputs(heads: list[str], presets: list[str]) -> dict[str, Inputs]:
    """Data by name; InputError for a name that is none."""
    config = NAMED["base"]  # bounds random data only
    found = {name: load_inputs(config, head=name) for name in heads}
    return found | {name: load_inputs(config, preset=name) for name in presets}


def _connect(arguments: argparse.Namespace) -> Accelerator:
    try:
        from fpga.host import connect
    except ImportError as error:
        raise DeviceError(f"the host drivers need more packages ({error}); pip install 'flashtile[host]'") from None
    return connect(arguments.port, arguments.config, arguments.baud, notice=notice)


def _described(device: Accelerator, data: Inputs) -> QuantisedHead:
    """The head as one run that writes (m, l); JobError if the device cannot do it."""
    head = quantise_head(device.config, data.heads[0], data.causal)
    return replace(head, job=replace(head.job, state=True))


def _run(device: Accelerator, name: str, head: QuantisedHead) -> _Attached:
    prediction = predict(device.config, head.job, *head.raw)
    begun = time.monotonic()
    result = device.attention_raw(head.job, *head.raw)
    seconds = time.monotonic() - begun
    return _Attached(name, head, prediction, result, seconds, _mismatch(prediction, result))


def _mismatch(prediction: Prediction, result: RawResult) -> str | None:
    """The first difference from golden, as a phrase, or None; where there were several runs, of the data only."""
    golden = prediction.result
    pairs = (
        ("output", result.output, golden.output[None]),
        ("m", result.state[0], golden.maximum[None]),
        ("l", result.state[1], golden.total[None]),
    )
    for name, device, expected in pairs:
        wrong = np.argwhere(device != expected)
        if wrong.size:
            index = tuple(int(i) for i in wrong[0])
            return f"{name}[{', '.join(map(str, index[1:]))}] is {device[index]}, golden {expected[index]}"
    for name, value in result.counters.items():
        if result.runs == 1 and name not in TIMED and value != prediction.counters[name]:
            return f"counter {name} is {value}, golden {prediction.counters[name]}"
    return None


def _summary(device: Accelerator, runs: list[_Attached]) -> dict:
    """The report as an object for JSON. Cycles and bytes are sums over heads.

    mismatch: null, or what differs first from golden. clock_hz: of the engine, null where the device does not say.
    error: of the outputs, against float attention. seconds: with loading and reading back.
    """
    wrong = [f"{run.name}: {run.mismatch}" for run in runs if run.mismatch]
    config = device.config
    per_head = [errors(config, _head_run(run)) for run in runs]
    return {
        "bit_exact": not wrong,
        "mismatch": wrong[0] if wrong else None,
        "device": device.name,
        "config": config.name,
        "element": config.element,
        "array": [config.array_depth, config.array_keys],
        "word_bytes": config.word_bytes,
        "memory_bytes": device.memory_bytes,
        "build": f"{device.identity.build:08x}",
        "clock_hz": device.identity.clock_hz or None,
        "heads": [run.name for run in runs],
        "runs": sum(run.result.runs for run in runs),
        "cycles": {name: sum(run.result.counters[name] for run in runs) for name in TIMED},
        "bytes": sum(
            value for run in runs for name, value in run.result.counters.items() if name.endswith("_bytes")
        ),
        "error": {
            "max": max(error["max"] for error in per_head),
            "mean": float(np.mean([error["mean"] for error in per_head])),
        },
        "seconds": round(sum(run.seconds for run in runs), 6),
    }  # fmt: skip


def _head_run(run: _Attached) -> HeadRun:
    """For gen.report.errors, which looks at the output only."""
    return HeadRun(run.head, run.prediction, EngineResult(run.result.output[0], *run.result.state, None, {}))


def _text(summary: dict, terminal: bool) -> str:
    """A summary as text for people: coloured for a terminal, else plain and 80 columns wide."""
    depth, keys = summary["array"]
    if summary["bit_exact"]:
        verdict = Text("yes: output, m, l and counters equal the golden model", style="bold green")
    else:
        verdict = Text(f"NO: {summary['mismatch']}", style="bold red")
    clock, cycles = summary["clock_hz"], summary["cycles"]
    rate = f"{cycles['busy'] / clock * 1e6:,.1f} us at {clock / 1e6:g} MHz" if clock else "the device names no clock"
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in (
        ("device", f"{summary['device']}, build {summary['build']}"),
        ("engine", f"{summary['config']}: {summary['element']}, two {depth}x{keys} arrays, "
                   f"{summary['word_bytes']}-byte memory port, {summary['memory_bytes']:,} bytes"),
        ("data", ", ".join(summary["heads"])),
        ("bit-exact", verdict),
        ("error", f"max {summary['error']['max']:.4g}, mean {summary['error']['mean']:.4g} against float attention"),
        ("cycles", f"{cycles['busy']:,} busy, {cycles['compute']:,} compute, {rate}"),
        ("bytes", f"{summary['bytes']:,}"),
        ("time", f"{summary['seconds']:.3f} s with loading and reading back"),
    ):  # fmt: skip
        grid.add_row(label, value if isinstance(value, Text) else Text(value))
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=None if terminal else 80,
        highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    console.print(grid)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
