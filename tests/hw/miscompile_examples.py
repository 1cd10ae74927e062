"""For each rule of tests.hw.miscompiles, a block that breaks it and converts wrong, and its remedy.

The blocks `wrong_*` and `right_*` of a pair, in miscompiled_values and miscompiled_structure, have ports of the same
shapes, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.hw import miscompiled_structure, miscompiled_values


@dataclass(frozen=True)
class Example:
    """The pair wrong_`name` and right_`name`.

    Attributes:
        shapes: bits of each port, negative where it is signed; names are those of the wrong block.
        refused: how the conversion or Icarus refuses the wrong block; None if it runs and gives other values.
    """

    rule: str
    name: str
    shapes: dict[str, int]
    refused: str | None = None

    @property
    def wrong(self) -> Callable:
        return _block(f"wrong_{self.name}")

    @property
    def right(self) -> Callable:
        return _block(f"right_{self.name}")


def _block(name: str) -> Callable:
    return getattr(miscompiled_values, name, None) or getattr(miscompiled_structure, name)


EXAMPLES = [
    Example("conditional", "conditional", {"a": -8, "b": 8, "n": 2, "y": -9}),
    Example("division", "division", {"a": -8, "y": -8}),
    Example("division", "remainder", {"a": -8, "y": 8}),
    Example("call", "call", {"a": 8, "b": 8, "y": 8}, "No function named `min'"),
    Example("invert", "invert", {"a": 8, "y": 16}),
    Example("width", "product", {"a": 8, "b": 8, "y": 8}),
    Example("width", "mean", {"a": 8, "b": 8, "y": 8}),
    Example("width", "carry", {"a": 8, "b": 8, "y": 1}),
    Example("width", "truth", {"a": 1, "b": 1, "y": 1}),
    Example("difference", "difference", {"a": 3, "b": 3, "y": 1}),
    Example("shift amount", "shift_amount", {"a": 8, "n": 2, "y": 8}),
    Example("mixed signs", "mixed_signs", {"a": -8, "b": 8, "y": -10}),
    Example("mixed signs", "mixed_comparison", {"a": -8, "b": 8, "y": 1}),
    Example("constant", "constant", {"wide": -40, "y": 1}),
    Example("part-select", "part_select", {"a": 8, "y": 4}, "not allowed in a constant expression"),
    Example("table", "table", {"a": 8, "n": 2, "y": 9}, "Unable to bind wire/reg/memory `TABLE"),
    Example("list slice", "list_slice", {"a": 8, "y": 4}),
    Example("list slice", "list_split", {"a": 8, "y": 4}),
    Example("slice list", "slice_list", {"a": 8, "y": 4}),
    Example("slice list", "slice_list_argument", {"a": 8, "y": 4}),
    Example("concat slice", "concat_slice", {"a": 8, "b": 8, "y": 8}, "has no attribute '_right'"),
    Example("initial value", "initial_value", {"reset": 1, "a": 8, "y": 8}),
    Example("keyword", "keyword", {"a": 8, "y": 8}, "syntax error"),
    Example("keyword", "keyword_argument", {"small": 8, "y": 8}, "syntax error"),
    Example("keyword", "keyword_in_process", {"a": 8, "y": 8}, "syntax error"),
    Example("keyword", "process_name", {"a": 8, "y": 8}, "syntax error"),
    Example("tree", "tree", {"tree": 8, "y": 8}, "multiple values for argument 'tree'"),
]
