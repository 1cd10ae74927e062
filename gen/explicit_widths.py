"""Makes the implicit widths of MyHDL's Verilog explicit, without changing what it means.

Verilog extends a narrow operand to the width of its context by itself; lint tools warn, since that is also how bits
get lost. MyHDL leaves it to Verilog. Here each narrow operand is extended where it stands, by zeros or by its sign as
Verilog would (IEEE 1364-2005, 5.4 and 5.5):

    count <= count + step;          count <= count + {27'd0, step};

Nothing is ever narrowed: an expression wider than its target is left alone, and so is the sign of a whole expression,
for lint to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gen.verilog_expression import COMPARISONS, SHIFTS, Node, Shape, bare, constant, parse, text

STATEMENT = re.compile(r"(\s*(?:assign )?)(\w+(?:\[[^=;]*?\])*) (<=|=) (.*);$")
CONDITION = re.compile(r"(\s*(?:\}? ?else )?if |\s*case )\((.*)\)( begin)?$")
PROCESS = re.compile(r"(\s*)(?:always|initial)\b.* begin: \w+$")
DECLARATION = re.compile(
    r"\s*(?:input |output |inout )?\s*(?:wire|reg|integer|input|output)\b *(signed )?\s*(?:\[(.+?):0\] )?\s*(\w+)"
    r"( \[0:.*\])?[;,]?$"
)
def explicit_widths(source: str) -> str:
    """A module's source with every extension written out. Lines that are no plain statement stay as they are."""
    lines = []
    for line, shapes in _with_shapes(source.splitlines()):
        if statement := STATEMENT.match(line):
            start, target, arrow, right = statement.groups()
            left, value = parse(target, shapes), parse(right, shapes)
            width = max(left.width, value.width)
            line = f"{start}{text(left)} {arrow} {bare(text(_fit(value, width, value.signed)))};"
        elif condition := CONDITION.match(line):
            start, tested, end = condition.groups()
            value = parse(tested, shapes)
            line = f"{start}({bare(text(_fit(value, value.width, value.signed)))}){end or ''}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _with_shapes(lines: list[str]) -> Iterator[tuple[str, dict[str, Shape]]]:
    """Each line with the shapes of the names that it may use: those of the module, and its own process' variables.

    Processes of a flat module may have variables of one name and different shapes.
    """
    starts = {}
    for index, line in enumerate(lines):
        if found := PROCESS.match(line):
            ends = (later for later in range(index, len(lines)) if lines[later] == f"{found[1]}end")
            starts[index] = next(ends, len(lines))
    inside = {index for start, end in starts.items() for index in range(start, end)}
    module = declarations("\n".join(line for index, line in enumerate(lines) if index not in inside))
    shapes = module
    for index, line in enumerate(lines):
        if index in starts:
            shapes = module | declarations("\n".join(lines[index : starts[index]]))
        elif index not in inside:
            shapes = module
        yield line, shapes


def declarations(source: str) -> dict[str, Shape]:
    """Shapes of the nets, variables and memories of a module, by name."""
    shapes = {}
    for line in source.splitlines():
        if (found := DECLARATION.match(line)) and not line.lstrip().startswith("integer"):
            signed, top, name, memory = found.groups()
            shapes[name] = Shape(1 if top is None else constant(top) + 1, bool(signed), bool(memory))
        elif line.lstrip().startswith("integer"):
            shapes[line.split()[1].rstrip(";")] = Shape(32, True)
    return shapes


def _fit(node: Node, width: int, signed: bool) -> Node:
    """The node with its operands, or itself, extended to the width of its context and the context's signedness."""
    if node.op == "leaf" and node.width == 0:
        return node  # an unsized literal is as wide as it must be
    if node.op in COMPARISONS:
        left, right = node.operands
        wide, both = max(left.width, right.width), left.signed and right.signed
        node = replace(node, operands=(_fit(left, wide, both), _fit(right, wide, both)))
    elif node.op in ("&&", "||", "!"):
        node = replace(node, operands=tuple(_fit(part, part.width, part.signed) for part in node.operands))
    elif node.op == "*":
        # Its operands may be narrower than the product: that is no lost bit, and no tool warns.
        own = ("leaf", "$signed", "$unsigned", "concat")
        parts = (part if part.op in own else _fit(part, width, signed) for part in node.operands)
        return replace(node, operands=tuple(parts), width=width)
    elif node.op in SHIFTS:
        value, amount = node.operands
        amount = _fit(amount, amount.width, amount.signed)
        return replace(node, operands=(_fit(value, width, signed), amount), width=width)
    elif node.op == "?":
        test, yes, no = node.operands
        test = _fit(test, test.width, test.signed)
        return replace(node, operands=(test, _fit(yes, width, signed), _fit(no, width, signed)), width=width)
    elif node.op in ("+", "-", "&", "|", "^", "unary-", "unary~"):
        return replace(node, operands=tuple(_fit(part, width, signed) for part in node.operands), width=width)
    elif node.op == "concat":
        node = replace(node, operands=tuple(_fit(part, part.width, part.signed) for part in node.operands))
    elif node.op in ("$signed", "$unsigned"):
        return _fit_cast(node, width, signed)
    return _extended(node, width, signed)


def _fit_cast(node: Node, width: int, signed: bool) -> Node:
    (inner,) = node.operands
    if width > node.width and signed and inner.op == "concat" and inner.operands[0].text == "1'b0":
        zeros = Node("leaf", text=f"{width - node.width + 1}'d0", width=width - node.width + 1)
        inner = replace(inner, operands=(zeros, *inner.operands[1:]), width=width)
        return replace(node, operands=(inner,), width=width)
    if width > node.width and signed and inner.op in SHIFTS and inner.signed and inner.operands[0].op == "leaf":
        return replace(node, operands=(_fit(inner, width, True),), width=width)  # nothing overflows in a right shift
    node = replace(node, operands=(_fit(inner, inner.width, inner.signed),))
    if width > node.width and inner.op == "leaf" and inner.text:
        return _extended(replace(inner, signed=node.signed), width, signed)
    return _extended(node, width, signed)


def _extended(node: Node, width: int, signed: bool) -> Node:
    """A self-determined node as an operand of the given width."""
    more = width - node.width
    if more <= 0:
        return node
    if not (signed and node.signed):
        return Node("leaf", text=f"{{{more}'d0, {bare(text(node))}}}", width=width)
    if node.op != "leaf":
        return node  # its sign has no name; lint will ask for one
    return Node("leaf", text=f"$signed({{{_sign(node, more)}, {node.text}}})", width=width, signed=True)


def _sign(node: Node, count: int) -> str:
    """`count` copies of a leaf's top bit."""
    part = re.fullmatch(r"(.*)\[(\d+):\d+\]", node.text)
    top = f"{part[1]}[{part[2]}]" if part else f"{node.text}[{node.width - 1}]"
    return top if count == 1 else f"{{{count}{{{top}}}}}"
