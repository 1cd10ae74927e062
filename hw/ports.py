"""Bundles of signals that cross the engine's boundary."""

from typing import ClassVar

from golden.config import EngineConfig
from golden.formats import MAX_BITS, SCALE_BITS, SHIFT_BITS
from hw.signals import bit, index_bits, signed, unsigned


class Bundle:
    """Signals by name, in the order in which they were set; `meanings` of them for the reader of the Verilog."""

    meanings: ClassVar[dict[str, str]] = {}

    def names(self):
        return [name for name in vars(self) if not name.startswith("_")]


class ReadPort(Bundle):
    """Memory reads. A burst is accepted with valid and ready; its words come back in order, one a cycle at most."""

    meanings: ClassVar = {
        "valid": "a burst is requested; stays until ready",
        "ready": "the memory accepts the burst in this cycle",
        "address": "its first word",
        "bytes": "its payload; words = ceil(bytes / bytes of a word)",
        "data_valid": "a word comes back; it is never refused",
        "data": "the word, lowest byte first",
    }

    def __init__(self, config: EngineConfig):
        self.valid, self.ready = bit(), bit()
        self.address = unsigned(index_bits(config.memory_words))
        self.bytes = unsigned((config.max_dim * config.element_bytes).bit_length())
        self.data_valid, self.data = bit(), unsigned(config.word_bits)


class WritePort(Bundle):
    """Memory writes, a word with valid and ready."""

    meanings: ClassVar = {
        "valid": "a word is to be written; stays until ready",
        "ready": "the memory accepts the word in this cycle",
        "address": "word address",
        "data": "16-bit outputs, the first in the low bits",
        "strobe": "which 16-bit lanes to write",
    }

    def __init__(self, config: EngineConfig):
        self.valid, self.ready = bit(), bit()
        self.address = unsigned(index_bits(config.memory_words))
        self.data = unsigned(config.word_bits)
        self.strobe = unsigned(config.word_bytes // 2)


class Descriptor(Bundle):
    """One head. Addresses and strides in words; see golden.job.Job and Layout for the fields."""

    meanings: ClassVar = {
        "n_q": "query rows",
        "n_kv": "key rows",
        "dim": "elements of a row of Q and K",
        "value_dim": "elements of a row of V and O",
        "q_rows": "query rows of a block",
        "q_position": "with causal, query i sees keys up to i + q_position",
        "scale_mantissa": "z = half_up(S * mantissa >> shift), see golden.job.encode_scale",
        "scale_shift": "see scale_mantissa; 0 to 47",
        "causal": "mask keys after a query's position",
        "overlap": "load the next tiles during the present one",
        "q_address": "first word of Q",
        "k_address": "first word of K",
        "v_address": "first word of V",
        "o_address": "first word of O",
        "q_stride": "words from one row of Q to the next",
        "k_stride": "words from one row of K to the next",
        "v_stride": "words from one row of V to the next",
        "o_stride": "words from one row of O to the next",
    }

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

    meanings: ClassVar = {
        "busy": "cycles in which the engine was busy",
        "compute": "cycles from the first row read to the last output",
        "q_bytes": "payload read of Q",
        "k_bytes": "payload read of K",
        "v_bytes": "payload read of V",
        "o_bytes": "payload written",
        "tiles": "tiles computed",
        "k_loads": "tiles of K loaded",
        "v_loads": "tiles of V loaded",
        "saturated": "a visible score left the range of z",
    }

    def __init__(self):
        self.busy, self.compute = unsigned(32), unsigned(32)
        self.q_bytes, self.k_bytes, self.v_bytes, self.o_bytes = (unsigned(32) for _ in range(4))
        self.tiles, self.k_loads, self.v_loads = (unsigned(32) for _ in range(3))
        self.saturated = bit()


class Debug(Bundle):
    """State of each row when it is final, in the order of golden.schedule."""

    meanings: ClassVar = {
        "valid": "a row is final",
        "seen": "it saw a key",
        "maximum": "m, its running maximum, an integer",
        "total": "l, the sum of its p, 16 fraction bits",
    }

    def __init__(self, config: EngineConfig):
        self.valid, self.seen = bit(), bit()
        self.maximum, self.total = signed(MAX_BITS), unsigned(config.sum_bits)
