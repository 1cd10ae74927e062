"""What a run says: comparison with the golden model, errors, cycles and bytes, as a JSON object and for people."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from gen.inputs import Inputs, QuantisedHead
from gen.simulate import EngineResult
from golden.config import EngineConfig
from golden.flash import visible_keys
from golden.formats import formats, to_float
from golden.job import Job
from golden.oracle import attention
from golden.predict import Prediction
from golden.quantise import dequantise_output
from golden.traffic import naive_bytes, traffic

# Operands that the engine counts bytes of.
READ = ("q", "k", "v", "s_read", "p_read")
WRITTEN = ("o", "state", "s_write", "p_write")


@dataclass(frozen=True)
class HeadRun:
    """One head: what went in, what golden predicts, what the engine did."""

    head: QuantisedHead
    prediction: Prediction
    result: EngineResult


def first_difference(prediction: Prediction, result: EngineResult) -> str | None:
    """The first quantity in which the engine differs from golden, as a phrase; None if it is bit-exact.

    Compared in this order: output, maximum m, total l, both in memory where the run writes them, then every counter
    that golden predicts.
    """
    for name in ("output", "maximum", "total"):
        engine, golden = getattr(result, name), getattr(prediction.result, name)
        wrong = np.argwhere(engine != golden)
        if wrong.size:
            index = tuple(int(i) for i in wrong[0])
            return f"{name}[{', '.join(map(str, index))}] is {engine[index]}, golden {golden[index]}"
    if result.state is not None:
        wrong = np.argwhere(result.state != np.stack([prediction.result.maximum, prediction.result.total]))
        if wrong.size:
            which, *index = (int(i) for i in wrong[0])
            return f"{'ml'[which]} in memory[{', '.join(map(str, index))}] is {result.state[(which, *index)]}"
    for name, expected in prediction.counters.items():
        if result.counters.get(name) != expected:
            return f"counter {name} is {result.counters.get(name)}, golden {expected}"
    return None


def visible_pairs(job: Job) -> int:
    """(query, key) pairs that attention computes: those that the masks leave, over all heads of the run."""
    return job.heads * int(visible_keys(job).sum())


def roofline(config: EngineConfig, job: Job) -> int:
    """Least busy cycles of a run: max(MACs / peak, bytes / port width), each rounded up.

    Each array does its own product, Q.K^T or P.V, at array_depth * array_keys MACs a cycle, so the larger of head and
    value dimension counts. Bytes are those of the job's own schedule and blocks.
    """
    macs = visible_pairs(job) * max(job.dim, job.value_dim)
    return max(
        -(-macs // (config.array_depth * config.array_keys)),
        -(-traffic(config, job).total // config.word_bytes),
    )


def useful_macs(job: Job) -> int:
    """Multiplications that attention needs: Q.K^T and P.V of every visible pair."""
    return visible_pairs(job) * (job.dim + job.value_dim)


def utilisation(config: EngineConfig, jobs: Sequence[Job], busy: int) -> float:
    """Useful MACs of all jobs over what both arrays could do in `busy` cycles."""
    peak = 2 * config.array_depth * config.array_keys
    return sum(map(useful_macs, jobs)) / (peak * busy) if busy else 0.0


def moved(counters: dict[str, int]) -> tuple[int, int]:
    """Payload bytes (read, written) by the engine's counters or by golden's, scores in memory included."""
    return tuple(sum(counters.get(f"{name}_bytes", 0) for name in names) for names in (READ, WRITTEN))


def errors(config: EngineConfig, run: HeadRun) -> dict[str, float]:
    """Errors of one head against float64 attention, maximum and mean over all outputs.

    max, mean: engine against the float inputs. quantisation_*: exact softmax of the quantised inputs against the float
    inputs. datapath_*: engine against that exact softmax, in V steps (one LSB of V, `v_step`).
    """
    head, job = run.head, run.head.job
    q_step, k_step, v_step = head.steps
    wanted = attention(*head.floats, head.softmax_scale, job.causal, job.q_position, job.window)
    exact = attention(*head.raw, head.softmax_scale * q_step * k_step, job.causal, job.q_position, job.window)
    engine_steps = to_float(run.result.output, formats(config)["output"])
    if config.element == "q8.8":
        engine_steps = engine_steps / v_step
    differences = {
        "": dequantise_output(run.result.output, v_step, config) - wanted,
        "quantisation_": exact * v_step - wanted,
        "datapath_": engine_steps - exact,
    }
    report = {"v_step": v_step}
    for name, difference in differences.items():
        report[f"{name}max"] = float(np.abs(difference).max())
        report[f"{name}mean"] = float(np.abs(difference).mean())
    return report


def build(config: EngineConfig, simulator: str, inputs: Inputs, runs: Sequence[HeadRun], seed: int) -> dict:
    """The report as an object for JSON. Cycles and bytes are sums over heads, errors maxima of maxima and means of
    means.

    `mismatch` is null, or says what differs first from golden. Errors: see :func:`errors`; `error.published_max` is
    system B's figure for a preset (with the preset's own mask), else null.
    """
    jobs = [run.head.job for run in runs]
    job = jobs[0]
    mismatches = [(index, first_difference(run.prediction, run.result)) for index, run in enumerate(runs)]
    mismatches = [(index, text) for index, text in mismatches if text]
    per_head = [errors(config, run) for run in runs]

    def counted(name):
        return sum(run.result.counters.get(name, 0) for run in runs)

    def predicted(name):
        return sum(run.prediction.counters[name] for run in runs)

    return {
        "bit_exact": not mismatches,
        "mismatch": f"head {mismatches[0][0]}: {mismatches[0][1]}" if mismatches else None,
        "simulator": simulator,
        "config": config.name,
        "source": inputs.description,
        "heads": len(runs),
        "queries": job.n_q,
        "keys": job.n_kv,
        "dim": job.dim,
        "value_dim": job.value_dim,
        "causal": job.causal,
        "q_rows": job.q_rows,
        "overlap": job.overlap,
        "window": job.window,
        "schedule": "naive" if job.naive else "flash",
        "latency": job.latency,
        "seed": seed,
        "cycles": {
            "busy": counted("busy"),
            "compute": counted("compute"),
            "predicted": predicted("busy"),
            "predicted_compute": predicted("compute"),
            "roofline": sum(roofline(config, job) for job in jobs),
        },
        "utilization": utilisation(config, jobs, counted("busy")),
        "bytes": {
            "read": sum(moved(run.result.counters)[0] for run in runs),
            "written": sum(moved(run.result.counters)[1] for run in runs),
            "predicted": sum(sum(moved(run.prediction.counters)) for run in runs),
            "naive": sum(naive_bytes(config, job) for job in jobs),
        },
        "error": {
            **{
                name: float((np.mean if name.endswith("mean") else np.max)([error[name] for error in per_head]))
                for name in per_head[0]
            },
            "published_max": inputs.published_error if job.causal == inputs.causal else None,
        },
        "clipped": sum(run.head.clipped for run in runs),
        "saturated": any(run.result.counters.get("saturations", 0) for run in runs),
    }


def text(report: dict, config: EngineConfig, terminal: bool) -> str:
    """A report made by :func:`build` as text for people: coloured for a terminal, else plain and 80 columns wide."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=None if terminal else 80,
        highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    console.print(Group(_heading(report, config), Text(), _errors(report), Text(), _costs(report), *_notes(report)))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def _grid(*rows: tuple, numbers: int = 0) -> Table:
    """Rows of a label and `numbers` right-aligned columns, then text."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    for _ in range(numbers):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return grid


def _heading(report: dict, config: EngineConfig) -> Table:
    heads = f"{report['heads']} heads, each " if report["heads"] > 1 else ""
    sizes = f"{report['queries']} queries x {report['keys']} keys, d {report['dim']}, d_v {report['value_dim']}"
    arrays = f"two {config.array_depth}x{config.array_keys} arrays, {config.word_bytes}-byte memory port"
    overlap = f"overlap {'on' if report['overlap'] else 'off'}"
    window = "" if report["window"] is None else f", window {report['window']}"
    schedule = "NAIVE, " if report["schedule"] == "naive" else ""
    if report["bit_exact"]:
        verdict = Text("yes: output, m, l and all counters equal the golden model", style="bold green")
    else:
        verdict = Text(f"NO: {report['mismatch']}", style="bold red")
    return _grid(
        ("data", report["source"]),
        ("attention", f"{heads}{sizes}, {'causal' if report['causal'] else 'not causal'}{window}"),
        ("engine", f"{config.name}: {config.element}, {arrays}"),
        ("run", f"{schedule}{report['q_rows']} query rows a block, {overlap}, latency {report['latency']}"),
        ("simulator", f"{report['simulator']}, seed {report['seed']}"),
        ("bit-exact", verdict),
    )


def _errors(report: dict) -> Table:
    error = report["error"]
    rows = [
        ("error", "max", "mean", ""),
        ("  engine", f"{error['max']:.4g}", f"{error['mean']:.4g}", "against float attention"),
        (
            "  quantisation",
            f"{error['quantisation_max']:.4g}",
            f"{error['quantisation_mean']:.4g}",
            "exact softmax of quantised inputs, likewise",
        ),
        (
            "  datapath",
            f"{error['datapath_max']:.4g}",
            f"{error['datapath_mean']:.4g}",
            f"engine against that, in V steps of {error['v_step']:.3g}",
        ),
    ]
    if error["published_max"] is not None:
        rows.append(("  system B", f"{error['published_max']:.4g}", "", "its published INT8 error for this preset"))
    return _grid(*rows, numbers=2)


def _costs(report: dict) -> Table:
    cycles, moved = report["cycles"], report["bytes"]
    total = moved["read"] + moved["written"]
    busy = max(cycles["busy"], 1)
    return _grid(
        ("cycles", "", ""),
        ("  busy", f"{cycles['busy']:,}", f"cycle model {cycles['predicted']:,}"),
        ("  compute", f"{cycles['compute']:,}", f"cycle model {cycles['predicted_compute']:,}"),
        ("  roofline", f"{cycles['roofline']:,}", f"{cycles['roofline'] / busy:.1%} of busy"),
        ("  utilisation", f"{report['utilization']:.1%}", "of the multipliers of both arrays, while busy"),
        ("bytes", "", ""),
        ("  moved", f"{total:,}", f"{moved['read']:,} read, {moved['written']:,} written"),
        ("  model", f"{moved['predicted']:,}", ""),
        ("  NAIVE", f"{moved['naive']:,}", f"scores in memory: {moved['naive'] / max(total, 1):.1f} times as many"),
        numbers=1,
    )


def _notes(report: dict) -> list[Text]:
    notes = []
    if report["clipped"]:
        notes.append(Text(f"{report['clipped']:,} input values were out of range and clipped", style="yellow"))
    if report["saturated"]:
        notes.append(Text("scores left the range of the datapath and were saturated", style="yellow"))
    return [Text(), *notes] if notes else []
