"""Bundles of signals that cross the engine's boundary."""

from golden.config import EngineConfig
from golden.formats import MAX_BITS, SCALE_BITS, SHIFT_BITS
from hw.signals import bit, index_bits, signed, unsigned


class Bundle:
    """Signals by name, in the order in which they were set."""

    def names(self):
        return [name for name in vars(self) if not name.startswith("_")]


class ReadPort(Bundle):
    """Memory reads. A burst is accepted with valid and ready; its words come back in order, one a cycle at most.

    address: first word; bytes: payload, words = ceil(bytes / word_bytes); data_valid, data: a word, never refused.
    """

    def __init__(self, config: EngineConfig):
        self.valid, self.ready = bit(), bit()
        self.address = unsigned(index_bits(config.memory_words))
        self.bytes = unsigned((config.max_dim * config.element_bytes).bit_length())
        self.data_valid, self.data = bit(), unsigned(config.word_bits)


class WritePort(Bundle):
    """Memory writes, a word with valid and ready. strobe: one bit for each 16-bit lane."""

    def __init__(self, config: EngineConfig):
        self.valid, self.ready = bit(), bit()
        self.address = unsigned(index_bits(config.memory_words))
        self.data = unsigned(config.word_bits)
        self.strobe = unsigned(config.word_bytes // 2)


class Descriptor(Bundle):
    """One head. Addresses and strides in words; see golden.job.Job and Layout for the fields."""

    def __init__(self, config: EngineConfig):
        length = config.max_keys.bit_length()
        dim = config.max_dim.bit_length()
        address = index_bits(config.memory_words)
        self.n_q, self.n_kv = unsigned(length), unsigned(length)
        self.dim, self.value_dim = unsigned(dim), unsigned(dim)
        self.q_rows = unsigned(config.max_rows.bit_length())
        self.q_position = signed(length + 1)
        self.scale_mantissa, self.scale_shift = unsigned(SCALE_BITS), unsigned(SHIFT_BITS)
        self.causal, self.overlap = bit(), bit()
        self.q_address, self.k_address, self.v_address, self.o_address = (unsigned(address) for _ in range(4))
        self.q_stride, self.k_stride, self.v_stride, self.o_stride = (unsigned(address) for _ in range(4))


class Counters(Bundle):
    """What the engine counted in the last run, cleared by start; golden.predict gives the same numbers."""

    def __init__(self):
        self.busy, self.compute = unsigned(32), unsigned(32)
        self.q_bytes, self.k_bytes, self.v_bytes, self.o_bytes = (unsigned(32) for _ in range(4))
        self.tiles, self.k_loads, self.v_loads = (unsigned(32) for _ in range(3))
        self.saturated = bit()


class Debug(Bundle):
    """State of each row when it is final, in the order of golden.schedule: valid, m, l, seen."""

    def __init__(self, config: EngineConfig):
        self.valid, self.seen = bit(), bit()
        self.maximum, self.total = signed(MAX_BITS), unsigned(config.sum_bits)
