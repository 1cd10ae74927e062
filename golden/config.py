"""The engine configuration record and every width derived from it.

One frozen :class:`EngineConfig` is passed to the golden model, to the hardware blocks and to the tools; no
width, depth or latency is written down anywhere else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ELEMENT_BITS = {"int8": 8, "q8.8": 16}

# K, V and Q buffers on chip, in tiles (K, V) and blocks (Q). Eight V tiles cover the softmax latency even for blocks
# of four rows, and still fit the 512-word block RAM that two would occupy.
KEY_SLOTS = 4
VALUE_SLOTS = 8
QUERY_SLOTS = 2
SCRATCH_SLOTS = 2  # tiles of S or P that come back from memory, NAIVE schedule


def log2_ceil(value: int) -> int:
    """Smallest n with 2**n >= value."""
    return (value - 1).bit_length()


class ConfigError(ValueError):
    """A configuration that cannot be built; the message names the parameter, its value and the remedy."""


@dataclass(frozen=True)
class EngineConfig:
    """What is fixed when the engine is generated.

    Args:
        name: name of the configuration, a Verilog identifier.
        element: ``"int8"`` or ``"q8.8"``, the format of Q, K and V.
        array_depth: A, elements of an inner-product chunk (rows of the Q.K^T array, columns of the P.V array).
        array_keys: C, keys per tile (columns of the Q.K^T array, rows of the P.V array).
        word_bytes: width of the memory port.
        max_dim: largest head dimension and value dimension.
        max_rows: largest block of query rows, R.
        max_keys: largest number of queries and of keys.
        memory_bytes: size of the memory behind the port.
        softmax_lanes: scores of a row that are scaled and exponentiated a cycle, so that softmax takes a row every
            array_keys / softmax_lanes cycles; None for array_keys, a row a cycle.

    Raises:
        ConfigError: if a parameter is out of range.
    """

    name: str
    element: str
    array_depth: int
    array_keys: int
    word_bytes: int
    max_dim: int
    max_rows: int
    max_keys: int
    memory_bytes: int
    softmax_lanes: int | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.isidentifier() or not self.name.isascii():
            raise ConfigError(f"name must be a Verilog identifier such as 'tiny', not {self.name!r}")
        if len(self.name) > 64:
            raise ConfigError(f"name must have at most 64 letters, not {len(self.name)}")
        if not isinstance(self.element, str) or self.element not in ELEMENT_BITS:
            raise ConfigError(f"element must be one of {', '.join(ELEMENT_BITS)}, not {self.element!r}")
        for parameter, low, high in (
            ("array_depth", 1, 16),
            ("array_keys", 1, 16),
            ("word_bytes", 2, 16),
            ("max_dim", 1, 256),
            ("max_rows", 1, 64),
            ("max_keys", 16, 32768),
            ("memory_bytes", 256, 1 << 26),
            ("softmax_lanes", 1, 16),
        ):
            value = getattr(self, parameter)
            if parameter == "softmax_lanes" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError(f"{parameter} must be a whole number, not {value!r}")
            if not low <= value <= high:
                raise ConfigError(f"{parameter} must be between {low} and {high}, not {value}")
            if value & (value - 1):
                below = 1 << (value.bit_length() - 1)
                remedy = f"{below} or {2 * below}" if 2 * below <= high else f"{below}"
                raise ConfigError(f"{parameter} must be a power of two, such as {remedy}, not {value}")
        if self.max_dim < self.array_depth:
            raise ConfigError(f"max_dim must be at least array_depth ({self.array_depth}), not {self.max_dim}")
        if self.max_keys < self.array_keys:
            raise ConfigError(f"max_keys must be at least array_keys ({self.array_keys}), not {self.max_keys}")
        if self.softmax_units > self.array_keys:
            raise ConfigError(
                f"softmax_lanes must be at most array_keys ({self.array_keys}), not {self.softmax_lanes}"
            )

    # ---- elements and buffers

    @property
    def element_bits(self) -> int:
        return ELEMENT_BITS[self.element]

    @property
    def element_bytes(self) -> int:
        return self.element_bits // 8

    @property
    def word_bits(self) -> int:
        return 8 * self.word_bytes

    @property
    def memory_words(self) -> int:
        return self.memory_bytes // self.word_bytes

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one inner-product chunk (A elements)."""
        return self.array_depth * self.element_bytes

    @property
    def max_chunks(self) -> int:
        return self.max_dim // self.array_depth

    @property
    def row_words(self) -> int:
        """Memory words that hold a row of the largest dimension."""
        return -(-self.max_dim * self.element_bytes // self.word_bytes)

    @property
    def scratch_row_words(self) -> int:
        """Memory words of a tile's row of S or P: C values of two bytes."""
        return max(1, 2 * self.array_keys // self.word_bytes)

    @property
    def burst_words(self) -> int:
        """Memory words of the longest burst: a row of Q, K, V, S or P."""
        return max(self.row_words, self.scratch_row_words)

    @property
    def softmax_units(self) -> int:
        """Units of scale and of exp2."""
        return self.array_keys if self.softmax_lanes is None else self.softmax_lanes

    @property
    def row_cycles(self) -> int:
        """Cycles from one row to the next in the softmax row."""
        return self.array_keys // self.softmax_units

    @property
    def p_rows(self) -> int:
        """Probability rows buffered between softmax and P.V."""
        return 2 * self.max_rows

    @property
    def output_rows(self) -> int:
        """Finished row chunks that wait for the memory at most: a whole block."""
        return max(2, self.max_rows * self.max_chunks)

    def words(self, dim: int) -> int:
        """Memory words of one Q, K or V row of `dim` elements."""
        return -(-dim * self.element_bytes // self.word_bytes)

    def chunks(self, dim: int) -> int:
        """Inner-product chunks of `dim` elements."""
        return -(-dim // self.array_depth)

    def output_words(self, dim: int) -> int:
        """Memory words of one output row of `dim` 16-bit elements."""
        return -(-2 * dim // self.word_bytes)

    # ---- number formats (docs/numerics.md)

    @property
    def score_bits(self) -> int:
        """S, exact: s(2w + ceil(log2 d))."""
        return 2 * self.element_bits + log2_ceil(self.max_dim)

    @property
    def sum_bits(self) -> int:
        """l <= 2**16 * max_keys, unsigned."""
        return 17 + log2_ceil(self.max_keys)

    @property
    def accumulator_bits(self) -> int:
        """O accumulator: |O| <= 2**(w-1) * 2**16 * max_keys, signed."""
        return self.element_bits + 16 + log2_ceil(self.max_keys)

    # ---- files

    @classmethod
    def from_file(cls, path: str | Path) -> EngineConfig:
        """Read a configuration from a JSON object with exactly the fields of this class.

        Raises:
            ConfigError: unreadable file, no JSON object, or an unknown, missing or bad parameter.
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise ConfigError(f"cannot read configuration file {str(path)!r}: {reason}") from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"configuration file {str(path)!r} is not JSON: {error}") from None
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise ConfigError(f"configuration file {str(path)!r} must hold one JSON object, not a {kind}")
        known = [field.name for field in fields(cls)]
        optional = ("softmax_lanes",)
        for key in record:
            if key not in known:
                raise ConfigError(f"unknown parameter {key!r} in {str(path)!r}; known are {', '.join(known)}")
        for key in known:
            if key not in record and key not in optional:
                raise ConfigError(f"parameter {key!r} is missing in {str(path)!r}")
        try:
            return cls(**record)
        except ConfigError as error:
            raise ConfigError(f"{error} (in {str(path)!r})") from None

    def to_json(self) -> str:
        """The record as JSON text, readable by :meth:`from_file`."""
        return json.dumps(asdict(self), indent=2) + "\n"


_KIB = 1024
NAMED = {
    config.name: config
    for config in (
        EngineConfig("tiny", "int8", 4, 4, 4, 16, 32, 1024, 16 * _KIB),
        EngineConfig("base", "int8", 8, 8, 8, 64, 64, 4096, 256 * _KIB),
        EngineConfig("wide", "int8", 16, 16, 16, 128, 64, 4096, 1024 * _KIB),
        EngineConfig("q88", "q8.8", 4, 4, 4, 16, 32, 1024, 16 * _KIB),
        EngineConfig("lanes16", "q8.8", 1, 16, 4, 16, 32, 1024, 16 * _KIB),
    )
}


def load_config(name_or_file: str) -> EngineConfig:
    """A named configuration, or one read from a JSON file.

    Raises:
        ConfigError: neither a known name nor a usable file.
    """
    if not name_or_file:
        raise ConfigError(f"the configuration name is empty; choose one of {', '.join(NAMED)} or give a .json file")
    if name_or_file in NAMED:
        return NAMED[name_or_file]
    try:
        is_file = Path(name_or_file).suffix == ".json" or Path(name_or_file).exists()
    except OSError:  # a name too long for the file system
        is_file = False
    if is_file:
        return EngineConfig.from_file(name_or_file)
    raise ConfigError(f"unknown configuration {name_or_file!r}; choose one of {', '.join(NAMED)} or give a .json file")
