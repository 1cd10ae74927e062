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
from dataclasses import dataclass, replace

TOKEN = re.compile(
    r"\s*(\d*'s?[bdh][0-9a-fA-F]+|\d+|\$?\w+|\+:|<<<|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*&|^~!<>?:(){}\[\],])"
)
STATEMENT = re.compile(r"(\s*(?:assign )?)(\w+(?:\[[^=;]*?\])*) (<=|=) (.*);$")
CONDITION = re.compile(r"(\s*(?:\}? ?else )?if |\s*case )\((.*)\)( begin)?$")
DECLARATION = re.compile(
    r"\s*(?:input |output |inout )?\s*(?:wire|reg|integer|input|output)\b *(signed )?\s*(?:\[(.+?):0\] )?\s*(\w+)"
    r"( \[0:.*\])?[;,]?$"
)
BINARY = [("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>", "<<<", ">>>"),
          ("+", "-"), ("*",)]  # fmt: skip
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}
SHIFTS = {"<<", ">>", "<<<", ">>>"}


@dataclass(frozen=True)
class Shape:
    """A net or variable. words: it is a memory, and its words have this shape."""

    width: int
    signed: bool
    words: bool = False


@dataclass(frozen=True)
class Node:
    """Part of an expression: operator and operands, or text. width: self-determined, 0 for unsized literals.

    operands: nodes, for op "leaf" none; base: for leaves that name a net, the text to select bits from.
    """

    op: str
    operands: tuple[Node, ...] = ()
    text: str = ""
    width: int = 0
    signed: bool = False
    base: str = ""


def explicit_widths(source: str) -> str:
    """A module's source with every extension written out. Lines that are no plain statement stay as they are."""
    shapes, lines = declarations(source), []
    for line in source.splitlines():
        if statement := STATEMENT.match(line):
            start, target, arrow, right = statement.groups()
            left, value = parse(target, shapes), parse(right, shapes)
            width = max(left.width, value.width)
            line = f"{start}{text(left)} {arrow} {_bare(text(_fit(value, width, value.signed)))};"
        elif condition := CONDITION.match(line):
            start, tested, end = condition.groups()
            value = parse(tested, shapes)
            line = f"{start}({_bare(text(_fit(value, value.width, value.signed)))}){end or ''}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def declarations(source: str) -> dict[str, Shape]:
    """Shapes of the nets, variables and memories of a module, by name."""
    shapes = {}
    for line in source.splitlines():
        if (found := DECLARATION.match(line)) and not line.lstrip().startswith("integer"):
            signed, top, name, memory = found.groups()
            shapes[name] = Shape(1 if top is None else _constant(top) + 1, bool(signed), bool(memory))
        elif line.lstrip().startswith("integer"):
            shapes[line.split()[1].rstrip(";")] = Shape(32, True)
    return shapes


def _constant(expression: str) -> int:
    """A constant index, such as 32-1 or (34 + 1)-1."""
    assert re.fullmatch(r"[-+*() \d]+", expression), f"not a constant: {expression}"
    return int(eval(expression))  # digits and + - * ( ) only


# ---- parsing


def parse(expression: str, shapes: dict[str, Shape]) -> Node:
    """An expression as MyHDL writes them."""
    tokens, position = [], 0
    while position < len(expression.rstrip()):
        token = TOKEN.match(expression, position)
        assert token, f"cannot read Verilog expression: {expression}"
        tokens.append(token.group(1))
        position = token.end()
    parser = _Parser(tokens, shapes)
    node = parser.ternary()
    assert not parser.tokens, f"cannot read Verilog expression: {expression}"
    return node


class _Parser:
    """Recursive descent over a list of tokens, which it consumes."""

    def __init__(self, tokens: list[str], shapes: dict[str, Shape]):
        self.tokens, self.shapes = tokens, shapes

    def take(self, *wanted: str) -> str | None:
        """The next token if it is one of those wanted."""
        if self.tokens and self.tokens[0] in wanted:
            return self.tokens.pop(0)
        return None

    def need(self, token: str) -> None:
        found = self.take(token)
        assert found, f"{token} expected before {' '.join(self.tokens[:5])}"

    def ternary(self) -> Node:
        test = self.binary(0)
        if not self.take("?"):
            return test
        yes = self.ternary()
        self.need(":")
        no = self.ternary()
        return Node("?", (test, yes, no), width=max(yes.width, no.width), signed=yes.signed and no.signed)

    def binary(self, level: int) -> Node:
        if level == len(BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while op := self.take(*BINARY[level]):
            right = self.binary(level + 1)
            both = left.signed and right.signed
            if op in COMPARISONS or op in ("&&", "||"):
                left = Node(op, (left, right), width=1)
            elif op in SHIFTS:
                left = Node(op, (left, right), width=left.width, signed=left.signed)
            else:
                left = Node(op, (left, right), width=max(left.width, right.width), signed=both)
        return left

    def unary(self) -> Node:
        if op := self.take("-", "~"):
            operand = self.unary()
            return Node("unary" + op, (operand,), width=operand.width, signed=operand.signed)
        if self.take("!"):
            return Node("!", (self.unary(),), width=1)
        if self.take("("):
            inner = self.ternary()
            self.need(")")
            return inner
        if self.take("{"):
            return self.braces()
        return self.primary()

    def braces(self) -> Node:
        first = self.ternary()
        if self.take("{"):
            inner = self.ternary()
            self.need("}")
            self.need("}")
            return Node("repeat", (first, inner), width=int(first.text) * inner.width)
        parts = [first]
        while self.take(","):
            parts.append(self.ternary())
        self.need("}")
        return Node("concat", tuple(parts), width=sum(part.width for part in parts))

    def primary(self) -> Node:
        token = self.tokens.pop(0)
        if token in ("$signed", "$unsigned"):
            self.need("(")
            inner = self.ternary()
            self.need(")")
            return Node(token, (inner,), width=inner.width, signed=token == "$signed")
        if token[0].isdigit() or token[0] == "'":
            size, mark, _ = token.partition("'")
            return Node("leaf", text=token, width=int(size or 0) if mark else 0, signed=not mark)
        assert token in self.shapes, f"unknown name {token} before {self.tokens[:6]}"
        shape = self.shapes[token]
        node = Node("leaf", text=token, width=shape.width, signed=shape.signed, base=token)
        memory = shape.words
        while self.take("["):
            first = self.ternary()
            if self.take(":"):
                last = self.ternary()
                node = self.part(node, _constant(text(first)), _constant(text(last)))
            elif self.take("+:"):
                low, size = _constant(text(first)), _constant(text(self.ternary()))
                node = self.part(node, low + size - 1, low)
            else:
                name = f"{node.text}[{_bare(text(first))}]"
                node = replace(node, text=name, base=name) if memory else Node("leaf", text=name, width=1)
                memory = False
            self.need("]")
        return node

    def part(self, node: Node, high: int, low: int) -> Node:
        """A part-select, or the whole if it is that."""
        if (high, low) == (node.width - 1, 0) and not node.signed:
            return node
        return Node("leaf", text=f"{node.text}[{high}:{low}]", width=high - low + 1)


# ---- extension and printing


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
        return Node("leaf", text=f"{{{more}'d0, {_bare(text(node))}}}", width=width)
    if node.op != "leaf":
        return node  # its sign has no name; lint will ask for one
    return Node("leaf", text=f"$signed({{{_sign(node, more)}, {node.text}}})", width=width, signed=True)


def _sign(node: Node, count: int) -> str:
    """`count` copies of a leaf's top bit."""
    part = re.fullmatch(r"(.*)\[(\d+):\d+\]", node.text)
    top = f"{part[1]}[{part[2]}]" if part else f"{node.text}[{node.width - 1}]"
    return top if count == 1 else f"{{{count}{{{top}}}}}"


def text(node: Node) -> str:
    """Verilog of an expression, operations in parentheses."""
    if node.op == "leaf":
        return node.text
    parts = [text(part) for part in node.operands]
    if node.op == "concat":
        return "{" + ", ".join(map(_bare, parts)) + "}"
    if node.op == "repeat":
        return f"{{{parts[0]}{{{_bare(parts[1])}}}}}"
    if node.op in ("$signed", "$unsigned"):
        return f"{node.op}({_bare(parts[0])})"
    if node.op.startswith("unary"):
        return f"({node.op[-1]}{parts[0]})"
    if node.op == "!":
        return f"(!{parts[0]})"
    if node.op == "?":
        return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    return f"({parts[0]} {node.op} {parts[1]})"


def _bare(expression: str) -> str:
    """Without the parentheses around the whole of it."""
    depth = 0
    if not expression.startswith("(") or not expression.endswith(")"):
        return expression
    for index, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0 and index < len(expression) - 1:
            return expression
    return expression[1:-1]
