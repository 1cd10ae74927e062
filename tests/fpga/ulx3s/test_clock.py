from fpga.ulx3s.clock import HOLD_BITS, reset_hold
from hw.signals import bit
from tests.hw.harness import BACKENDS, run

HOLD = 1 << HOLD_BITS


@BACKENDS
def test_reset_holds_until_the_lock_and_beyond(backend):
    """Lock, loss of the lock while it still holds, lock, and loss in the middle of work."""
    locked = [0] * 10 + [1] * 100 + [0] * 3 + [1] * (HOLD + 50) + [0] + [1] * (HOLD + 20)
    trace = run(reset_hold, {"locked": bit(), "reset": bit()}, {"locked": locked}, ["reset"], backend)["reset"]
    release = 10 + 100 + 3 + 2 + HOLD
    assert all(trace[4:release])
    again = 10 + 100 + 3 + HOLD + 50 + 4  # two flip-flops, the count, the reset
    assert not any(trace[release + 1 : again])
    assert all(trace[again : again + HOLD - 1])
    assert not any(trace[again + HOLD + 1 :])
