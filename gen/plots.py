"""Pictures of a benchmark: the roofline, and who is busy when. They need matplotlib, the extra `plot`."""

from __future__ import annotations

import io
from collections.abc import Sequence

from gen.outputs import OutputError
from gen.timeline import TRACKS, occupied, slices
from golden.config import NAMED, EngineConfig
from golden.cycles import Cycles
from golden.job import Job

COLOURS = {
    "k": "#4477aa", "q": "#ccbb44", "v": "#66ccee", "s": "#bbbbbb", "p": "#aa3377",
    "MM1": "#228833", "softmax": "#ee8866", "MM2": "#117733", "store": "#882255",
}  # fmt: skip
CONFIGURATIONS = {"base": "#222222", "tiny": "#4477aa", "wide": "#228833", "q88": "#aa3377", "lanes16": "#ee8866"}


def check_plotting() -> None:
    """Raise OutputError if matplotlib is not there."""
    _matplotlib()


def _matplotlib():
    try:
        import matplotlib.figure
        import matplotlib.style
    except ImportError:
        raise OutputError(
            "pictures need matplotlib, which is not installed; pip install 'flashtile[plot]', or leave out --output"
        ) from None
    return matplotlib


def roofline_png(cases: Sequence[dict]) -> bytes:
    """MACs a cycle against MACs a byte: each case a point, each named configuration a roof, that of `base` bold.

    A roof is the lower of two ceilings: multipliers of both arrays, and port width times MACs a byte.

    Args:
        cases: as :func:`gen.benchmark.measure` gives them.
    """
    matplotlib = _matplotlib()
    with matplotlib.style.context("default"):
        figure = matplotlib.figure.Figure(figsize=(9, 5), layout="constrained")
        axes = figure.add_subplot(xscale="log", yscale="log")
        intensity = [0.1, 2000]
        for name in dict.fromkeys(["base", *(case["config"] for case in cases)]):
            config = NAMED[name]
            peak, ridge = _peak(config), _peak(config) / config.word_bytes
            roof = [config.word_bytes * intensity[0], peak, peak]
            style = {"linewidth": 2} if name == "base" else {"linewidth": 0.8, "linestyle": "--"}
            label = f"{name}: {peak} MACs a cycle, {config.word_bytes} bytes a cycle"
            axes.plot([intensity[0], ridge, intensity[1]], roof, color=CONFIGURATIONS[name], label=label, **style)
        places = [(_macs_a_byte(case), case["macs"] / case["cycles"]["busy"]) for case in cases]
        for number, (case, place) in enumerate(zip(cases, places, strict=True), start=1):
            label = f"{number}  {case['case']}: {case['utilization']:.1%}"
            axes.plot(*place, "o", markersize=5, color=CONFIGURATIONS[case["config"]], label=label)
            beside = (-9, 4) if any(_near(place, other) for other in places[: number - 1]) else (3, -10)
            axes.annotate(str(number), place, xytext=beside, textcoords="offset points", fontsize=7)
        axes.set(xlim=intensity, ylim=(0.5, 1000), xlabel="useful MACs a byte moved", ylabel="useful MACs a busy cycle")
        axes.grid(which="major", linewidth=0.3)
        figure.legend(loc="outside right center", fontsize=7, title="utilisation of all multipliers", title_fontsize=7)
        return _png(figure)


def _peak(config: EngineConfig) -> int:
    return 2 * config.array_depth * config.array_keys


def _macs_a_byte(case: dict) -> float:
    return case["macs"] / (case["bytes"]["read"] + case["bytes"]["written"])


def _near(place: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two points, and the numbers beside them, lie on each other."""
    return all(0.95 < one / two < 1.05 for one, two in zip(place, other, strict=True))


def timeline_png(config: EngineConfig, job: Job, time: Cycles, title: str) -> bytes:
    """One run from start to its last write: when DMA loads which operand, and when MM1, softmax, MM2 and store work.

    Args:
        time: golden.cycles.cycles(config, job).
    """
    matplotlib = _matplotlib()
    parts = list(slices(config, job, time))
    with matplotlib.style.context("default"):
        figure = matplotlib.figure.Figure(figsize=(10, 2.8), layout="constrained")
        axes = figure.add_subplot()
        for kind in dict.fromkeys(part.kind for part in parts):
            shown = [part for part in parts if part.kind == kind]
            bars = [(part.first, part.end - part.first) for part in shown]
            row = TRACKS.index(shown[0].track)
            label = f"load {kind.upper()}" if row == 0 else None
            # Thin white edges tell one tile from the next.
            axes.broken_barh(
                bars, (row - 0.4, 0.8), facecolors=COLOURS[kind], edgecolors="white", linewidth=0.3, label=label
            )
        used = occupied(parts)
        names = [f"{track}  {used[track] / time.busy:.0%}" for track in TRACKS]
        axes.set(xlim=(0, time.busy + 1), xlabel="cycles after start", title=title)
        axes.set_yticks(range(len(TRACKS)), names)
        axes.invert_yaxis()
        axes.title.set_fontsize(9)
        figure.legend(loc="outside right upper", fontsize=8)
        return _png(figure)


def _png(figure) -> bytes:
    """The picture without what differs from one machine or day to the next."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90, metadata={"Software": None})
    return buffer.getvalue()
