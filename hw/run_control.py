"""Run control: start, the verdict on the descriptor, the end, and what is counted in between."""

from myhdl import always, always_comb, block, intbv

from golden.layout import Refusal
from hw.descriptor_check import descriptor_check
from hw.run_plan import ENDS, product_bits, run_plan
from hw.run_registers import Faults, run_registers
from hw.signals import bit, unsigned

BUSY = int(Refusal.BUSY)


@block
def run_control(
    clk, reset, start, busy, descriptor, run, plan, walk, begin_run, done, scored, valued, last_output, tile_scored,
    under_way, out_of_range, status, counters, config,
):  # fmt: skip
    """Take a descriptor, judge it, and begin the run or refuse it; count cycles, tiles and saturations.

    Latency: start to begin_run, golden.latency.check; what is counted to its counter, two cycles, and nothing of the
    last busy cycle counts but itself. A start while busy changes nothing but status.

    Ports: clk, reset, start, busy, descriptor, status, counters: see engine; run, plan: of the run (out); walk: plan is
    complete; begin_run: the run begins; done: its last word is being taken; scored, valued: a row enters Q.K^T, P.V;
    last_output: the last chunk of O is there; tile_scored: a tile has been taken for the last time; under_way: a load
    is; out_of_range: a bit for each score that was saturated.
    """
    accept, judge, wrong, refused, ended = (bit() for _ in range(5))
    ends, product, far_product = unsigned(ENDS), unsigned(product_bits(config)), bit()
    faults = Faults(config)
    remainder, refusal, verdict = unsigned(len(run.group)), unsigned(len(status.refusal)), unsigned(len(status.refusal))
    computing, late_scored, late_valued, late_output, late_tile, stalled = (bit() for _ in range(6))
    lanes = len(out_of_range)
    count_bits = lanes.bit_length()
    saturated, late_saturated = unsigned(count_bits), unsigned(count_bits)

    @always_comb
    def accept_start():
        accept.next = start and not busy  # with reset, which goes before it, nothing comes of it

    # Registers, since what follows from them is far apart.
    @always(clk.posedge)
    def pronounce():
        verdict.next = refusal
        if reset:
            begin_run.next = False
            refused.next = False
            ended.next = False
        else:
            begin_run.next = judge and not wrong
            refused.next = judge and wrong
            ended.next = done

    @always(clk.posedge)
    def control():
        if reset:
            busy.next = False
            computing.next = False
            status.done.next = False
            status.refusal.next = 0
        else:
            if accept:
                busy.next = True
                status.done.next = False
                status.refusal.next = 0
            elif refused:
                busy.next = False
                status.refusal.next = verdict
            elif ended:
                busy.next = False
                status.done.next = True
            elif start and busy:
                status.refusal.next = BUSY
            if late_scored:
                computing.next = True
            elif late_output:
                computing.next = False

    @always_comb
    def saturations():
        hits = intbv(0)[count_bits:]
        for lane in range(lanes):
            if out_of_range[lane]:
                hits[:] = hits + 1
        saturated.next = hits

    # Registers, since controllers decide late in a cycle.
    @always(clk.posedge)
    def events():
        late_scored.next = scored and not reset
        late_valued.next = valued and not reset
        late_output.next = last_output and not reset
        late_tile.next = tile_scored and not reset
        stalled.next = under_way and not scored and not valued and not reset

    @always(clk.posedge)
    def count():
        late_saturated.next = saturated
        if reset:
            late_saturated.next = 0
        if reset or accept:
            counters.busy.next = 0
            counters.compute.next = 0
            counters.mm1_busy.next = 0
            counters.mm2_busy.next = 0
            counters.memory_stall.next = 0
            counters.tiles.next = 0
            counters.saturations.next = 0
        elif busy:
            counters.busy.next = counters.busy + 1
            if computing or late_scored:
                counters.compute.next = counters.compute + 1
            if late_scored:
                counters.mm1_busy.next = counters.mm1_busy + 1
            if late_valued:
                counters.mm2_busy.next = counters.mm2_busy + 1
            if stalled:
                counters.memory_stall.next = counters.memory_stall + 1
            if late_tile:
                counters.tiles.next = counters.tiles + 1
            counters.saturations.next = counters.saturations + late_saturated

    return (
        accept_start, pronounce, control, saturations, events, count,
        run_registers(clk, accept, descriptor, run, faults, config),
        run_plan(
            clk, reset, accept, descriptor, run, faults, plan, ends, product, far_product, remainder, walk, judge,
            config,
        ),
        descriptor_check(clk, accept, run, faults, ends, product, far_product, remainder, wrong, refusal, config),
    )  # fmt: skip
