"""The register map as the drivers use it: values by name to words and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gen.register_map import RegisterMap, register_map
from golden.config import NAMED
from golden.layout import REFUSALS, Refusal

# Values of status.error, see gen/flashtile.rdl.
ERRORS = {
    1: "a read was answered with SLVERR",
    2: "a read was answered with DECERR",
    3: "a write was answered with SLVERR",
    4: "a write was answered with DECERR",
    5: "it was reset",
}


@dataclass(frozen=True)
class RunState:
    """Register status.state: see gen/flashtile.rdl."""

    busy: bool
    done: bool
    interrupt: bool
    error: int
    refusal: int

    @classmethod
    def of(cls, word: int) -> RunState:
        """From the register's value."""
        fields = {name: _part(word, f"status.{name}") for name in ("busy", "done", "interrupt")}
        fields = {name: bool(value) for name, value in fields.items()}
        return cls(**fields, error=_part(word, "status.error"), refusal=_part(word, "status.refusal"))

    @property
    def trouble(self) -> str | None:
        """Why there was no complete run, as a clause, or None."""
        if self.refusal:
            known = self.refusal in Refusal._value2member_map_
            return f"the engine refused the run: {REFUSALS[Refusal(self.refusal)] if known else self.refusal}"
        if self.error:
            return f"the run was broken off: {ERRORS.get(self.error, self.error)}"
        return None if self.done else "the run did not start"


@cache
def host_map() -> RegisterMap:
    """Addresses and fields, the same for all configurations; with those registers that only boards with a bus have."""
    return register_map(NAMED["base"], bus_bits=64)


def field(name: str) -> tuple[int, int, int]:
    """Byte address, lowest bit and width of a signal such as "control.start"."""
    return host_map().field(name)


def address(name: str) -> int:
    """Byte address of a register, such as "control.start"."""
    return field(name)[0]


def bundle(name: str) -> tuple[int, int]:
    """Byte address of a bundle's first register, and how many registers it spans."""
    addresses = [address(signal) for signal in _signals(name)]
    return min(addresses), (max(addresses) - min(addresses)) // 4 + 1


def pack(name: str, values: dict[str, int]) -> tuple[int, list[int]]:
    """Byte address of a bundle's first register, and the words that give its signals these values."""
    first, count = bundle(name)
    words = [0] * count
    for signal, value in values.items():
        place, low, width = field(f"{name}.{signal}")
        words[(place - first) // 4] |= (int(value) & ((1 << width) - 1)) << low
    return first, words


def unpack(name: str, words: list[int]) -> dict[str, int]:
    """Signals of a bundle by name, from its words, the inverse of :func:`pack`; all unsigned."""
    first, _ = bundle(name)
    values = {}
    for signal in _signals(name):
        place, low, width = field(signal)
        values[signal.partition(".")[2]] = words[(place - first) // 4] >> low & ((1 << width) - 1)
    return values


@cache
def _signals(name: str) -> tuple[str, ...]:
    """Full names of a bundle's signals."""
    names = (part.name for register in host_map().registers for part in register.fields)
    return tuple(signal for signal in names if signal.startswith(f"{name}."))


def _part(word: int, signal: str) -> int:
    _, low, width = field(signal)
    return word >> low & ((1 << width) - 1)
