"""The area estimate: its command line, and that it counts cells."""

from fpga import estimate
from golden.config import NAMED


def test_an_unknown_configuration_is_named(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["estimate", "huge"])
    assert estimate.main() == 2
    assert "unknown configuration 'huge'" in capsys.readouterr().err


def test_cells_are_counted(tmp_path):
    text = "module engine(input clk, input d, output reg q); always @(posedge clk) q <= d; endmodule"
    (tmp_path / "engine.v").write_text(text)
    assert estimate.synthesise(tmp_path, [tmp_path / "engine.v"], NAMED["tiny"])["TRELLIS_FF"] == 1
