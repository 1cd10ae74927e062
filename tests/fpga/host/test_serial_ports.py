"""Serial ports that cannot be used, and what is behind them when it is not what was expected."""

import errno
import os
from dataclasses import replace

import pytest
import serial

from fpga.host import connect
from fpga.host.errors import DeviceError
from golden.config import NAMED
from tests.fpga.host.golden_board import GoldenBoard
from tests.fpga.host.serial_board import SerialBoard

TINY = NAMED["tiny"]


def test_wrong_bitstreams():
    base = NAMED["base"]
    for board, expected, sentence in (
        (GoldenBoard(TINY, magic=0x1234), None, r"is no flashtile accelerator \(identity 0x00001234, not 0x464C5348\)"),
        (GoldenBoard(TINY, version=2), None, "has version 2 of the register map and this driver version 1; load a"),
        (GoldenBoard(TINY), "base", "has array_depth 4, not the 8 of base; load the bitstream of base, or expect"),
        (GoldenBoard(base), replace(base, memory_bytes=1 << 17), "has memory_bytes 262144, not the 131072 of base"),
        (GoldenBoard(base), replace(base, softmax_lanes=2), "has softmax_lanes 8, not the 2 of base"),
        (GoldenBoard(NAMED["q88"]), "tiny", r"has element q8\.8, not the int8 of tiny"),
    ):
        device = SerialBoard(board)
        with pytest.raises(DeviceError, match=f"^{device.port} {sentence}"):
            connect(device.port, expected, baud=3_000_000)
        device.close()


def test_configurations_of_boards():
    boards = replace(NAMED["base"], memory_bytes=1 << 17), replace(NAMED["wide"], name="device", max_rows=16)
    for config in (*boards, replace(NAMED["base"], name="device", softmax_lanes=2)):
        device = SerialBoard(GoldenBoard(config, clock_hz=90_000_000))
        with connect(device.port, config, baud=3_000_000) as accelerator:
            assert accelerator.config == config and accelerator.memory_bytes == config.memory_bytes
            assert accelerator.identity.clock_hz == 90_000_000
        if config.name == "base":
            connect(device.port, "base", baud=3_000_000).close()
        device.close()


def test_a_configuration_that_cannot_be():
    board = GoldenBoard(TINY)
    board.registers[0x24 // 4] = 3
    device = SerialBoard(board)
    with pytest.raises(DeviceError, match=r"reports a configuration that does not exist \(array_depth must be a power"):
        connect(device.port, baud=3_000_000)
    device.close()


@pytest.mark.parametrize(
    "number, sentence",
    [
        (errno.EACCES, r"^no permission to open /dev/ttyUSB9; .*: sudo usermod -aG dialout \$USER, then log in anew$"),
        (errno.ENOENT, "^there is no port /dev/ttyUSB9; plug the board in"),
        (errno.EBUSY, "^/dev/ttyUSB9 is in use by another program"),
        (errno.EIO, r"^cannot open /dev/ttyUSB9 as a serial port \(.*\); give the name of one"),
    ],
)
def test_ports_that_cannot_be_opened(monkeypatch, number, sentence):
    def refuse(*_, **__):
        raise serial.SerialException(number, f"could not open port: [Errno {number}] {os.strerror(number)}")

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(DeviceError, match=sentence):
        connect("/dev/ttyUSB9")


def test_real_ports_that_cannot_be_opened(device, tmp_path):
    with pytest.raises(DeviceError, match="there is no port /dev/no-such-port"):
        connect("/dev/no-such-port")
    with pytest.raises(DeviceError, match="as a serial port"):
        connect(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="as a serial port"):
        connect(str(tmp_path / "file"))
    with connect(device.port, baud=3_000_000), pytest.raises(DeviceError, match="is in use by another program"):
        connect(device.port, baud=3_000_000)


@pytest.mark.parametrize("baud", [0, 9600, 3_000_001])
def test_baud_rates(baud):
    with pytest.raises(DeviceError, match=f"baud rate must be between 115,200 and 3,000,000, not {baud:,}"):
        connect("/dev/ttyUSB9", baud=baud)


def test_a_port_that_cannot_do_the_baud_rate(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("Failed to set custom baud rate")

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(DeviceError, match=r"^/dev/ttyUSB9 cannot do 1,234,567 baud; choose one of 115,200 to"):
        connect("/dev/ttyUSB9", baud=1_234_567)


def test_targets():
    with pytest.raises(DeviceError, match=r"^there is no simulated device 'sim:icebreaker'; choose one of sim:ulx3s"):
        connect("sim:icebreaker")
    with pytest.raises(ValueError, match="unknown configuration 'no-such'"):
        connect("sim:ulx3s", "no-such")
