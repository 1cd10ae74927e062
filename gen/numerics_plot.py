"""The plot of the numerics study. Needs matplotlib, which only the extra `plot` installs."""

from __future__ import annotations

import math
from pathlib import Path

from gen.outputs import OutputError
from golden.error_budget import ONLY_IN, STEPS
from golden.numerics import LENGTHS, MAIN_SIZE, OTHER_DIM, SCHEDULES

DOTS_PER_INCH = 110
LEAST = 3e-8  # where the log axis of the roundings begins
COLOURS = {"int8": "tab:blue", "q8.8": "tab:orange"}
LINES = {"FLASH": "-", "NAIVE": "--"}


def check_plot() -> None:
    """Raise OutputError if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise OutputError(
            "the plot of --output needs matplotlib, which is not installed; install it, for instance with "
            "pip install 'flashtile[plot]', or leave --output out"
        ) from None


def write_plot(report: dict, path: Path) -> None:
    """Draw a report of gen.numerics_report.build as a PNG; the same report gives the same bytes.

    Left: error over N. Middle: error of each rounding alone. Right: row sums of rounded softmax and of the engine.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.8), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    lengths, steps, sums = figure.subplots(1, 3, width_ratios=(1, 1.35, 1))
    _draw_lengths(lengths, report)
    _draw_steps(steps, report)
    _draw_sums(sums, report)
    for axes in (lengths, sums):
        axes.set_xscale("log", base=2)
        axes.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
        axes.set_xlabel("keys N")
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
    lengths.legend(fontsize="small", ncols=2, loc="upper center")
    sums.legend(fontsize="small")
    # Without the name and version of the program, which would change the bytes.
    canvas.print_png(path, metadata={"Software": None}, pil_kwargs={"optimize": True})


def _draw_lengths(axes, report) -> None:
    for element, colour in COLOURS.items():
        for schedule, line in LINES.items():
            cases = [
                case
                for case in report["cases"]
                if (case["element"], case["schedule"], case["data"], case["d"])
                == (element, schedule, "normal", OTHER_DIM)
            ]
            for what, marker in (("mean", "."), ("max", "^")):
                values = [case[what] for case in cases]
                axes.plot(LENGTHS, values, line, marker=marker, color=colour, label=f"{element} {schedule} {what}")
    axes.set_ylim(5e-4, 2)  # room for the legend
    axes.set_title(f"datapath error, normal data, d={OTHER_DIM}")
    axes.set_ylabel("V steps (int8), values (q8.8)")


def _draw_steps(axes, report) -> None:
    found = {(entry["element"], entry["schedule"], entry["step"]): entry for entry in report["budget"]}
    rows = [(name, step, ONLY_IN.get(step, "FLASH")) for step, name in STEPS.items()]
    rows += [(f"all, {schedule}", "all", schedule) for schedule in SCHEDULES]
    height = 0.38
    for index, (element, colour) in enumerate(COLOURS.items()):
        entries = [found[element, schedule, step] for _, step, schedule in rows]
        position = [row + (index - 0.5) * height for row in range(len(rows))]
        axes.barh(position, [entry["mean"] for entry in entries], height, color=colour, label=f"{element} mean")
        largest = [entry["max"] or math.nan for entry in entries]
        axes.plot(largest, position, "^", color=colour, markersize=4, label=f"{element} max")
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize="small")
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(LEAST, 1)
    axes.set_title(f"each rounding alone, normal data, N={MAIN_SIZE[0]}, d={MAIN_SIZE[1]}")
    axes.set_xlabel("V steps (int8), values (q8.8)")
    axes.grid(alpha=0.3, axis="x")
    axes.legend(fontsize="small")


def _draw_sums(axes, report) -> None:
    rows = report["row_sums"]
    for what, line in (("mean", "-"), ("max", "--")):
        rounded = [row[f"rounded_{what}"] for row in rows]
        axes.plot(LENGTHS, rounded, line, marker=".", color="tab:red", label=f"softmax rounded to Q8.8, {what}")
        engine = [row[f"engine_{what}"] for row in rows]
        axes.plot(LENGTHS, engine, line, marker=".", color=COLOURS["q8.8"], label=f"engine's weights, {what}")
    axes.set_title("|row sum - 1|, Q8.8, normal data")
