"""The sweep of lanes: its report, and the committed one."""

import json
from pathlib import Path

import pytest

from fpga.zuboard import lanes
from fpga.zuboard.board import DEVICE
from gen.benchmark import SWEEP_LANES, lanes_sweep

REPORTS = Path(__file__).parents[3] / "docs" / "reports"
FOUND = {
    "lut": 7144, "lut_logic": 6000, "lut_memory": 1144, "ff": 5000, "latch": 0, "dsp": 19, "bram36": 6.5, "uram": 0,
    "carry": 700, "memories": [],
    "paths": [{"levels": 7, "carries": 2, "start": "a", "end": "b", "nets": []},
              {"levels": 3, "carries": 9, "start": "c", "end": "d", "nets": []}],
}  # fmt: skip


def test_report_and_table(monkeypatch):
    seen = []
    monkeypatch.setattr(lanes, "engine_area", lambda config: seen.append(config) or FOUND)
    report = lanes.measure(lanes_sweep(), notice=lambda line: None)
    assert [(config.array_depth, config.array_keys, config.element) for config in seen] == [
        (1, count, "q8.8") for count in SWEEP_LANES
    ]
    assert report["engines"][2]["path"] == {"levels": 7, "carries": 2, "start": "a", "end": "b"}
    page = lanes.table(report)
    assert "| 1x4 | 7,144 | 19% | 5,000 | 19 | 6.5 | 700 | 7 | 2 |" in page
    assert "| system A, 16 | about 12,480 | a third | | 67 |" in page
    assert "`python -m fpga.zuboard.lanes`" in page


def test_what_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(lanes, "engine_area", lambda config: FOUND)
    assert lanes.main(["--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "zuboard_lanes.json").read_text())
    assert (tmp_path / "zuboard_lanes.md").read_text() == lanes.table(report)


def test_the_committed_report_is_of_this_sweep():
    report = json.loads((REPORTS / "zuboard_lanes.json").read_text())
    assert [engine["lanes"] for engine in report["engines"]] == list(SWEEP_LANES)
    assert report["device"] == vars(DEVICE)
    assert (REPORTS / "zuboard_lanes.md").read_text(encoding="utf-8") == lanes.table(report)
    for engine in report["engines"]:
        # A multiplier for each lane in both arrays, and no more than system A in all.
        assert 2 * engine["lanes"] <= engine["dsp"] <= 67
        assert engine["lut"] < DEVICE.lut / 2 and engine["latch"] == engine["uram"] == 0


@pytest.mark.slow
def test_the_committed_figures_are_those_of_today():
    report = json.loads((REPORTS / "zuboard_lanes.json").read_text())
    today = lanes.measure(lanes_sweep()[:1], notice=lambda line: None)["engines"][0]
    then = report["engines"][0]
    assert all(abs(today[key] - then[key]) <= 0.1 * then[key] for key in ("lut", "ff", "dsp", "bram36", "carry"))
