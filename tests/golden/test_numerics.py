"""The numerics study: the committed result file is fresh, keeps the bounds, and its parts mean what they say."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from golden.error_budget import STEPS, attend, budget, steps_of
from golden.flash import flash
from golden.numerics import (
    BLOCK,
    CONFIGS,
    LENGTHS,
    MAIN_SIZE,
    MAKERS,
    SCHEDULES,
    Case,
    blocks,
    cases,
    make_data,
    make_head,
    measure,
    merge,
    row_sums,
    six_digits,
    unit_of_error,
    weights,
)

DOCS = Path(__file__).parents[2] / "docs"
REPORT = json.loads((DOCS / "reports" / "numerics.json").read_text(encoding="utf-8"))
SUM_BOUND = 2**-12
# In the file figures have 6 digits, and the last bits of exp, of sums and so on differ from machine to machine.
FRESH = {"rel": 1e-5, "abs": 1e-9}


def entry(case):
    wanted = vars(case)
    (found,) = (entry for entry in REPORT["cases"] if wanted.items() <= entry.items())
    return found


def test_the_file_holds_every_case():
    assert (REPORT["seeds"], REPORT["block"]) == (1000, BLOCK)
    keys = ("element", "schedule", "data", "n", "d")
    assert [Case(*(entry[key] for key in keys)) for entry in REPORT["cases"]] == cases()
    assert [entry["seeds"] for entry in REPORT["cases"]] == [case.seeds(1000) for case in cases()]
    assert [len(entry["blocks"]) for entry in REPORT["cases"]] == [case.seeds(1000) // BLOCK for case in cases()]
    steps = [(element, schedule) for element in CONFIGS for schedule in SCHEDULES]
    assert [(entry["element"], entry["schedule"], entry["step"]) for entry in REPORT["budget"]] == [
        (*pair, step) for pair in steps for step in (*steps_of(pair[1]), "all")
    ]
    assert [entry["n"] for entry in REPORT["row_sums"]] == list(LENGTHS)


@pytest.mark.parametrize("data", MAKERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("element", CONFIGS)
def test_the_file_is_fresh(element, schedule, data):
    case = Case(element, schedule, data, *MAIN_SIZE)
    found = measure(case, range(BLOCK))
    assert [found.mean, found.max, found.sum_error] == pytest.approx(entry(case)["blocks"][0], **FRESH)


@pytest.mark.parametrize("case", [Case("int8", "FLASH", "normal", 64, 16), Case("q8.8", "NAIVE", "outliers", 8, 16)])
def test_the_file_is_fresh_for_other_sizes(case):
    parts = [measure(case, block) for block in blocks(case.seeds(1000))]
    whole = merge(parts)
    wanted = entry(case)
    assert [part.mean for part in parts] == pytest.approx([block[0] for block in wanted["blocks"]], **FRESH)
    assert [whole.mean, whole.max, whole.sum_error] == pytest.approx(
        [wanted["mean"], wanted["max"], wanted["sum_error"]], **FRESH
    )
    assert whole.saturations == wanted["saturations"]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("element", CONFIGS)
def test_the_budget_is_fresh(element, schedule):
    for step, found in budget(element, schedule, range(BLOCK)).items():
        (wanted,) = (
            entry["blocks"][0]
            for entry in REPORT["budget"]
            if (entry["element"], entry["schedule"], entry["step"]) == (element, schedule, step)
        )
        assert [found.mean, found.max] == pytest.approx(wanted, **FRESH)


def test_the_row_sums_are_fresh():
    wanted = REPORT["row_sums"][1]
    found = row_sums(wanted["n"], range(wanted["seeds"]))
    assert found == pytest.approx({name: wanted[name] for name in found}, **FRESH)


def test_totals_agree_with_the_blocks():
    for entry in (*REPORT["cases"], *REPORT["budget"]):
        columns = list(zip(*entry["blocks"], strict=True))
        assert entry["mean"] == pytest.approx(np.mean(columns[0]), **FRESH)
        assert entry["max"] == max(columns[1])
        if "sum_error" in entry:
            assert entry["sum_error"] == max(columns[2])


@pytest.mark.parametrize("element", CONFIGS)
@pytest.mark.parametrize("schedule, mean, maximum", [("FLASH", 0.0012, 0.012), ("NAIVE", 0.01, 0.1)])
def test_bounds(element, schedule, mean, maximum):
    for data in MAKERS:
        found = entry(Case(element, schedule, data, *MAIN_SIZE))
        assert found["seeds"] == 1000
        if (schedule, data) == ("NAIVE", "full_scale"):
            assert found["saturations"] > 0  # beyond the range of S in memory, and flagged
        else:
            assert (found["mean"] <= mean, found["max"] <= maximum, found["saturations"]) == (True, True, 0)


def test_sums_stay_close_to_one():
    assert max(entry["sum_error"] for entry in REPORT["cases"]) <= SUM_BOUND
    for row in REPORT["row_sums"]:
        assert row["engine_max"] <= SUM_BOUND < 1 / 256 <= row["rounded_max"]


def test_the_budget_adds_up():
    """No rounding is left out: all of them together are within the sum of each alone."""
    for element in CONFIGS:
        for schedule in SCHEDULES:
            rows = {
                entry["step"]: entry
                for entry in REPORT["budget"]
                if (entry["element"], entry["schedule"]) == (element, schedule)
            }
            whole = rows.pop("all")
            means = [row["mean"] for row in rows.values()]
            assert max(means) <= whole["mean"] <= sum(means)
            assert whole["max"] <= sum(row["max"] for row in rows.values())
            assert rows["output"]["mean"] == pytest.approx(1 / 1024, rel=0.03)  # a quarter of 1/256


def test_the_document_quotes_the_file():
    page = (DOCS / "numerics.md").read_text(encoding="utf-8")
    for case in cases():
        if (case.n, case.d) == MAIN_SIZE:
            found = entry(case)
            figures = f"{found['mean']:.5f} | {found['max']:.4f} | {found['sum_error']:.1e}"
            assert f"| {case.element.upper()} | {case.schedule} | {case.data} | {figures} |" in page
    for step, name in (*STEPS.items(), ("all", "all, FLASH"), ("all", "all, NAIVE")):
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {name} "))
        schedule = "NAIVE" if "NAIVE" in line else "FLASH"
        wanted = [
            f"{found[what]:.6f}"
            for found in REPORT["budget"]
            if (found["step"], found["schedule"]) == (step, schedule)
            for what in ("mean", "max")
        ]
        assert line.endswith(f"| {' | '.join(wanted)} |")
    for row in REPORT["row_sums"]:
        rounded = f"{row['rounded_mean']:.4f} | {row['rounded_max']:.4f} | {row['rounded_off']:.0%}"
        assert f"| {row['n']} | {rounded} | {row['engine_mean']:.1e} | {row['engine_max']:.1e} |" in page


@pytest.mark.parametrize("data", MAKERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("element", CONFIGS)
def test_all_roundings_are_the_engine(element, schedule, data):
    """The model of the budget gives golden's bits with every rounding, and exact softmax with none."""
    config = CONFIGS[element]
    for n, d in ((32, 4), (37, 16), (3, 5)):
        heads = [make_head(config, data, seed, n, d) for seed in range(5)]
        wanted = [SCHEDULES[schedule](config, head.job, head.q, head.k, head.v).output for head in heads]
        assert (attend(config, schedule, heads, steps_of(schedule)) == np.stack(wanted)).all()
        exact = np.stack([head.exact() for head in heads]) / unit_of_error(config)
        assert attend(config, schedule, heads, ()) / 256 == pytest.approx(exact, abs=1e-7)


def test_steps():
    assert set(steps_of("FLASH")) | set(steps_of("NAIVE")) == set(STEPS)
    assert set(steps_of("FLASH")) ^ set(steps_of("NAIVE")) == {"s", "clip", "rescale"}


@pytest.mark.parametrize("kind", MAKERS)
def test_data_is_reproducible(kind):
    first, again, other = (make_data(kind, seed, 16, 8) for seed in (3, 3, 4))
    for a, b, c in zip(first, again, other, strict=True):
        assert a.shape == (16, 8) and (a == b).all() and (a != c).any()


def test_kinds_of_data():
    q, k, _ = make_data("equal", 0, 16, 8)
    assert (k == k[0]).all() and not (q == q[0]).all()
    assert {abs(x) for tensor in make_data("full_scale", 0, 16, 8) for x in tensor.flat} == {127}
    q, k, _ = make_data("one_hot", 0, 32, 4)
    scores = q @ k.T / math.sqrt(4)
    rest = np.sort(scores, axis=1)
    assert (rest[:, -1] - rest[:, -2]).min() > 18 and len(set(scores.argmax(axis=1))) == 2
    large = np.abs(np.stack([tensor for seed in range(40) for tensor in make_data("outliers", seed, 32, 16)])) > 6
    assert 0.0001 < large.mean() < 0.001


@pytest.mark.parametrize("element", CONFIGS)
def test_weights_sum_to_the_total_without_a_rescale(element):
    """One tile never rescales: then l is the exact sum; with more tiles it drifts by less than one LSB each."""
    config = CONFIGS[element]
    for n in (4, 32):
        head = make_head(config, "normal", 1, n, 4)
        found = flash(config, head.job, head.q, head.k, head.v)
        drift = np.abs(weights(config, "FLASH", head, found).sum(axis=1) - found.total)
        assert (drift == 0).all() if n == 4 else 0 < drift.max() < n / config.array_keys


def test_six_digits():
    assert [six_digits(x) for x in (0.00112345678, 3e-15, 0.0, 1234567.0)] == [0.00112346, 0.0, 0.0, 1234570.0]
