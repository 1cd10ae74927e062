"""Where the operands of a run lie in memory, and which descriptors the engine refuses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from golden.config import EngineConfig
from golden.formats import SCALE_SHIFT_MAX
from golden.job import MAX_GROUP, MAX_HEADS, Job, JobError

STATE_BYTES = 8  # of a row's (m, l): l as 32 bits, then m as 32 bits two's complement; l = 0 if it saw no key


@dataclass(frozen=True)
class Layout:
    """Byte addresses, and bytes from a row to the next and from a head to the next.

    K and V have a head for each group of query heads. state: of the (m, l) output. scratch: S and P of a block, for the
    NAIVE schedule.
    """

    q_address: int
    k_address: int
    v_address: int
    o_address: int
    q_stride: int
    k_stride: int
    v_stride: int
    o_stride: int
    q_head_stride: int = 0
    k_head_stride: int = 0
    v_head_stride: int = 0
    o_head_stride: int = 0
    state_address: int = 0
    state_stride: int = 0
    state_head_stride: int = 0
    scratch_address: int = 0


class Refusal(IntEnum):
    """Why a descriptor is refused; where several reasons hold, the engine reports the lowest."""

    NONE = 0
    QUERIES = 1
    KEYS = 2
    DIM = 3
    VALUE_DIM = 4
    Q_ROWS = 5
    HEADS = 6
    GROUP = 7
    WINDOW = 8
    POSITION = 9
    SCALE = 10
    MISALIGNED = 11
    STRIDE = 12
    Q_MEMORY = 13
    K_MEMORY = 14
    V_MEMORY = 15
    O_MEMORY = 16
    STATE_MEMORY = 17
    SCRATCH_MEMORY = 18
    OVERLAP = 19
    BUSY = 20


REFUSALS = {
    Refusal.NONE: "not refused",
    Refusal.QUERIES: "n_q is 0 or above max_keys",
    Refusal.KEYS: "n_kv is 0 or above max_keys",
    Refusal.DIM: "dim is 0 or above max_dim",
    Refusal.VALUE_DIM: "value_dim is 0 or above max_dim",
    Refusal.Q_ROWS: "q_rows is 0 or above max_rows",
    Refusal.HEADS: f"heads is 0 or above {MAX_HEADS}",
    Refusal.GROUP: f"group is 0, above {MAX_GROUP}, or does not divide heads",
    Refusal.WINDOW: "window is 0",
    Refusal.POSITION: "q_position is beyond max_keys, above or below 0",
    Refusal.SCALE: f"scale_shift is above {SCALE_SHIFT_MAX}",
    Refusal.MISALIGNED: "an address or stride in use is no multiple of the memory word",
    Refusal.STRIDE: "a row stride is shorter than its row",
    Refusal.Q_MEMORY: "Q does not lie in memory",
    Refusal.K_MEMORY: "K does not lie in memory",
    Refusal.V_MEMORY: "V does not lie in memory",
    Refusal.O_MEMORY: "O does not lie in memory",
    Refusal.STATE_MEMORY: "(m, l) does not lie in memory",
    Refusal.SCRATCH_MEMORY: "the scratch area does not lie in memory",
    Refusal.OVERLAP: "O, (m, l) or the scratch area overlaps another operand",
    Refusal.BUSY: "start while busy; the run under way goes on",
}


def state_words(config: EngineConfig) -> int:
    """Memory words of one row's (m, l)."""
    return max(1, STATE_BYTES // config.word_bytes)


def extents(config: EngineConfig, job: Job, place: Layout) -> dict[str, tuple[int, int]]:
    """Words [first, end) of each operand in use: q, k, v, o, state, scratch."""

    def span(name, heads, rows, words):
        address, stride, head_stride = (
            getattr(place, f"{name}_{field}") // config.word_bytes for field in ("address", "stride", "head_stride")
        )
        return address, address + (heads - 1) * head_stride + (rows - 1) * stride + words

    spans = {
        "q": span("q", job.heads, job.n_q, config.words(job.dim)),
        "k": span("k", job.kv_heads, job.n_kv, config.words(job.dim)),
        "v": span("v", job.kv_heads, job.n_kv, config.words(job.value_dim)),
        "o": span("o", job.heads, job.n_q, config.output_words(job.value_dim)),
    }
    if job.state:
        spans["state"] = span("state", job.heads, job.n_q, state_words(config))
    if job.naive:
        first = place.scratch_address // config.word_bytes
        rows = -(-job.n_kv // config.array_keys) * job.q_rows
        spans["scratch"] = first, first + rows * config.scratch_row_words
    return spans


def refusal(config: EngineConfig, job: Job, place: Layout) -> Refusal:
    """What the engine says of a descriptor: NONE if it runs it."""
    for code, value, high in (
        (Refusal.QUERIES, job.n_q, config.max_keys),
        (Refusal.KEYS, job.n_kv, config.max_keys),
        (Refusal.DIM, job.dim, config.max_dim),
        (Refusal.VALUE_DIM, job.value_dim, config.max_dim),
        (Refusal.Q_ROWS, job.q_rows, config.max_rows),
        (Refusal.HEADS, job.heads, MAX_HEADS),
        (Refusal.GROUP, job.group, MAX_GROUP),
    ):
        if not 1 <= value <= high:
            return code
    if job.heads % job.group:
        return Refusal.GROUP
    if job.window == 0:
        return Refusal.WINDOW
    if abs(job.q_position) > config.max_keys:
        return Refusal.POSITION
    if job.scale_shift > SCALE_SHIFT_MAX:
        return Refusal.SCALE
    if any(value % config.word_bytes for value in used_fields(job, place).values()):
        return Refusal.MISALIGNED
    rows = row_bytes(config, job)
    if any(getattr(place, f"{name}_stride") < rows[name] for name in rows if name != "state" or job.state):
        return Refusal.STRIDE
    spans = extents(config, job, place)
    for name, (_, end) in spans.items():
        if end > config.memory_words:
            return Refusal[f"{name.upper()}_MEMORY"]
    written = [name for name in ("o", "state", "scratch") if name in spans]
    for index, name in enumerate(written):
        for other in ["q", "k", "v", *written[:index]]:
            if spans[name][0] < spans[other][1] and spans[other][0] < spans[name][1]:
                return Refusal.OVERLAP
    return Refusal.NONE


def used_fields(job: Job, place: Layout) -> dict[str, int]:
    """Addresses and strides that the run looks at."""
    skip = (() if job.state else ("state",)) + (() if job.naive else ("scratch",))
    return {name: value for name, value in vars(place).items() if not name.startswith(skip or ("-",))}


def row_bytes(config: EngineConfig, job: Job) -> dict[str, int]:
    """Bytes of memory that a row of each operand takes, padded to words."""
    words = {
        "q": config.words(job.dim),
        "k": config.words(job.dim),
        "v": config.words(job.value_dim),
        "o": config.output_words(job.value_dim),
        "state": state_words(config),
    }
    return {name: count * config.word_bytes for name, count in words.items()}


def pack(config: EngineConfig, job: Job) -> Layout:
    """Q, K, V, O and, where the run has them, (m, l) and scratch one after the other, whether they fit or not."""
    fields, address = {}, 0
    for name, stride in row_bytes(config, job).items():
        rows, heads = (job.n_kv, job.kv_heads) if name in "kv" else (job.n_q, job.heads)
        fields |= {f"{name}_address": address, f"{name}_stride": stride, f"{name}_head_stride": rows * stride}
        if name != "state" or job.state:
            address += heads * rows * stride
    return Layout(**fields, scratch_address=address)


def layout(config: EngineConfig, job: Job) -> Layout:
    """Pack a run's operands into memory, head after head.

    Raises:
        JobError: they do not fit.
    """
    place = pack(config, job)
    needed = config.word_bytes * max(end for _, end in extents(config, job, place).values())
    if needed > config.memory_bytes:
        raise JobError(
            f"memory of {config.name} is too small: the run needs {needed} bytes, "
            f"memory_bytes is {config.memory_bytes}; use a configuration with more memory or a shorter sequence"
        )
    return place
