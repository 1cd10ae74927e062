"""The subcommand `flashtile bench`."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gen import benchmark
from gen.inputs import InputError
from gen.outputs import OutputError, check_output, replacing
from gen.perfetto import trace_text
from gen.plots import check_plotting, roofline_png, timeline_png
from gen.simulate import SIMULATORS, default_simulator
from gen.terminal import check_standard_output, emit, notice, progress
from golden.cycles import cycles

FILES = ("roofline.png", "timeline.png", "trace.json")
SHOWN = "tiny_16row"  # the case of the timeline: short enough to see every tile
TRACED = "n128_d64"
WIDTH = 112
OTHERS = """\
others: busy cycles of system A or B as published, after the slash compute cycles; bytes of system B
use: share of all multipliers while busy; FSA (2026), a systolic FlashAttention engine, reaches at most 40%"""


def add_bench(commands, whole) -> None:
    """Add the subcommand to the parser; whole: type of arguments that are whole numbers."""
    parser = commands.add_parser(
        "bench",
        allow_abbrev=False,
        help="run the benchmark and show it beside the figures of other systems",
        description="Run the benchmark's cases on the simulated engine, compare every bit, byte and cycle with the "
        "golden model, and show cycles and bytes beside the limits and the figures that other systems publish; then "
        "NAIVE against FLASH over N, and arrays of 1 to 16 lanes. Exit code 0 if all are equal, 1 if not, 2 for bad "
        "input.",
    )
    parser.set_defaults(command=_bench)
    parser.add_argument(
        "--simulator", choices=SIMULATORS, help="(default: the first of these that can be used on this machine)"
    )
    parser.add_argument("--quick", action="store_true", help=f"leave out cases of more than {benchmark.LONG:,} cycles")
    parser.add_argument("--seed", metavar="S", type=whole, default=0, help="of the data (default: %(default)s)")
    parser.add_argument(
        "--output", metavar="DIR", help=f"write {', '.join(FILES)} into this folder; pictures need matplotlib"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the tables")


def _bench(arguments: argparse.Namespace) -> int:
    check_standard_output()
    if not 0 <= arguments.seed < 2**63:
        raise InputError(f"--seed must be between 0 and {2**63 - 1}, not {arguments.seed}")
    chosen = {
        "cases": benchmark.CASES,
        "naive_sweep": benchmark.naive_sweep(),
        "lanes_sweep": benchmark.lanes_sweep(),
    }
    if arguments.quick:
        chosen = {name: benchmark.quick(cases) for name, cases in chosen.items()}
    simulator = arguments.simulator or default_simulator()
    with _folder(arguments.output) as folder:
        reports = _measure(chosen, simulator, arguments.seed)
        exact = all(case["bit_exact"] for cases in reports.values() for case in cases)
        if folder is not None and exact:
            _write(folder, reports["cases"])
    if arguments.json:
        summary = {"bit_exact": exact, "simulator": simulator, "seed": arguments.seed, **reports}
        emit(json.dumps(summary, allow_nan=False))
    else:
        emit(text(reports, simulator, arguments.seed, sys.stdout.isatty()))
    return 0 if exact else 1


def _measure(chosen: dict, simulator: str, seed: int) -> dict[str, list[dict]]:
    """Reports of all lists of cases, in one go, so that each configuration is simulated once."""
    cases = [case for several in chosen.values() for case in several]
    with progress("benchmark", "cycles") as advance:
        reports = iter(benchmark.measure(cases, simulator, seed, advance, notice))
    return {name: [next(reports) for _ in several] for name, several in chosen.items()}


@contextmanager
def _folder(name: str | None) -> Iterator[Path | None]:
    """The folder --output names, made with its parents where missing; what is still empty at the end is taken away."""
    if name is None:
        yield None
        return
    check_plotting()
    if not name.strip():
        raise OutputError("the name of the folder is empty; give another name for --output")
    folder = Path(name)
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "it is not a folder" if os.path.lexists(folder) else error.strerror
            raise OutputError(f"cannot make the folder {name!r}: {reason}; give another name") from None
        for file in FILES:
            check_output("--output", str(folder / file), "a folder", {})
        yield folder
    finally:
        with suppress(OSError):  # not empty
            for path in missing:
                os.rmdir(path)


def _write(folder: Path, reports: Sequence[dict]) -> None:
    """Write all FILES; each is made before the first is written."""
    cases = {case.name: case for case in benchmark.CASES}
    runs = {}
    for name in (SHOWN, TRACED):
        case, job = cases[name], cases[name].job()
        what = f"{case.n_q} queries, {case.n_kv} keys, d {case.dim}, {job.q_rows} query rows a block"
        runs[name] = case.config, job, cycles(case.config, job), f"flashtile {case.config.name}: {what}"
    contents = (
        roofline_png(reports),
        timeline_png(*runs[SHOWN]),
        trace_text(*runs[TRACED]).encode(),
    )
    for file, content in zip(FILES, contents, strict=True):
        with replacing(str(folder / file)) as partial:
            partial.write_bytes(content)


def text(reports: dict[str, list[dict]], simulator: str, seed: int, terminal: bool) -> str:
    """The reports as tables for people: coloured for a terminal, else plain."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=WIDTH, highlight=False, markup=False, emoji=False
    )
    every = [case for cases in reports.values() for case in cases]
    wrong = [case for case in every if not case["bit_exact"]]
    verdict = Text(f"bit-exact: all {len(every)} runs equal the golden model", style="bold green")
    if wrong:
        faults = "\n".join(f"  {case['case']}: {case['mismatch']}" for case in wrong)
        verdict = Text(f"NOT bit-exact: {len(wrong)} of {len(every)} runs\n{faults}", style="bold red")
    console.print(
        Group(
            verdict, Text(f"simulator {simulator}, seed {seed}, memory latency 10"), Text(),
            _cases(reports["cases"]), Text(OTHERS), Text(),
            _naive(reports["naive_sweep"]), Text(), _lanes(reports["lanes_sweep"]),
        )
    )  # fmt: skip
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def _table(title: str, *numbers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(title, no_wrap=True)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def _cases(cases: list[dict]) -> Table:
    table = _table("case", "rows", "busy", "compute", "roofline", "limit", "others", "use", "bytes", "others")
    for case in cases:
        time, moved = case["cycles"], case["bytes"]
        table.add_row(
            case["case"], str(case["q_rows"]), f"{time['busy']:,}", f"{time['compute']:,}", f"{time['roofline']:,}",
            _number(time["limit"]), _published(case), f"{case['utilization']:.1%}", f"{_bytes(case):,}",
            _number(moved["published"]),
        )  # fmt: skip
    return table


def _published(case: dict) -> str:
    time = case["cycles"]
    if case["published_by"] is None:
        return ""
    letter = case["published_by"].removeprefix("system ")
    return f"{letter} {' / '.join(f'{value:,}' for value in (time['published'], time['published_compute']) if value)}"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _bytes(case: dict) -> int:
    return case["bytes"]["read"] + case["bytes"]["written"]


def _naive(cases: list[dict]) -> Table:
    table = _table("N, d=4 on tiny", "NAIVE busy", "FLASH busy", "ratio", "NAIVE bytes", "FLASH bytes", "ratio")
    for n in dict.fromkeys(case["keys"] for case in cases):
        pair = {case["naive"]: case for case in cases if case["keys"] == n}
        busy, moved = ([value(pair[naive]) if naive in pair else None for naive in (True, False)] for value in (
            lambda case: case["cycles"]["busy"], _bytes,
        ))  # fmt: skip
        table.add_row(str(n), *_compared(*busy), *_compared(*moved))
    return table


def _compared(naive: int | None, flash: int | None) -> tuple[str, str, str]:
    ratio = f"{naive / flash:.1f}" if naive and flash else ""
    return _number(naive), _number(flash), ratio


def _lanes(cases: list[dict]) -> Table:
    table = _table("lanes, N=16 d=16", "rows", "busy", "compute", "system A's model", "ratio", "use")
    for case in cases:
        time = case["cycles"]
        table.add_row(
            case["case"].removeprefix("lanes_"), str(case["q_rows"]), f"{time['busy']:,}", f"{time['compute']:,}",
            f"{time['published_compute']:,}", f"{time['published_compute'] / max(time['compute'], 1):.1f}",
            f"{case['utilization']:.1%}",
        )  # fmt: skip
    return table
