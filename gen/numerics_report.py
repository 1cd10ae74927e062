"""What the numerics study says: as a JSON object, a file of it, and text for people."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from golden.error_budget import ONLY_IN, STEPS, budget, steps_of
from golden.numerics import (
    BLOCK,
    CONFIGS,
    LENGTHS,
    MAIN_SIZE,
    OTHER_DIM,
    SCHEDULES,
    Block,
    Case,
    blocks,
    cases,
    measure,
    merge,
    row_sums,
    six_digits,
)

UNIT = "256 LSBs of the output: one V step for int8, 1.0 (256 V steps) for q8.8"


def build(seeds: int, advance: Callable[[int, int], None] | None = None) -> dict:
    """The study as an object for JSON; floats have 6 significant digits.

    `cases`: see golden.numerics.measure; `blocks` holds [mean, max, sum_error] of each 50 seeds. `budget`: see
    golden.error_budget.budget; `blocks` holds [mean, max]. `row_sums`: see golden.numerics.row_sums.

    Args:
        seeds: of N=32 with d=4; the other sizes get a tenth.
        advance: called with heads done and to do.
    """
    measured = cases()
    others = Case("q8.8", "FLASH", "normal", LENGTHS[0], OTHER_DIM).seeds(seeds)
    total = sum(case.seeds(seeds) for case in measured) + len(CONFIGS) * len(SCHEDULES) * seeds + len(LENGTHS) * others
    done = 0

    def count(more):
        nonlocal done
        done += more
        if advance is not None:
            advance(done, total)

    report = {"seeds": seeds, "block": BLOCK, "unit": UNIT, "cases": [], "budget": [], "row_sums": []}
    for case in measured:
        parts = []
        for block in blocks(case.seeds(seeds)):
            parts.append(measure(case, block))
            count(len(block))
        report["cases"].append(_case(case, parts))
    for element in CONFIGS:
        for schedule in SCHEDULES:
            parts = []
            for block in blocks(seeds):
                parts.append(budget(element, schedule, block))
                count(len(block))
            report["budget"] += [
                _step(element, schedule, step, [part[step] for part in parts]) for step in (*steps_of(schedule), "all")
            ]
    for n in LENGTHS:
        found = {name: six_digits(value) for name, value in row_sums(n, range(others)).items()}
        report["row_sums"].append({"n": n, "d": OTHER_DIM, "seeds": others, **found})
        count(others)
    return report


def _case(case: Case, parts: list[Block]) -> dict:
    whole = merge(parts)
    return {
        "element": case.element,
        "schedule": case.schedule,
        "data": case.data,
        "n": case.n,
        "d": case.d,
        "seeds": whole.seeds,
        "mean": six_digits(whole.mean),
        "max": six_digits(whole.max),
        "sum_error": six_digits(whole.sum_error),
        "saturations": whole.saturations,
        "blocks": [[six_digits(value) for value in (part.mean, part.max, part.sum_error)] for part in parts],
    }


def _step(element: str, schedule: str, step: str, parts: list[Block]) -> dict:
    whole = merge(parts)
    return {
        "element": element,
        "schedule": schedule,
        "step": step,
        "seeds": whole.seeds,
        "mean": six_digits(whole.mean),
        "max": six_digits(whole.max),
        "blocks": [[six_digits(part.mean), six_digits(part.max)] for part in parts],
    }


def file_text(report: dict) -> str:
    """The object as the text of a file: one line an entry, so that differences can be read."""
    lines = []
    for name, value in report.items():
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(f"  {json.dumps(entry, allow_nan=False)}" for entry in value) + "\n ]"
        lines.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def text(report: dict, terminal: bool) -> str:
    """The study as text for people: coloured for a terminal, else plain and 80 columns wide."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=None if terminal else 80,
        highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    parts = [Text("Errors against exact softmax of the same integers: V steps for int8, values for q8.8.")]
    for table in (*_case_tables(report), _budget_table(report), _row_sum_table(report)):
        parts += [Text(), table]
    console.print(Group(*parts))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def _table(title: str, *columns: str, labels: int) -> Table:
    """A table whose first columns are labels and whose others are figures."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < labels else "right", no_wrap=True)
    return table


def _figure(value: float) -> str:
    return f"{value:.3g}" if value >= 1e-3 else f"{value:.2g}"


def _case_tables(report: dict):
    n, d = MAIN_SIZE
    main = [case for case in report["cases"] if (case["n"], case["d"]) == MAIN_SIZE]
    columns = ("element", "schedule", "data", "mean", "max", "|Σp/l - 1|", "saturated")
    table = _table(f"N={n}, d={d}: {_seeds(main[0])}", *columns, labels=3)
    for case in main:
        table.add_row(*_labels(case), *_figures([case]))
    yield table
    others = [case for case in report["cases"] if case["d"] == OTHER_DIM]
    lengths = f"N={LENGTHS[0]} to {LENGTHS[-1]}, d={OTHER_DIM}, the worst of all N: {_seeds(others[0])} each"
    table = _table(lengths, *columns, labels=3)
    for case in others[: len(main)]:
        table.add_row(*_labels(case), *_figures([other for other in others if _labels(other) == _labels(case)]))
    yield table


def _seeds(entry: dict) -> str:
    return f"{entry['seeds']:,} seed{'s' if entry['seeds'] > 1 else ''}"


def _labels(case: dict) -> tuple[str, str, str]:
    return case["element"], case["schedule"], case["data"]


def _figures(group: list[dict]) -> list[str]:
    worst = [_figure(max(case[name] for case in group)) for name in ("mean", "max", "sum_error")]
    return [*worst, f"{sum(case['saturations'] for case in group):,}"]


def _budget_table(report: dict) -> Table:
    n, d = MAIN_SIZE
    columns = [f"{element} {what}" for element in CONFIGS for what in ("mean", "max")]
    title = f"Each rounding alone, normal data, N={n}, d={d}: {_seeds(report['budget'][0])}"
    table = _table(title, "rounding", *columns, labels=1)
    found = {(entry["element"], entry["schedule"], entry["step"]): entry for entry in report["budget"]}
    rows = [(step, ONLY_IN.get(step, "FLASH"), name) for step, name in STEPS.items()]
    for step, schedule, name in (*rows, *(("all", schedule, f"all, {schedule}") for schedule in SCHEDULES)):
        entries = [found[element, schedule, step] for element in CONFIGS]
        table.add_row(name, *(_figure(entry[what]) for entry in entries for what in ("mean", "max")))
    return table


def _row_sum_table(report: dict) -> Table:
    rows = report["row_sums"]
    columns = ("N", "Q8.8 mean", "Q8.8 max", "rows off", "engine mean", "engine max")
    title = f"|row sum - 1|, softmax in Q8.8 and engine: {_seeds(rows[0])} each"
    table = _table(title, *columns, labels=1)
    for row in rows:
        rounded = _figure(row["rounded_mean"]), _figure(row["rounded_max"]), f"{row['rounded_off']:.0%}"
        table.add_row(str(row["n"]), *rounded, _figure(row["engine_mean"]), _figure(row["engine_max"]))
    return table
