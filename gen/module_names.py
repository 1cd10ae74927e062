"""Names of modules: the block's, and the fewest parameters and widths that tell it from its sisters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myhdl import SignalType

if TYPE_CHECKING:
    from gen.hierarchy import Module


def name_modules(all_modules: list[Module], top: str) -> None:
    """Name modules after their functions, and those of one function by the first arguments that tell them apart."""
    groups: dict[str, list[Module]] = {}
    for module in all_modules:
        groups.setdefault(module.key[1], []).append(module)
    assert top not in groups, f"a block is named {top} like the top module"
    for name, group in groups.items():
        for module, suffix in zip(group, _suffixes(group), strict=True):
            module.name = name + suffix
    assert len({module.name for module in all_modules}) == len(all_modules), "two modules of one name"


def _suffixes(group: list[Module]) -> list[str]:
    """The shortest labels that tell modules of one function apart: of the argument that splits them most, and so on."""
    names = sorted(group[0].arguments, key=lambda name: _rank([module.arguments[name] for module in group]))
    columns = [[_label(name, module.arguments[name]) for module in group] for name in names]
    suffixes = [""] * len(group)
    while len(set(suffixes)) < len(group):
        longer = [[old + new for old, new in zip(suffixes, column, strict=True)] for column in columns]
        best = max(longer, key=lambda labels: len(set(labels)))  # the first of the best
        assert len(set(best)) > len(set(suffixes)), f"modules of {group[0].key[1]} cannot be told apart by name"
        suffixes = best
    return suffixes


def _rank(values: list[object]) -> int:
    """Names tell more than numbers, parameters more than port widths."""
    if all(isinstance(value, str) for value in values):
        return 0
    return 2 if any(isinstance(value, SignalType) for value in values) else 1


def _label(name: str, value) -> str:
    if isinstance(value, SignalType):
        signed = "s" if value.min is not None and value.min < 0 else ""
        return f"_{name}" if isinstance(value._init, bool) else f"_{name}{len(value)}{signed}"
    if value is None:
        return f"_no_{name}"
    if isinstance(value, str):
        return f"_{value}"
    return f"_{name}{value}" if isinstance(value, int) else ""
