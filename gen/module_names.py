"""Names of modules: the block's, and the fewest parameters and widths that tell it from its sisters."""

from __future__ import annotations

from myhdl import SignalType

Arguments = dict[str, object]


def module_names(blocks: list[tuple[str, Arguments]], top: str) -> list[str]:
    """A name for each (block's name, arguments); of several of one name, with what tells them apart."""
    groups: dict[str, list[Arguments]] = {}
    for name, arguments in blocks:
        groups.setdefault(name, []).append(arguments)
    assert top not in groups, f"a block is named {top} like the top module"
    suffixes = {name: iter(_suffixes(name, group)) for name, group in groups.items()}
    names = [name + next(suffixes[name]) for name, _ in blocks]
    assert len(set(names)) == len(names), "two modules of one name"
    return names


def _suffixes(block: str, group: list[Arguments]) -> list[str]:
    """The shortest labels that tell modules of one block apart: of the argument that splits them most, and so on."""
    names = sorted(group[0], key=lambda name: _rank([arguments[name] for arguments in group]))
    columns = [[_label(name, arguments[name]) for arguments in group] for name in names]
    suffixes = [""] * len(group)
    while len(set(suffixes)) < len(group):
        longer = [[old + new for old, new in zip(suffixes, column, strict=True)] for column in columns]
        best = max(longer, key=lambda labels: len(set(labels)))  # the first of the best
        assert len(set(best)) > len(set(suffixes)), f"modules of {block} cannot be told apart by name"
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
