"""Runs on a bus: their start, their end, good or bad, and the interrupt."""

from myhdl import always, always_comb, block, concat

from golden.layout import Refusal
from hw.axi.axi_ports import ADDRESS_BITS, PAGE_BITS
from hw.signals import bit, unsigned

BUSY = int(Refusal.BUSY)
# status.error of gen/flashtile.rdl.
READ_SLVERR, READ_DECERR, WRITE_SLVERR, WRITE_DECERR, SOFT_RESET = range(1, 6)
IDLE, RUN, DRAIN, STOP = range(4)
SETTLE = 4  # cycles of reset that engine, reader and writer need


@block
def run_supervisor(
    clk, reset, control, naive, engine_start, engine_reset, engine_busy, engine_status, base, ordered, read_state,
    write_state, status, interrupt,
):  # fmt: skip
    """Start the engine, end its run when the bus has nothing of it left, and break it off after an error.

    A run is done when its last write has been answered. An error on the bus or a soft reset breaks it off: the engine
    is held in reset, bursts under way come to their end, then the run ends with a code in status.error; the next one
    begins afresh. A descriptor that the engine refuses ends it, too, with status.refusal. Each end sets the interrupt.
    A start while busy only sets status.refusal. A soft reset while idle resets the engine and clears the status; it
    ends no run. A base that is no multiple of 4096, or beyond the bus, is an address that nobody decodes: error 2.

    Latency: control.start to engine_start, one cycle; last answer on the bus to status.done, 3 cycles.

        control.start |1|_____________________
        engine_start  ___|1|__________________
        status.busy   ___|1 1 1 1 1 1 1 1|____
        engine_busy   _____|1 1 1|____________
        drained       1 1 1 1|0 0 0 0|1 1 1 1     the last answer has come
        status.done   0 0 0 0 0 0 0 0 0|1 1 1     interrupt likewise

    Ports: clk, reset; control: Control; naive: of the descriptor; engine_start, engine_reset (also the stop of reader
    and writer), engine_busy, engine_status (Status): of the engine; base: of the run, ordered: its reads wait for its
    writes; read_state, write_state: BusState; status: RunStatus; interrupt: the line, high while status.interrupt is
    set and control.interrupt_enable.
    """
    phase, settle = unsigned(2), unsigned(SETTLE.bit_length())
    cause, why = unsigned(3), unsigned(3)
    broken, drained, unreachable, ended, accept = (bit() for _ in range(5))

    @always_comb
    def judge():
        broken.next = read_state.failed or write_state.failed or control.soft_reset
        drained.next = read_state.drained and write_state.drained
        ended.next = not engine_start and not engine_busy
        accept.next = phase == IDLE and control.start and not control.soft_reset
        unreachable.next = (
            control.memory_base_low[PAGE_BITS:] != 0 or control.memory_base_high[: ADDRESS_BITS - 32] != 0
        )  # fmt: skip

    @always_comb
    def causes():
        if read_state.failed and read_state.decode:
            cause.next = READ_DECERR
        elif read_state.failed:
            cause.next = READ_SLVERR
        elif write_state.failed and write_state.decode:
            cause.next = WRITE_DECERR
        elif write_state.failed:
            cause.next = WRITE_SLVERR
        else:
            cause.next = SOFT_RESET

    @always(clk.posedge)
    def supervise():
        if reset:
            phase.next = IDLE
            engine_start.next = False
            engine_reset.next = True
            status.busy.next = False
            status.done.next = False
            status.error.next = 0
            status.refusal.next = 0
            status.interrupt.next = False
        else:
            engine_start.next = False
            engine_reset.next = False
            if control.clear_interrupt:
                status.interrupt.next = False
            if phase == IDLE:
                if control.start or control.soft_reset:
                    status.busy.next = True
                    status.done.next = False
                    status.error.next = 0
                    status.refusal.next = 0
                if control.soft_reset or (control.start and unreachable):
                    phase.next = STOP
                    engine_reset.next = True
                    settle.next = SETTLE
                    why.next = 0
                    if not control.soft_reset:
                        why.next = READ_DECERR
                elif control.start:
                    phase.next = RUN
                    engine_start.next = True
            elif phase == STOP:
                engine_reset.next = True
                if settle != 0:
                    settle.next = settle - 1
                elif drained:
                    phase.next = IDLE
                    engine_reset.next = False
                    status.busy.next = False
                    status.error.next = why
                    if why != 0:
                        status.interrupt.next = True
            elif broken:
                phase.next = STOP
                engine_reset.next = True
                settle.next = SETTLE
                why.next = cause
            elif phase == RUN:
                if ended and engine_status.done:
                    phase.next = DRAIN
                elif ended:
                    phase.next = IDLE
                    status.busy.next = False
                    status.refusal.next = engine_status.refusal
                    status.interrupt.next = True
            elif drained:
                phase.next = IDLE
                status.busy.next = False
                status.done.next = True
                status.interrupt.next = True
            if control.start and not accept:
                status.refusal.next = BUSY

    @always(clk.posedge)
    def latch():
        # The host may write the next descriptor during a run.
        if accept:
            base.next = concat(
                control.memory_base_high[ADDRESS_BITS - 32 :], control.memory_base_low[32:PAGE_BITS], "000000000000"
            )
            ordered.next = naive

    @always(clk.posedge)
    def line():
        if reset:
            interrupt.next = False
        else:
            interrupt.next = status.interrupt and control.interrupt_enable

    return judge, causes, supervise, latch, line
