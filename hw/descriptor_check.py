"""Descriptor check: what the engine refuses, and why."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from golden.layout import Refusal, state_words
from hw import run_plan
from hw.delay import delay
from hw.extent import extent
from hw.ports import OPERANDS
from hw.signals import any_of, bit, unsigned

(
    NONE, QUERIES, KEYS, DIM, VALUE_DIM, Q_ROWS, HEADS, GROUP, WINDOW, POSITION, SCALE, MISALIGNED, STRIDE,
    Q_MEMORY, K_MEMORY, V_MEMORY, O_MEMORY, STATE_MEMORY, SCRATCH_MEMORY, OVERLAP, BUSY,
) = (int(refusal) for refusal in Refusal)  # fmt: skip


@block
def descriptor_check(clk, load, run, faults, ends, product, far_product, remainder, wrong, refusal, config):
    """Judge a descriptor from its fields and from where its operands end.

    Latency: the last product to refusal, two cycles.

    Ports: clk; load: descriptor is being latched in run; run: Run, faults: Faults; ends, product,
    far_product, remainder: see run_plan; refusal: golden.layout.Refusal, 0 if there is nothing to refuse; wrong: there
    is something, known sooner within the cycle.
    """
    words, address_bits = config.memory_words, len(run.q_address)
    bits, row_shift = address_bits + 1, log2_ceil(config.scratch_row_words)
    load_2 = bit()
    after = {operand: unsigned(bits) for operand in OPERANDS}
    outside = {operand: bit() for operand in OPERANDS}
    gone = {operand: bit() for operand in OPERANDS}
    row_words = {"q": run.qk_words, "k": run.qk_words, "v": run.v_words, "o": faults.o_words}
    fixed_words = {"state": state_words(config)}
    used = {"state": run.state, "scratch": run.naive}
    scaled = unsigned(len(product) + row_shift)
    instances = [delay(clk, load, load_2, 2)]

    @always_comb
    def scratch_words():
        scaled.next = product << row_shift

    for operand in OPERANDS:
        rows = getattr(run_plan, f"{operand.upper()}_ROWS", run_plan.SCRATCH) - run_plan.Q_ROWS
        heads = getattr(run_plan, f"{operand.upper()}_HEADS", run_plan.SCRATCH) - run_plan.Q_ROWS
        add, amount = bit(), product
        if operand == "scratch":
            amount = scaled
        first, far = getattr(run, f"{operand}_address"), getattr(faults, f"{operand}_far")
        instances += [
            either(ends(rows), ends(heads), add),
            extent(
                clk, load_2, first, row_words.get(operand), add, amount, far_product, after[operand], outside[operand],
                words, fixed_words.get(operand, 0),
            ),
            leaves(outside[operand], far, used.get(operand), gone[operand]),
        ]

    crossings = []
    written = ["o", "state", "scratch"]
    for index, operand in enumerate(written):
        for other in ["q", "k", "v", *written[:index]]:
            crossings.append(bit())
            first, other_first = getattr(run, f"{operand}_address"), getattr(run, f"{other}_address")
            uses = used.get(operand), used.get(other)
            instances.append(crossing(clk, first, after[operand], other_first, after[other], *uses, crossings[-1]))
    short = []
    for operand in OPERANDS[:-1]:
        stride = f"{operand}_stride"
        short.append(bit())
        instances.append(
            shorter(
                getattr(run, stride), getattr(faults, f"{stride}_far"),
                row_words.get(operand, fixed_words.get(operand)), used.get(operand), short[-1]
            )
        )
    any_crossing, any_short = bit(), bit()
    q_gone, k_gone, v_gone, o_gone, state_gone, scratch_gone = gone.values()

    @always_comb
    def judge():
        if faults.bad_n_q:
            refusal.next = QUERIES
        elif faults.bad_n_kv:
            refusal.next = KEYS
        elif faults.bad_dim:
            refusal.next = DIM
        elif faults.bad_value_dim:
            refusal.next = VALUE_DIM
        elif faults.bad_q_rows:
            refusal.next = Q_ROWS
        elif faults.bad_heads:
            refusal.next = HEADS
        elif faults.bad_group or remainder != 0:
            refusal.next = GROUP
        elif faults.bad_window:
            refusal.next = WINDOW
        elif faults.bad_position:
            refusal.next = POSITION
        elif faults.bad_scale:
            refusal.next = SCALE
        elif faults.misaligned:
            refusal.next = MISALIGNED
        elif any_short:
            refusal.next = STRIDE
        elif q_gone:
            refusal.next = Q_MEMORY
        elif k_gone:
            refusal.next = K_MEMORY
        elif v_gone:
            refusal.next = V_MEMORY
        elif o_gone:
            refusal.next = O_MEMORY
        elif state_gone:
            refusal.next = STATE_MEMORY
        elif scratch_gone:
            refusal.next = SCRATCH_MEMORY
        elif any_crossing:
            refusal.next = OVERLAP
        else:
            refusal.next = NONE

    fields = [getattr(faults, name) for name in vars(faults) if name.startswith("bad_")]
    unfit, bad_field = bit(), bit()

    @always(clk.posedge)
    def early():
        # Nothing of this changes any more when the last product comes.
        unfit.next = bad_field or faults.misaligned or any_short or remainder != 0

    @always_comb
    def late():
        wrong.next = (
            unfit or any_crossing or q_gone or k_gone or v_gone or o_gone or state_gone or scratch_gone
        )

    return (
        instances, early, late, any_of(fields, bad_field), scratch_words, any_of(crossings, any_crossing),
        any_of(short, any_short), judge,
    )  # fmt: skip


@block
def either(a, b, result):
    """result = a or b. Combinational."""

    @always_comb
    def combine():
        result.next = a or b

    return combine


@block
def leaves(outside, far, used, gone):
    """gone: an operand in use leaves the memory. Combinational."""
    if used is None:
        return either(outside, far, gone)

    @always_comb
    def combine():
        gone.next = (outside or far) and used

    return combine


@block
def crossing(clk, first, after, other_first, other_after, used, other_used, both):
    """both: two operands in use share a word. A cycle later."""
    uses = [use for use in (used, other_used) if use is not None]

    if not uses:

        @always(clk.posedge)
        def compare():
            both.next = first < other_after and other_first < after

        return compare

    one, two = uses[0], uses[-1]

    @always(clk.posedge)
    def compare_used():
        both.next = first < other_after and other_first < after and one and two

    return compare_used


@block
def shorter(stride, far, words, used, short):
    """short: the stride of an operand in use is shorter than a row. Combinational."""
    if used is None:

        @always_comb
        def compare():
            short.next = stride < words and not far

        return compare

    @always_comb
    def compare_used():
        short.next = stride < words and not far and used

    return compare_used
