"""The serial link on a pseudo-terminal: frames, faults, and that nothing hangs."""

import os
import threading
import time

import numpy as np
import pytest

from fpga.host import connect
from fpga.host.errors import DeviceError
from fpga.host.frames import BadResponse, missing, request, response, take
from fpga.host.serial_link import ATTEMPTS, SerialLink
from golden.config import NAMED
from hw.uart.protocol import Command, FrameStatus
from tests.fpga.host import serial_board
from tests.fpga.host.serial_board import damaged_request

TINY = NAMED["tiny"]
SILENT = "no flashtile accelerator answers on .* at 3,000,000 baud"


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
