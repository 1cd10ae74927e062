"""The descriptor of the current run, held, and what the controllers need derived from it."""

from myhdl import always, always_comb, block

from golden.config import log2_ceil
from golden.formats import SCALE_BITS, SCALE_SHIFT_MAX, SHIFT_BITS
from golden.job import MAX_GROUP, MAX_HEADS
from hw.ports import OPERANDS, Bundle
from hw.signals import any_of, bit, index_bits, round_up, signed, unsigned, wrapping


class Run(Bundle):
    """Descriptor fields as latched by start, no wider than a run that is not refused needs; addresses and strides in
    words. From the cycle after, what follows from the dimensions."""

    def __init__(self, config):
        length = config.max_keys.bit_length()
        address = index_bits(config.memory_words)
        self.n_q, self.n_kv = unsigned(length), unsigned(length)
        self.q_rows = unsigned(config.max_rows.bit_length())
        self.group = unsigned(MAX_GROUP.bit_length())
        self.q_position, self.window = signed(length + 1), unsigned(length + 1)
        self.scale_mantissa, self.scale_shift = unsigned(SCALE_BITS), unsigned(SHIFT_BITS)
        self.causal, self.windowed, self.overlap, self.naive, self.state = (bit() for _ in range(5))
        for operand in OPERANDS:
            setattr(self, f"{operand}_address", unsigned(address))
        for operand in OPERANDS[:-1]:
            setattr(self, f"{operand}_stride", unsigned(address))
            setattr(self, f"{operand}_head_stride", unsigned(address))
        row_bytes = config.max_dim * config.element_bytes
        self.qk_bytes, self.v_bytes = unsigned(row_bytes.bit_length()), unsigned(row_bytes.bit_length())
        self.qk_words, self.v_words = (unsigned(config.row_words.bit_length()) for _ in range(2))
        self.qk_chunks, self.v_chunks = (unsigned(config.max_chunks.bit_length()) for _ in range(2))
        self.qk_mask, self.v_mask = unsigned(config.array_depth), unsigned(config.array_depth)
        self.tail_elements = unsigned(config.array_depth.bit_length())


class Faults(Bundle):
    """What the check of a descriptor needs besides Run. bad_*: a field is out of its range; *_far: an address or stride
    is as large as the memory; misaligned: one in use is no multiple of the word; o_words: of a row of O."""

    def __init__(self, config):
        self.heads = unsigned(MAX_HEADS.bit_length())
        for name in ("n_q", "n_kv", "dim", "value_dim", "q_rows", "heads", "group", "window", "position", "scale"):
            setattr(self, f"bad_{name}", bit())
        self.misaligned = bit()
        for operand in OPERANDS:
            setattr(self, f"{operand}_far", bit())
        for operand in OPERANDS[:-1]:
            setattr(self, f"{operand}_stride_far", bit())
            setattr(self, f"{operand}_head_stride_far", bit())
        self.o_words = unsigned(config.output_words(config.max_dim).bit_length())


@block
def run_registers(clk, load, descriptor, run, faults, config):
    """Latch the descriptor with load; the fields derived from dimensions follow one cycle later.

    Ports: clk; load: one bit; descriptor: Descriptor; run: Run, faults: Faults (out).
    """
    dim, value_dim = (unsigned(config.max_dim.bit_length()) for _ in range(2))
    word_shift = log2_ceil(config.word_bytes)
    low_bits = []
    instances = []
    for name in (
        "n_q", "n_kv", "q_rows", "group", "scale_mantissa", "scale_shift", "causal", "windowed", "overlap", "naive",
        "state",
    ):  # fmt: skip
        instances.append(latch(clk, load, getattr(descriptor, name), getattr(run, name), 0))
    for operand in OPERANDS:
        strides = [] if operand == "scratch" else [f"{operand}_stride", f"{operand}_head_stride"]
        used = {"state": descriptor.state, "scratch": descriptor.naive}.get(operand)
        for name in (f"{operand}_address", *strides):
            value, held = getattr(descriptor, name), getattr(run, name)
            low_bits.append(bit())
            instances += [
                latch(clk, load, value, held, word_shift),
                beyond(clk, load, value, getattr(faults, f"{name.removesuffix('_address')}_far"), config),
                low(value, used, low_bits[-1], word_shift),
            ]
    for name, high in (
        ("n_q", config.max_keys), ("n_kv", config.max_keys), ("dim", config.max_dim), ("value_dim", config.max_dim),
        ("q_rows", config.max_rows), ("heads", MAX_HEADS), ("group", MAX_GROUP),
    ):  # fmt: skip
        instances.append(outside(clk, load, getattr(descriptor, name), getattr(faults, f"bad_{name}"), high))
    misaligned = bit()
    return (
        instances,
        any_of(low_bits, misaligned),
        latch(clk, load, descriptor.dim, dim, 0),
        latch(clk, load, descriptor.value_dim, value_dim, 0),
        latch(clk, load, descriptor.heads, faults.heads, 0),
        latch(clk, load, misaligned, faults.misaligned, 0),
        latch_rest(clk, load, descriptor, run, faults, config.max_keys),
        derive(clk, dim, value_dim, run, faults.o_words, config),
    )


@block
def latch(clk, load, value, held, shift):
    """held takes value, from bit `shift` up, with load."""
    if isinstance(value.val, bool):

        @always(clk.posedge)
        def take_bit():
            if load:
                held.next = value

        return take_bit

    top = shift + len(held)

    @always(clk.posedge)
    def take():
        if load:
            held.next = value[top:shift]

    return take


@block
def beyond(clk, load, value, far, config):
    """far: whether a byte address or stride is as large as the memory, taken with load."""
    top = log2_ceil(config.memory_bytes)

    @always(clk.posedge)
    def compare():
        if load:
            far.next = value[:top] != 0

    return compare


@block
def low(value, used, odd, shift):
    """odd: whether an address or stride in use is no multiple of 2**shift. Combinational."""
    if used is None:

        @always_comb
        def always_used():
            odd.next = value[shift:] != 0

        return always_used

    @always_comb
    def where_used():
        odd.next = value[shift:] != 0 and used

    return where_used


@block
def outside(clk, load, value, bad, high):
    """bad: whether a value is 0 or above `high`, a power of two, taken with load."""
    top = log2_ceil(high)

    if top == 0:

        @always(clk.posedge)
        def compare_one():
            if load:
                bad.next = value != 1

        return compare_one

    low = bit()

    @always_comb
    def below():
        low.next = value[top:] != 0

    @always(clk.posedge)
    def compare():
        if load:
            # In range are high itself, and what has only bits below it, at least one.
            bad.next = value[: top + 1] != 0 or value[top] == low

    return below, compare


@block
def latch_rest(clk, load, descriptor, run, faults, max_keys):
    """The signed position, and a window that is clamped where a longer one would not leave out more."""
    bits, longest = len(run.q_position), 2 * max_keys
    top, window_top = log2_ceil(max_keys), log2_ceil(longest)
    position_bits = len(descriptor.q_position)
    ones = (1 << (position_bits - top)) - 1

    @always(clk.posedge)
    def take():
        if load:
            run.q_position.next = descriptor.q_position[bits:].signed()
            if descriptor.window[:window_top] != 0:
                run.window.next = longest
            else:
                run.window.next = descriptor.window[bits:]
            faults.bad_window.next = descriptor.windowed and descriptor.window == 0
            # In range if the bits from max_keys' own up are copies of the sign, and max_keys itself.
            faults.bad_position.next = (
                descriptor.q_position[position_bits:top] != 0
                and descriptor.q_position[position_bits:top] != ones
                and (descriptor.q_position[position_bits:top] != 1 or descriptor.q_position[top:] != 0)
            )
            faults.bad_scale.next = descriptor.scale_shift > SCALE_SHIFT_MAX

    return take


@block
def derive(clk, dim, value_dim, run, o_row_words, config):
    """Bytes and words of a memory row, chunks, and the valid elements of the last chunk."""
    element_shift, word_shift = log2_ceil(config.element_bytes), log2_ceil(config.word_bytes)
    depth_shift = log2_ceil(config.array_depth)
    # Dimensions of a run that is refused may be too large for these.
    qk_words, v_words = wrapping(len(run.qk_words)), wrapping(len(run.v_words))
    qk_chunks, v_chunks = wrapping(len(run.qk_chunks)), wrapping(len(run.v_chunks))
    o_words = wrapping(len(o_row_words))

    @always(clk.posedge)
    def registers():
        run.qk_bytes.next = dim << element_shift
        run.v_bytes.next = value_dim << element_shift
        run.qk_words.next = qk_words
        run.v_words.next = v_words
        o_row_words.next = o_words
        run.qk_chunks.next = qk_chunks
        run.v_chunks.next = v_chunks

    return (
        registers,
        round_up(dim, word_shift - element_shift, qk_words),
        round_up(value_dim, word_shift - element_shift, v_words),
        round_up(value_dim, word_shift - 1, o_words),
        round_up(dim, depth_shift, qk_chunks),
        round_up(value_dim, depth_shift, v_chunks),
        last_chunk(clk, dim, value_dim, run, depth_shift),
    )


@block
def last_chunk(clk, dim, value_dim, run, depth_shift):
    """The valid elements of the last chunk of 2**depth_shift: how many there are, and a bit for each."""
    depth = 1 << depth_shift
    masks = ((1 << depth) - 1, *((1 << elements) - 1 for elements in range(1, depth)))

    if depth_shift == 0:

        @always(clk.posedge)
        def registers():
            run.qk_mask.next = 1
            run.v_mask.next = 1
            run.tail_elements.next = 1

        return registers

    @always(clk.posedge)
    def look_up():
        run.qk_mask.next = masks[dim[depth_shift:]]
        run.v_mask.next = masks[value_dim[depth_shift:]]

    @always(clk.posedge)
    def count():
        if value_dim[depth_shift:] == 0:
            run.tail_elements.next = depth
        else:
            run.tail_elements.next = value_dim[depth_shift:]

    return look_up, count
