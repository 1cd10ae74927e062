"""Timing summary and utilisation of Vivado, as numbers."""

import pytest

from fpga.build_error import BuildError
from fpga.zuboard.vivado_reports import timing, utilisation
from tests.fpga.zuboard.vivado_stub import SUMMARY, UTILIZATION


def summary(folder, wns="0.212", whs="0.010", period="6.667", text=SUMMARY):
    report = folder / "timing.rpt"
    report.write_text(text.replace("@WNS@", wns).replace("@WHS@", whs).replace("@PERIOD@", period))
    return report


def test_slacks_and_clock(tmp_path):
    assert timing(summary(tmp_path)) == {"wns": 0.212, "whs": 0.010, "wpws": 2.083, "clock_mhz": 149.993}


def test_no_slack_is_enough(tmp_path):
    assert timing(summary(tmp_path, "0.000", "0.000"))["wns"] == 0


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"wns": "-0.001"}, "worst setup slack -0.001 ns at 150 MHz"),
        ({"whs": "-0.020"}, "worst hold slack -0.020 ns"),
        ({"wns": "NA"}, r"has NA for WNS\(ns\): setup was not timed"),
        ({"period": "10.000"}, "clk_pl_0 has a period of 10.000 ns instead of 6.667 ns"),
        ({"text": SUMMARY.replace("  2.083", " -2.083")}, "worst pulse width slack -2.083 ns"),
        ({"text": SUMMARY.replace("clk_pl_0", "clk_pl_1")}, "no clock clk_pl_0"),
        ({"text": SUMMARY.split("Clock Summary")[0]}, "no clock clk_pl_0"),
        ({"text": SUMMARY.split("    -------")[0]}, "no table of slacks"),
        ({"text": ""}, "no table of slacks"),
    ],
)
def test_what_is_not_met_fails(tmp_path, given, sentence):
    with pytest.raises(BuildError, match=sentence):
        timing(summary(tmp_path, **given))


def test_a_missing_report_fails(tmp_path):
    with pytest.raises(BuildError, match=r"left no timing summary .*timing\.rpt"):
        timing(tmp_path / "timing.rpt")
    with pytest.raises(BuildError, match="left no utilisation report"):
        utilisation(tmp_path / "utilization.rpt")


def test_utilisation(tmp_path):
    report = tmp_path / "utilization.rpt"
    report.write_text(UTILIZATION)
    assert utilisation(report) == {
        "lut": 15321, "lut_memory": 1310, "ff": 21000, "carry": 1100, "bram36": 32.5, "uram": 0, "dsp": 154
    }  # fmt: skip
    report.write_text("nothing")
    with pytest.raises(BuildError, match="names no LUTs"):
        utilisation(report)
