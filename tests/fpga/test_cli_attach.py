"""`flashtile attach` on a board whose engine is golden, and on the simulated ones."""

import json
import re
import sys
from dataclasses import replace

import pytest

from fpga import cli_attach
from fpga.cli_attach import add_attach
from fpga.host.accelerator import Accelerator
from fpga.host.errors import DeviceError
from fpga.host.registers import address
from gen.cli import main
from golden.config import NAMED
from golden.heads import head_names
from tests.fpga.host import golden_board
from tests.fpga.host.golden_board import GoldenBoard, GoldenLink
from tests.fpga.host.serial_board import SerialBoard

BASE = replace(NAMED["base"], memory_bytes=1 << 17)


@pytest.fixture
def run(capsys):
    """Run `flashtile attach`; returns (exit code, stdout, stderr)."""

    def command(*arguments):
        code = main(["attach", *map(str, arguments)], [add_attach], (DeviceError,))
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def attached(monkeypatch):
    """The board that any port leads to."""
    board = GoldenBoard(BASE, clock_hz=90_000_000)
    monkeypatch.setattr(cli_attach, "_connect", lambda arguments: Accelerator(GoldenLink(board), arguments.config))
    return board


def test_report(run, attached):
    code, out, err = run("--port", "any")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "device     golden board, build 00000001",
        "engine     base: int8, two 8x8 arrays, 8-byte memory port, 131,072 bytes",
        "data       systolic18_layer0_head3",
        "bit-exact  yes: output, m, l and counters equal the golden model",
    ]
    assert out.splitlines()[4] == "error      max 0.00685, mean 0.001373 against float attention"
    assert " us at 90 MHz" in out and max(map(len, out.splitlines())) <= 80
    (job,) = attached.jobs
    assert (job.n_q, job.dim, job.state, job.causal) == (18, 32, True, False)


def test_all_heads_and_presets_as_json(run, attached):
    code, out, _ = run("--port", "any", "--json", "--head", *head_names(), "--preset", "attention-sink", "uniform")
    report = json.loads(out)
    assert code == 0 and report["bit_exact"] is True and report["mismatch"] is None
    assert report["heads"] == [*head_names(), "attention-sink", "uniform"]
    assert [job.causal for job in attached.jobs[-2:]] == [True, False]
    assert report["runs"] == len(attached.jobs) == len(report["heads"])
    expected = sum(2 * job.n_q * job.value_dim + 8 * job.n_q for job in attached.jobs)
    assert report["bytes"] > expected and report["clock_hz"] == 90_000_000


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda result: result.output.__setitem__((0, 3, 4), 77), r"output\[3, 4\] is 77, golden "),
        (lambda result: result.maximum.__setitem__((0, 5), -9), r"m\[5\] is -9, golden "),
        (lambda result: result.total.__setitem__((0, 6), 9), r"l\[6\] is 9, golden "),
    ],
)
def test_wrong_data(run, attached, monkeypatch, change, sentence):
    def wrong(config, job, *operands):
        prediction = golden_predict(config, job, *operands)
        change(prediction.result)
        return prediction

    golden_predict = golden_board.predict
    monkeypatch.setattr(golden_board, "predict", wrong)
    code, out, _ = run("--port", "any", "--json")
    assert code == 1
    report = json.loads(out)
    assert report["bit_exact"] is False
    assert re.match(f"systolic18_layer0_head3: {sentence}", report["mismatch"])
    code, out, _ = run("--port", "any")
    assert code == 1 and "\nbit-exact  NO: systolic18_layer0_head3: " in out


@pytest.mark.parametrize("counter, code", [("tiles", 1), ("o_bytes", 1), ("busy", 0), ("memory_stall", 0)])
def test_wrong_counters(run, attached, monkeypatch, counter, code):
    read = GoldenLink.read_registers

    def wrong(self, place, count):
        values = list(read(self, place, count))
        at = (address(f"counters.{counter}") - place) // 4
        if 0 <= at < count:
            values[at] += 1
        return values

    monkeypatch.setattr(GoldenLink, "read_registers", wrong)
    assert run("--port", "any", "--json")[0] == code


def test_a_preset_where_heads_are_too_large(run, attached):
    attached.__init__(NAMED["tiny"])
    code, out, _ = run("--port", "any", "--json")
    assert code == 0 and json.loads(out)["heads"] == ["previous-token"]
    code, _, err = run("--port", "any", "--head", "systolic18_layer0_head3")
    assert code == 2 and "head dimension must be between 1 and 16 (max_dim of tiny), not 32" in err


def test_what_is_refused(run, attached):
    for arguments, sentence in (
        (("--config", "q88"), "golden board has element int8, not the q8.8 of q88; load the bitstream of q88"),
        (("--config", "no-such"), "unknown configuration 'no-such'"),
        (("--head", "no-such"), "unknown head 'no-such'; choose one of"),
        (("--preset", "no-such"), "unknown preset 'no-such'; choose one of"),
        (("--baud", "fast"), "'fast' is not a whole number"),
    ):
        code, out, err = run("--port", "any", *arguments)
        assert (code, out) == (2, "") and err.startswith("flashtile: error: ") and err.count("\n") == 1
        assert sentence in err
    assert main(["attach"], [add_attach], (DeviceError,)) == 2


def test_ports(run):
    assert run("--port", "/dev/no-such-port")[2].startswith("flashtile: error: there is no port /dev/no-such-port; ")
    assert "must be between 115,200 and 3,000,000, not 9,600" in run("--port", "/dev/x", "--baud", "9600")[2]
    assert "there is no simulated device 'sim:x'" in run("--port", "sim:x")[2]
    assert run("--port", "pynq:x.bit")[0] == 2


def test_through_a_serial_port(run):
    device = SerialBoard(GoldenBoard(BASE))
    code, out, _ = run("--port", device.port, "--baud", "3000000", "--json", "--config", "base")
    device.close()
    assert code == 0 and json.loads(out)["device"] == device.port


def test_drivers_that_are_not_installed(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "fpga.host.targets", None)
    code, _, err = run("--port", "any")
    assert code == 2 and "the host drivers need more packages" in err and "pip install 'flashtile[host]'" in err


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sim:ulx3s", "sim:zuboard"])
def test_simulated_boards(run, target):
    code, out, _ = run("--port", target, "--json", "--head", "systolic18_layer0_head3", "long146_layer4_head5")
    report = json.loads(out)
    assert code == 0 and report["bit_exact"] is True and report["device"] == target
    assert report["config"] == "base" and report["runs"] == 2
