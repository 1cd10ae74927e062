"""Run plan: the products and quotients of a descriptor, by one serial unit before a run begins."""

from myhdl import always, always_comb, block, concat

from golden import latency
from golden.config import log2_ceil
from golden.job import MAX_GROUP, MAX_HEADS
from hw.delay import delay
from hw.divider import divider
from hw.signals import bit, index_bits, round_up, signed, unsigned, wrapping

# Products in the order in which they are computed, one a cycle: those that the run needs.
STEPS = 17
(
    ROWS, POSITION, WINDOW, Q_ROWS, K_ROWS, V_ROWS, O_ROWS, STATE_ROWS,
    Q_HEADS, K_HEADS, V_HEADS, O_HEADS, STATE_HEADS, SCRATCH, BEGIN, K_BEGIN, V_BEGIN,
) = range(STEPS)  # fmt: skip
ENDS = SCRATCH + 1 - Q_ROWS  # of them say where operands end
ALWAYS = 1 << Q_ROWS | 1 << K_ROWS | 1 << V_ROWS | 1 << O_ROWS


class Plan:
    """What follows from a run's descriptor by multiplication and division.

    rows: of a KV head, n_q * group. position_rows: q_position * group. window_rows: (window - 1) * group. kv_heads.
    block_queries, block_members: q_rows = block_queries * group + block_members. begin: first tile that query 0 sees;
    begin_rows: begin * group; k_begin, v_begin: words to that tile.
    """

    def __init__(self, config):
        length = config.max_keys.bit_length()
        row_bits = length + MAX_GROUP.bit_length() - 1
        self.rows = unsigned(row_bits)
        self.position_rows, self.window_rows = signed(row_bits + 1), unsigned(row_bits)
        self.kv_heads, self.block_queries = unsigned(MAX_HEADS.bit_length()), unsigned(MAX_HEADS.bit_length())
        self.block_members = unsigned(MAX_GROUP.bit_length())
        self.begin, self.begin_rows = unsigned(length), unsigned(row_bits)
        self.k_begin, self.v_begin = (unsigned(index_bits(config.memory_words)) for _ in range(2))


def product_bits(config):
    """Bits of an unsigned product of the run plan."""
    factor = max(config.max_keys.bit_length() + 1, MAX_HEADS.bit_length())
    return factor + 1 + max(index_bits(config.memory_words), MAX_GROUP.bit_length())


@block
def run_plan(
    clk, reset, load, descriptor, run, faults, plan, ends, product, far_product, remainder, walk, judge, config
):
    """Work out `plan`, and for the descriptor check the products that say where operands end.

    Latency: golden.latency.check - 1 from load to judge, at most 34 cycles; the last product comes two cycles before
    it; with walk, three before it, plan is complete but for k_begin and v_begin.

    Ports: clk, reset; load: descriptor is being latched in run; descriptor: Descriptor; run: Run; faults: Faults; plan:
    Plan (out); ends: which of the products Q_ROWS to SCRATCH is there, one hot; product: never negative for a run that
    is not refused; far_product: one factor was larger than the memory, and the other not 0; remainder: of heads /
    group; walk, judge: see above.
    """
    address_bits, length_bits = len(run.q_address), len(run.n_q)
    key_shift = log2_ceil(config.array_keys)
    bits, row_bits = len(product), len(plan.rows)
    a_bits = max(len(run.window), len(faults.heads)) + 1
    b_bits = max(address_bits, len(run.group), len(run.q_rows)) + 1
    pending, rest, picked, arrived = (unsigned(STEPS) for _ in range(4))
    less = wrapping(STEPS)
    optional, grouped_steps = unsigned(10), unsigned(3)
    many, grouped, dividing = bit(), bit(), unsigned(4)
    a, b, signed_product = signed(a_bits), signed(b_bits), signed(bits)
    far, load_1, divide, last_step = (bit() for _ in range(4))
    heads, q_rows = unsigned(MAX_HEADS.bit_length()), unsigned(MAX_HEADS.bit_length())
    low_key, tiles, last_tile = signed(a_bits), unsigned(length_bits), wrapping(length_bits)
    begin_words, begin_bits = unsigned(address_bits), address_bits - key_shift

    @always_comb
    def control():
        less.next = pending - 1
        grouped.next = descriptor.group > 1
        many.next = descriptor.heads > 1
        divide.next = dividing != 0 and not load_1
        rest.next = pending & less
        heads.next = faults.heads
        q_rows.next = run.q_rows
        ends.next = arrived[SCRATCH + 1 : Q_ROWS]
        product.next = signed_product[bits:]
        begin_words.next = signed_product[begin_bits:] << key_shift

    @always_comb
    def wanted():
        optional.next = concat(
            descriptor.windowed, descriptor.windowed, descriptor.windowed, descriptor.naive, many and descriptor.state,
            many, many, many, many, descriptor.state,
        )  # fmt: skip
        grouped_steps.next = concat(grouped, grouped, grouped)

    @always_comb
    def end_of_steps():
        last_step.next = dividing == 0 and pending != 0 and rest == 0

    @always(clk.posedge)
    def steps():
        if reset:
            pending.next = 0
            dividing.next = 0
            picked.next = 0
            arrived.next = 0
        else:
            if load:
                pending.next = (optional << STATE_ROWS) | ALWAYS | grouped_steps
                dividing.next = 0
                if grouped:
                    dividing.next = latency.DIVIDE
            elif dividing != 0:
                dividing.next = dividing - 1
            else:
                pending.next = rest
            picked.next = 0
            if dividing == 0:
                picked.next = pending ^ rest
            arrived.next = picked

    @always(clk.posedge)
    def operands():
        far.next = False
        if pending[ROWS]:
            a.next = run.n_q
            b.next = run.group
        elif pending[POSITION]:
            a.next = run.q_position
            b.next = run.group
        elif pending[WINDOW]:
            a.next = run.window - 1
            b.next = run.group
        elif pending[Q_ROWS]:
            a.next = run.n_q - 1
            b.next = run.q_stride
            far.next = faults.q_stride_far
        elif pending[K_ROWS]:
            a.next = run.n_kv - 1
            b.next = run.k_stride
            far.next = faults.k_stride_far
        elif pending[V_ROWS]:
            a.next = run.n_kv - 1
            b.next = run.v_stride
            far.next = faults.v_stride_far
        elif pending[O_ROWS]:
            a.next = run.n_q - 1
            b.next = run.o_stride
            far.next = faults.o_stride_far
        elif pending[STATE_ROWS]:
            a.next = run.n_q - 1
            b.next = run.state_stride
            far.next = faults.state_stride_far
        elif pending[Q_HEADS]:
            a.next = faults.heads - 1
            b.next = run.q_head_stride
            far.next = faults.q_head_stride_far
        elif pending[K_HEADS]:
            a.next = plan.kv_heads - 1
            b.next = run.k_head_stride
            far.next = faults.k_head_stride_far
        elif pending[V_HEADS]:
            a.next = plan.kv_heads - 1
            b.next = run.v_head_stride
            far.next = faults.v_head_stride_far
        elif pending[O_HEADS]:
            a.next = faults.heads - 1
            b.next = run.o_head_stride
            far.next = faults.o_head_stride_far
        elif pending[STATE_HEADS]:
            a.next = faults.heads - 1
            b.next = run.state_head_stride
            far.next = faults.state_head_stride_far
        elif pending[SCRATCH]:
            a.next = tiles
            b.next = run.q_rows
        elif pending[BEGIN]:
            a.next = plan.begin
            b.next = run.group
        elif pending[K_BEGIN]:
            a.next = plan.begin
            b.next = run.k_stride
        else:
            a.next = plan.begin
            b.next = run.v_stride

    @always(clk.posedge)
    def multiply():
        signed_product.next = a * b
        far_product.next = far and a != 0

    @always(clk.posedge)
    def results():
        if load_1:
            plan.rows.next = run.n_q
            plan.position_rows.next = run.q_position
            plan.window_rows.next = 0
            if run.window != 0:
                plan.window_rows.next = run.window - 1
            plan.begin_rows.next = 0
            plan.k_begin.next = 0
            plan.v_begin.next = 0
        else:
            if arrived[ROWS]:
                plan.rows.next = signed_product[row_bits:]
            if arrived[POSITION]:
                plan.position_rows.next = signed_product[row_bits + 1 :].signed()
            if arrived[WINDOW]:
                plan.window_rows.next = signed_product[row_bits:]
            if arrived[BEGIN]:
                plan.begin_rows.next = signed_product[row_bits:]
            if arrived[K_BEGIN]:
                plan.k_begin.next = begin_words
            if arrived[V_BEGIN]:
                plan.v_begin.next = begin_words

    @always(clk.posedge)
    def first_tile():
        low_key.next = run.q_position - run.window + 1
        last_tile.next = tiles - 1
        plan.begin.next = 0
        if run.windowed and low_key > 0:
            if (low_key >> key_shift) > last_tile:
                plan.begin.next = last_tile
            else:
                plan.begin.next = low_key[length_bits:key_shift]

    return (
        control,
        wanted,
        end_of_steps,
        steps,
        operands,
        multiply,
        results,
        first_tile,
        round_up(run.n_kv, key_shift, tiles),
        delay(clk, load, load_1, 1, reset),
        delay(clk, last_step, walk, latency.PRODUCT - 1, reset),
        delay(clk, last_step, judge, latency.PRODUCT + 2, reset),
        divider(clk, load_1, divide, heads, run.group, plan.kv_heads, remainder),
        divider(clk, load_1, divide, q_rows, run.group, plan.block_queries, plan.block_members),
    )
