"""Runs on a memory of their own: start, end, and soft reset."""

from myhdl import always, block

from golden.layout import Refusal
from hw.signals import bit, unsigned

START_WHILE_BUSY = int(Refusal.BUSY)
SOFT_RESET = 5  # status.error of gen/flashtile.rdl
SETTLE = 4  # cycles of reset; engine and memory need one


@block
def run_state(clk, reset, control, engine_start, engine_reset, engine_busy, engine_status, status):
    """Start the engine, say how its run ended, and break it off.

    A run ends complete, refused, or by a soft reset, and each end sets status.interrupt. A start while busy only sets
    status.refusal. A soft reset while idle resets the engine and clears the status; it ends no run.

    Latency: control.start to engine_start, one cycle; the engine's last busy cycle to status, two; a soft reset takes
    SETTLE cycles.

        control.start |1|_______________
        engine_start  ___|1|____________
        engine_busy   _____|1 1 1|______
        status.busy   ___|1 1 1 1 1 1|__
        status.done   0 0 0 0 0 0 0 0|1

    Ports: clk, reset; control: Control; engine_start, engine_reset (of the memory, too), engine_busy, engine_status
    (Status): of the engine; status: RunStatus.
    """
    settle = unsigned(SETTLE.bit_length())
    running, ended = bit(), bit()

    @always(clk.posedge)
    def end_of_run():
        ended.next = running and not engine_start and not engine_busy and not ended and not reset

    @always(clk.posedge)
    def follow():
        engine_start.next = False
        if reset:
            engine_reset.next = True
            settle.next = 0
            running.next = False
            status.busy.next = False
            status.done.next = False
            status.error.next = 0
            status.refusal.next = 0
            status.interrupt.next = False
        else:
            engine_reset.next = False
            if control.clear_interrupt:
                status.interrupt.next = False
            if control.soft_reset:
                engine_reset.next = True
                settle.next = SETTLE
                running.next = False
                status.busy.next = True
                if settle == 0:
                    status.done.next = False
                    status.refusal.next = 0
                    status.error.next = 0
                    if running:
                        status.error.next = SOFT_RESET
                        status.interrupt.next = True
            elif settle != 0:
                engine_reset.next = settle != 1
                settle.next = settle - 1
                status.busy.next = settle != 1
            elif ended:
                running.next = False
                status.busy.next = False
                status.done.next = engine_status.done
                status.interrupt.next = True
                if not engine_status.done:
                    status.refusal.next = engine_status.refusal
            elif control.start and not running:
                engine_start.next = True
                running.next = True
                status.busy.next = True
                status.done.next = False
                status.error.next = 0
                status.refusal.next = 0
            if control.start and status.busy:
                status.refusal.next = START_WHILE_BUSY

    return end_of_run, follow
