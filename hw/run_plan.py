"""Run plan: the products and quotients of a descriptor, by one serial unit before a run begins."""

from myhdl import always, always_comb, block, concat

from golden import latency
from golden.config import log2_ceil
from golden.job import MAX_GROUP, MAX_HEADS
from hw.delay import delay
from hw.divider import divider
from hw.gating import gate, or_of
from hw.signals import any_of, bit, copy, index_bits, round_up, signed, to_signed, unsigned, wrapping

# Products in the order in which they are computed, one a cycle: those that the run needs.
STEPS = 17
(
    ROWS, POSITION, WINDOW, Q_ROWS, K_ROWS, V_ROWS, O_ROWS, STATE_ROWS,
    Q_HEADS, K_HEADS, V_HEADS, O_HEADS, STATE_HEADS, SCRATCH, BEGIN, K_BEGIN, V_BEGIN,
) = range(STEPS)  # fmt: skip
ENDS = SCRATCH + 1 - Q_ROWS  # of them say where operands end
ALWAYS_LATER = 1 << K_ROWS | 1 << V_ROWS | 1 << O_ROWS  # after the first, Q_ROWS
GROUPED_LATER = 1 << POSITION | 1 << WINDOW | 1 << Q_ROWS | ALWAYS_LATER  # after ROWS


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

    Latency: golden.latency.check - 1 from load to judge, at most 32 cycles; the last product comes two cycles before
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
    # The product of this cycle, one hot, those after it, and without the first of them.
    now, later, rest, picked, multiplied, arrived = (unsigned(STEPS) for _ in range(6))
    less = wrapping(STEPS)
    optional = unsigned(10)
    many, grouped, dividing = bit(), bit(), unsigned(4)
    a_word, b_word = unsigned(a_bits), unsigned(b_bits)
    a_chosen, a, b_chosen, b = signed(a_bits), signed(a_bits), signed(b_bits), signed(b_bits)
    signed_product = signed(bits)
    row_factor, head_factor, position_factor, window_factor, tile_factor, begin_factor = (
        signed(a_bits) for _ in range(6)
    )
    row_count, head_count, from_first = unsigned(length_bits), unsigned(len(faults.heads)), bit()
    far, load_1, divide, last_step = (bit() for _ in range(4))
    heads, q_rows = unsigned(MAX_HEADS.bit_length()), unsigned(MAX_HEADS.bit_length())
    low_key, tiles, last_tile = signed(a_bits), unsigned(length_bits), wrapping(length_bits)
    begin_words, begin_bits = unsigned(address_bits), address_bits - key_shift

    @always_comb
    def control():
        less.next = later - 1
        grouped.next = descriptor.group > 1
        many.next = descriptor.heads > 1
        divide.next = dividing != 0 and not load_1
        rest.next = later & less
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

    @always_comb
    def end_of_steps():
        last_step.next = dividing == 0 and now != 0 and later == 0

    @always(clk.posedge)
    def steps():
        if reset:
            now.next = 0
            later.next = 0
            dividing.next = 0
            picked.next = 0
            multiplied.next = 0
            arrived.next = 0
        else:
            if load:
                now.next = 1 << Q_ROWS
                later.next = (optional << STATE_ROWS) | ALWAYS_LATER
                dividing.next = 0
                if grouped:
                    now.next = 1 << ROWS
                    later.next = (optional << STATE_ROWS) | GROUPED_LATER
                    dividing.next = latency.DIVIDE
            elif dividing != 0:
                dividing.next = dividing - 1
            else:
                now.next = later ^ rest
                later.next = rest
            picked.next = 0
            if dividing == 0:
                picked.next = now
            multiplied.next = picked
            arrived.next = multiplied

    # Rows and heads are one less where a product counts from the first.
    @always_comb
    def counted():
        row_count.next = run.n_q
        if now[K_ROWS] or now[V_ROWS]:
            row_count.next = run.n_kv
        head_count.next = faults.heads
        if now[K_HEADS] or now[V_HEADS]:
            head_count.next = plan.kv_heads
        from_first.next = not now[ROWS]

    @always_comb
    def first_factors():
        row_factor.next = row_count - from_first
        head_factor.next = head_count - 1
        position_factor.next = run.q_position
        window_factor.next = run.window - 1
        tile_factor.next = tiles
        begin_factor.next = plan.begin

    a_factors = (
        (row_factor, (ROWS, Q_ROWS, K_ROWS, V_ROWS, O_ROWS, STATE_ROWS)), (position_factor, (POSITION,)),
        (window_factor, (WINDOW,)), (head_factor, (Q_HEADS, K_HEADS, V_HEADS, O_HEADS, STATE_HEADS)),
        (tile_factor, (SCRATCH,)), (begin_factor, (BEGIN, K_BEGIN, V_BEGIN)),
    )  # fmt: skip
    b_factors = (
        (run.group, (ROWS, POSITION, WINDOW, BEGIN)), (run.q_stride, (Q_ROWS,)), (run.k_stride, (K_ROWS, K_BEGIN)),
        (run.v_stride, (V_ROWS, V_BEGIN)), (run.o_stride, (O_ROWS,)), (run.state_stride, (STATE_ROWS,)),
        (run.q_head_stride, (Q_HEADS,)), (run.k_head_stride, (K_HEADS,)), (run.v_head_stride, (V_HEADS,)),
        (run.o_head_stride, (O_HEADS,)), (run.state_head_stride, (STATE_HEADS,)), (run.q_rows, (SCRATCH,)),
    )  # fmt: skip
    strides_far = [
        (step, getattr(faults, f"{operand}_far"))
        for step, operand in (
            (Q_ROWS, "q_stride"), (K_ROWS, "k_stride"), (V_ROWS, "v_stride"), (O_ROWS, "o_stride"),
            (STATE_ROWS, "state_stride"), (Q_HEADS, "q_head_stride"), (K_HEADS, "k_head_stride"),
            (V_HEADS, "v_head_stride"), (O_HEADS, "o_head_stride"), (STATE_HEADS, "state_head_stride"),
        )
    ]  # fmt: skip
    far_steps, any_far = [bit() for _ in strides_far], bit()

    @always(clk.posedge)
    def multiply():
        a.next = a_chosen
        b.next = b_chosen
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
        counted,
        first_factors,
        multiply,
        results,
        first_tile,
        factor(clk, now, a_factors, a_word),
        factor(clk, now, b_factors, b_word),
        to_signed(a_word, a_chosen),
        to_signed(b_word, b_chosen),
        [both(now(step), far_step, here) for (step, far_step), here in zip(strides_far, far_steps, strict=True)],
        any_of(far_steps, any_far),
        delay(clk, any_far, far, 2),
        round_up(run.n_kv, key_shift, tiles),
        delay(clk, load, load_1, 1, reset),
        delay(clk, last_step, walk, latency.PRODUCT - 1, reset),
        delay(clk, last_step, judge, latency.PRODUCT + 2, reset),
        divider(clk, load_1, divide, heads, run.group, plan.kv_heads, remainder),
        divider(clk, load_1, divide, q_rows, run.group, plan.block_queries, plan.block_members),
    )


@block
def factor(clk, now, choices, word):
    """word: the factor of the step that was `now`, one hot, a cycle ago; choices: each factor, and its steps."""
    instances, gated = [], []
    for value, steps in choices:
        chosen, bits = bit(), unsigned(len(word))
        gated.append(unsigned(len(word)))
        instances += [
            any_of([now(step) for step in steps], chosen), copy(value, bits), gate(clk, chosen, bits, gated[-1]),
        ]  # fmt: skip
    return instances, or_of(gated, word)


@block
def both(a, b, result):
    """result = a and b. Combinational."""

    @always_comb
    def combine():
        result.next = a and b

    return combine
