"""Bundles of signals that cross the engine's boundary."""

from typing import ClassVar

from golden.config import EngineConfig
from golden.formats import MAX_BITS, SCALE_BITS, SHIFT_BITS
from hw.signals import bit, index_bits, signed, unsigned, wrapping

OPERANDS = "q", "k", "v", "o", "state", "scratch"
COUNTER_BITS = 32


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
        self.bytes = unsigned(max(config.max_dim * config.element_bytes, 2 * config.array_keys).bit_length())
        self.data_valid, self.data = bit(), unsigned(config.word_bits)


class WritePort(Bundle):
    """Memory writes, a word with valid and ready."""

    meanings: ClassVar = {
        "valid": "a word is to be written; stays until ready",
        "ready": "the memory accepts the word in this cycle",
        "address": "word address",
        "data": "16-bit lanes, the first in the low bits",
        "strobe": "which 16-bit lanes to write",
    }

    def __init__(self, config: EngineConfig):
        self.valid, self.ready = bit(), bit()
        self.address = unsigned(index_bits(config.memory_words))
        self.data = unsigned(config.word_bits)
        self.strobe = unsigned(config.word_bytes // 2)


class Descriptor(Bundle):
    """One run. Addresses and strides in bytes, multiples of the memory word; see golden.job.Job and golden.layout."""

    meanings: ClassVar = {
        "n_q": "query rows",
        "n_kv": "key rows",
        "dim": "elements of a row of Q and K",
        "value_dim": "elements of a row of V and O",
        "q_rows": "query rows of a block",
        "heads": "query heads",
        "group": "query heads for each KV head",
        "q_position": "position of query 0, signed; query i has i + q_position",
        "window": "with windowed, a query sees keys from its position - window + 1 on",
        "scale_mantissa": "z = half_up(S * mantissa >> shift), see golden.job.encode_scale",
        "scale_shift": "see scale_mantissa; 0 to 47",
        "causal": "a query sees keys up to its position",
        "windowed": "use window",
        "overlap": "load the next tiles during the present one",
        "naive": "S and P visit memory",
        "state": "write (m, l) of each row",
        "q_address": "first byte of Q",
        "k_address": "first byte of K",
        "v_address": "first byte of V",
        "o_address": "first byte of O",
        "state_address": "first byte of (m, l), 8 bytes a row: l, then m",
        "scratch_address": "first byte of what S and P of a block need, with naive",
        "q_stride": "bytes from one row of Q to the next",
        "k_stride": "bytes from one row of K to the next",
        "v_stride": "bytes from one row of V to the next",
        "o_stride": "bytes from one row of O to the next",
        "state_stride": "bytes from one row of (m, l) to the next",
        "q_head_stride": "bytes from one head of Q to the next",
        "k_head_stride": "bytes from one KV head of K to the next",
        "v_head_stride": "bytes from one KV head of V to the next",
        "o_head_stride": "bytes from one head of O to the next",
        "state_head_stride": "bytes from one head of (m, l) to the next",
    }

    def __init__(self):
        self.n_q, self.n_kv = unsigned(32), unsigned(32)
        self.dim, self.value_dim, self.q_rows, self.heads, self.group = (unsigned(16) for _ in range(5))
        self.q_position, self.window = signed(32), unsigned(32)
        self.scale_mantissa, self.scale_shift = unsigned(SCALE_BITS), unsigned(SHIFT_BITS)
        self.causal, self.windowed, self.overlap, self.naive, self.state = (bit() for _ in range(5))
        for operand in OPERANDS:
            setattr(self, f"{operand}_address", unsigned(32))
        for operand in OPERANDS[:-1]:
            setattr(self, f"{operand}_stride", unsigned(32))
            setattr(self, f"{operand}_head_stride", unsigned(32))


class RegisterBus(Bundle):
    """Access to 32-bit registers, by one master (a UART or an AXI4-Lite slave)."""

    meanings: ClassVar = {
        "address": "index of the register: its byte address / 4",
        "write": "write data, in this cycle",
        "data": "the value",
        "strobe": "which bytes of it to write",
        "q": "the register at the address of hw.register_file.REGISTER_LATENCY cycles ago; 0 where there is none",
    }

    def __init__(self, address_bits: int = 7):
        self.address = unsigned(address_bits)
        self.write, self.data, self.strobe = bit(), unsigned(32), unsigned(4)
        self.q = unsigned(32)


class Control(Bundle):
    """What registers tell the logic around the engine."""

    meanings: ClassVar = {
        "start": "pulse: run the descriptor",
        "soft_reset": "pulse: end a run",
        "clear_interrupt": "pulse: take the interrupt back",
        "interrupt_enable": "the interrupt line follows RunStatus.interrupt",
        "memory_base_low": "bus address of the memory's byte 0, bits 31 to 0",
        "memory_base_high": "bits 63 to 32",
    }

    def __init__(self):
        self.start, self.soft_reset, self.clear_interrupt, self.interrupt_enable = (bit() for _ in range(4))
        self.memory_base_low, self.memory_base_high = unsigned(32), unsigned(32)


class RunStatus(Bundle):
    """What the logic around the engine tells registers."""

    meanings: ClassVar = {
        "busy": "a run or a soft reset is under way",
        "done": "the last run is complete",
        "interrupt": "a run has ended since the interrupt was taken back",
        "error": "why the last run was broken off, see gen/flashtile.rdl; 0 if it was not",
        "refusal": "why the last start was refused, 0 if it was not: golden.layout.Refusal",
    }

    def __init__(self):
        self.busy, self.done, self.interrupt = bit(), bit(), bit()
        self.error, self.refusal = unsigned(3), unsigned(5)


class Status(Bundle):
    """How the last start ended."""

    meanings: ClassVar = {
        "done": "the last run is complete",
        "refusal": "why the last start was refused, 0 if it was not: golden.layout.Refusal",
    }

    def __init__(self):
        self.done, self.refusal = bit(), unsigned(5)


class Counters(Bundle):
    """What the engine counted in the last run, cleared by start; golden.predict gives the same numbers."""

    meanings: ClassVar = {
        "busy": "cycles in which the engine was busy",
        "compute": "cycles from the first row read to the last output",
        "mm1_busy": "cycles in which a row entered Q.K^T",
        "mm2_busy": "cycles in which a row entered P.V",
        "memory_stall": "cycles in which no row entered either, and data was under way from memory",
        "q_bytes": "payload read of Q",
        "k_bytes": "payload read of K",
        "v_bytes": "payload read of V",
        "s_read_bytes": "payload read of S (naive)",
        "p_read_bytes": "payload read of P (naive)",
        "o_bytes": "payload written",
        "state_bytes": "payload written of (m, l)",
        "s_write_bytes": "payload written of S (naive)",
        "p_write_bytes": "payload written of P (naive)",
        "tiles": "tiles computed",
        "k_loads": "tiles of K loaded",
        "v_loads": "tiles of V loaded",
        "saturations": "visible scores that left the range of z, or of S in memory",
    }

    def __init__(self):
        for name in self.meanings:
            setattr(self, name, wrapping(COUNTER_BITS))


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
