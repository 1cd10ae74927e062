"""Verilog expressions as MyHDL writes them: parsed, with widths and signs, and printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

TOKEN = re.compile(
    r"\s*(\d*'s?[bdh][0-9a-fA-F]+|\d+|\$?\w+|\+:|<<<|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*&|^~!<>?:(){}\[\],])"
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
                node = self.part(node, constant(text(first)), constant(text(last)))
            elif self.take("+:"):
                low, size = constant(text(first)), constant(text(self.ternary()))
                node = self.part(node, low + size - 1, low)
            else:
                name = f"{node.text}[{bare(text(first))}]"
                node = replace(node, text=name, base=name) if memory else Node("leaf", text=name, width=1)
                memory = False
            self.need("]")
        return node

    def part(self, node: Node, high: int, low: int) -> Node:
        """A part-select, or the whole if it is that."""
        if (high, low) == (node.width - 1, 0) and not node.signed:
            return node
        return Node("leaf", text=f"{node.text}[{high}:{low}]", width=high - low + 1)


def constant(expression: str) -> int:
    """A constant index, such as 32-1 or (34 + 1)-1."""
    assert re.fullmatch(r"[-+*() \d]+", expression), f"not a constant: {expression}"
    return int(eval(expression))  # digits and + - * ( ) only


def text(node: Node) -> str:
    """Verilog of an expression, operations in parentheses."""
    if node.op == "leaf":
        return node.text
    parts = [text(part) for part in node.operands]
    if node.op == "concat":
        return "{" + ", ".join(map(bare, parts)) + "}"
    if node.op == "repeat":
        return f"{{{parts[0]}{{{bare(parts[1])}}}}}"
    if node.op in ("$signed", "$unsigned"):
        return f"{node.op}({bare(parts[0])})"
    if node.op.startswith("unary"):
        return f"({node.op[-1]}{parts[0]})"
    if node.op == "!":
        return f"(!{parts[0]})"
    if node.op == "?":
        return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    return f"({parts[0]} {node.op} {parts[1]})"


def bare(expression: str) -> str:
    """Without the parentheses around the whole of it."""
    depth = 0
    if not expression.startswith("(") or not expression.endswith(")"):
        return expression
    for index, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0 and index < len(expression) - 1:
            return expression
    return expression[1:-1]
