"""The serial link on a pseudo-terminal: frames, faults, and that nothing hangs."""

import errno
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import serial

from fpga.host import connect
from fpga.host.errors import DeviceError
from fpga.host.frames import BadResponse, missing, request, response, take
from fpga.host.serial_link import ATTEMPTS, SerialLink
from golden.config import NAMED
from hw.uart.protocol import Command, FrameStatus
from tests.fpga.host import serial_board
from tests.fpga.host.golden_board import GoldenBoard
from tests.fpga.host.serial_board import SerialBoard, damaged_request

TINY = NAMED["tiny"]
SILENT = "no flashtile accelerator answers on .* at 3,000,000 baud"


@pytest.fixture
def device():
    board = SerialBoard(GoldenBoard(TINY))
    yield board
    board.close()


@pytest.fixture
def link(device):
    with_timeout = SerialLink(device.port, 3_000_000, timeout=0.15)
    device.requests.clear()
    yield with_timeout
    with_timeout.close()


@pytest.fixture(autouse=True)
def soon():
    """No test may take as long as a hang would."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < 10


def test_frames():
    assert request(Command.PING).hex() == "a50000000000000081368f87"
    assert request(Command.READ_REGISTERS, 0x104, 8)[:8] == bytes([0xA5, 1, 8, 0, 4, 1, 0, 0])
    assert request(Command.WRITE_MEMORY, 0x10000, payload=b"abcd")[:12] == bytes([0xA5, 4, 4, 0, 0, 0, 1, 0]) + b"abcd"
    assert response(FrameStatus.OK, b"xy")[:6] == bytes([0x5A, 0, 2, 0]) + b"xy"


def test_hunting():
    answer = response(FrameStatus.BUSY, b"\x5a\x5a")
    for noise in (b"", b"\x00\xff", b"\x5a\x00\x01\xff", b"\x5a\x5a\x5a\xff\xff"):
        buffer = bytearray()
        for byte in noise + answer:
            assert missing(buffer) > 0
            buffer.append(byte)
        assert missing(buffer) == 0
        assert take(buffer) == (FrameStatus.BUSY, b"\x5a\x5a") and not buffer
    with pytest.raises(BadResponse, match="wrong CRC"):
        take(bytearray(answer[:-1] + b"x"))
    with pytest.raises(BadResponse, match="unknown status 9"):
        take(bytearray(response(9)))


def test_registers_and_memory_in_frames(device, link):
    data = bytes(np.random.default_rng(0).integers(0, 256, 2500 // 4 * 4, dtype=np.uint8))
    link.write_memory(0x400, data)
    assert device.board.memory[0x400 : 0x400 + len(data)].tobytes() == data
    assert link.read_memory(0x400, len(data)) == data
    link.write_registers(0x100, [1, 0xFFFFFFFF, 3])
    assert link.read_registers(0x100, 4) == [1, 0xFFFFFFFF, 3, 0]
    sizes = [length for command, _, length in device.requests if command == Command.WRITE_MEMORY]
    assert sizes == [1024, 1024, 452]
    assert link.state().busy is False


RECOVERABLE = {
    "no answer": serial_board.nothing,
    "wrong CRC": serial_board.altered,
    "answer cut": serial_board.cut,
    "garbage": serial_board.garbage,
    "garbage before": serial_board.after_garbage,
    "request damaged": damaged_request(FrameStatus.BAD_CRC),
    "request cut": damaged_request(FrameStatus.TIMEOUT),
    "request framing": damaged_request(FrameStatus.FRAMING),
    "request length": damaged_request(FrameStatus.BAD_LENGTH),
    "other answer": lambda board, answer: response(FrameStatus.OK, b"1234567890123456"),
}


@pytest.mark.parametrize("fault", RECOVERABLE)
def test_requests_are_repeated(device, link, fault):
    device.faults += [RECOVERABLE[fault]] * (ATTEMPTS - 1)
    link.write_registers(0x100, [7, 8])
    device.faults += [RECOVERABLE[fault]]
    assert link.read_registers(0x100, 2) == [7, 8]
    device.faults += [RECOVERABLE[fault]]
    link.write_memory(0, bytes(range(100)))
    device.faults += [None, RECOVERABLE[fault]]
    assert link.read_memory(0, 100) == bytes(range(100))
    assert link.state() == link.state()


@pytest.mark.parametrize("fault", [name for name in RECOVERABLE if name != "garbage before"])
def test_and_given_up(device, link, fault):
    device.faults += [RECOVERABLE[fault]] * ATTEMPTS
    with pytest.raises(DeviceError, match=SILENT):
        link.read_registers(0, 1)
    assert len(device.requests) == ATTEMPTS
    assert link.read_registers(0, 1) == [device.board.registers[0]]


@pytest.mark.parametrize("fault", [(serial_board.late,), (serial_board.nothing, serial_board.twice)], ids=len)
def test_late_answers_are_not_taken_for_others(device, fault):
    device.board.memory[:8] = [1, 1, 1, 1, 2, 2, 2, 2]
    patient = SerialLink(device.port, 3_000_000, timeout=0.15, settle=0.35)
    for _ in range(2):
        device.faults += fault
        assert patient.read_memory(0, 4) == b"\1\1\1\1"
        assert patient.read_memory(4, 4) == b"\2\2\2\2"
    patient.close()


def test_start_is_not_repeated_during_a_run(device, link):
    device.board.stuck = True
    device.faults += [serial_board.nothing]
    link.start()
    assert [command for command, *_ in device.requests] == [Command.START, Command.STATUS]
    with pytest.raises(DeviceError, match=r"is still busy after 0\.1 s"):
        link.wait(0.1)
    with pytest.raises(DeviceError, match="is busy with a run, so that its memory cannot be used"):
        link.write_memory(0, bytes(4))


def test_start_is_repeated_if_it_was_lost(device, link):
    device.faults += [serial_board.nothing, serial_board.garbage]
    device.board.start = lambda: None
    link.start()
    assert [command for command, *_ in device.requests].count(Command.START) == 2
    device.faults += [serial_board.nothing, None, serial_board.nothing, None, serial_board.nothing]
    with pytest.raises(DeviceError, match=SILENT):
        link.start()


def test_refused_requests(device, link):
    with pytest.raises(DeviceError, match=r"refuses READ_MEMORY at 0x4000 \(BAD_ADDRESS\); load a bitstream"):
        link.read_memory(TINY.memory_bytes, 4)


@pytest.mark.parametrize("heads", [(), (4,)], ids=["one", "four"])
def test_attention_through_the_line(device, heads):
    for fault in (serial_board.altered, serial_board.nothing, serial_board.garbage) * 2:
        device.faults += [None, None, None, fault]
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(*heads, 20, 8)) for _ in range(3))
    with connect(device.port, "tiny", baud=3_000_000, timeout=0.2) as accelerator:
        assert accelerator.config == TINY
        result = accelerator.attention(q, k, v, causal=True)
    with pytest.raises(DeviceError):
        accelerator.attention(q, k, v)
    scores = np.where(np.tril(np.ones((20, 20))), q @ np.swapaxes(k, -1, -2) / np.sqrt(8), -np.inf)
    weights = np.exp(scores)
    assert np.abs(result.o - weights / weights.sum(axis=-1, keepdims=True) @ v).max() < 0.1
    assert len(device.board.jobs) == result.runs


def test_silent_device_and_wrong_baud(device):
    for fault, heard in ((serial_board.nothing, "no answer"), (serial_board.garbage, "16 bytes that are no whole an")):
        device.faults += [fault] * ATTEMPTS
        with pytest.raises(DeviceError, match=rf"answers on {device.port} at 1,000,000 baud \(last heard: {heard}"):
            connect(device.port, timeout=0.1)


def test_a_line_that_never_falls_silent(device):
    """Say, another device that prints a log: given up after a bounded time."""
    stop = threading.Event()

    def babble():
        while not stop.is_set():
            os.write(device._master, b"Z\0\0\0 log entry ")
            time.sleep(0.001)

    thread = threading.Thread(target=babble, daemon=True)
    thread.start()
    try:
        device.faults += [serial_board.nothing] * ATTEMPTS
        with pytest.raises(DeviceError, match="no flashtile accelerator answers"):
            connect(device.port, timeout=0.1)
    finally:
        stop.set()
        thread.join(5)


@pytest.mark.parametrize("when", range(0, 14, 2))
def test_unplugged(device, when):
    device.faults += [None] * when + [serial_board.unplugged]
    q = np.ones((3, 4))
    def use():
        with connect(device.port, baud=3_000_000) as accelerator:
            while True:
                accelerator.attention(q, q, q)

    with pytest.raises(DeviceError, match=rf"^{device.port} went away \(.*\); check the cable, plug the board in"):
        use()


def test_unplugged_between_runs_and_while_waiting(device):
    q = np.ones((3, 4))
    with connect(device.port, baud=3_000_000) as accelerator:
        device.board.stuck = True
        timer = threading.Timer(0.2, device.unplug)
        timer.start()
        with pytest.raises(DeviceError, match="went away"):
            accelerator.attention(q, q, q)
        with pytest.raises(DeviceError, match="went away"):
            accelerator.attention(q, q, q)
        timer.join()


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
