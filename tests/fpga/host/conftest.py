"""No test of the drivers may hang: what waits for a device that never answers ends as a failure."""

import signal

import pytest

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
