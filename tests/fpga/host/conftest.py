"""A board on a serial port, and an end for tests that hang: a wait for a device that never answers is a failure."""

import signal

import pytest

from golden.config import NAMED
from tests.fpga.host.golden_board import GoldenBoard
from tests.fpga.host.serial_board import SerialBoard

SECONDS = 60  # unless the module says DEADLINE


@pytest.fixture(autouse=True)
def deadline(request):
    """An alarm in the main thread; reaches every wait of the drivers, which are all interruptible."""

    def late(*_):
        raise AssertionError("the test hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(getattr(request.module, "DEADLINE", SECONDS))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def device():
    """A SerialBoard whose engine is golden's `tiny`."""
    board = SerialBoard(GoldenBoard(NAMED["tiny"]))
    yield board
    board.close()
