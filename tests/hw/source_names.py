"""What the source of a block tells of its names: signed, unsigned, integer, list of slices, and so on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

SIGNALS = {"signed", "unsigned", "signal", "slice", "concat"}


def called(node) -> str | None:
    """Name of the function that a call calls."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


class Names:
    """Kinds of names, and the values of those that are integers."""

    def __init__(self, kinds, values, body=()):
        self.kinds, self.values = dict(kinds), dict(values)
        for node in body:
            if isinstance(node, ast.Assign):
                self.assign(node.targets[0], node.value)
            elif isinstance(node, ast.If | ast.For):
                if called(getattr(node, "iter", None)) == "range":
                    self.kinds[node.target.id] = "integer"
                inner = Names(self.kinds, self.values, [*node.body, *node.orelse])
                self.kinds, self.values = inner.kinds, inner.values

    def assign(self, target, value):
        if isinstance(target, ast.Tuple):
            part = getattr(value, "elt", ast.Subscript(value, ast.Constant(0)))  # of a generator, or of the value
            each = value.elts if isinstance(value, ast.Tuple) else [part] * len(target.elts)
            for inner, part in zip(target.elts, each, strict=False):
                self.assign(inner, part)
        elif isinstance(target, ast.Name):
            self.kinds[target.id], self.values[target.id] = self.kind(value), self.value(value)

    def kind(self, node) -> str | None:
        """signed, unsigned, signal (of unknown sign), integer, slice, concat, table; "... list"; None if unknown."""
        name = called(node)
        match node:
            case ast.Name():
                return self.kinds.get(node.id, "integer" if node.id.isupper() else None)
            case ast.Constant(value=int()):
                return "integer"
            case ast.Subscript(slice=ast.Slice()):  # intbv(0)[8:], and slices in processes
                return "unsigned"
            case ast.Subscript():
                kind = self.kind(node.value) or ""
                return kind.removesuffix(" list") if kind.endswith(" list") else "unsigned" if kind in SIGNALS else None
            case ast.List() | ast.ListComp():
                kind = self.kind(node.elts[0]) if getattr(node, "elts", 0) else self.kind(getattr(node, "elt", None))
                return f"{kind} list" if kind in SIGNALS else None
            case ast.Tuple():
                return "table"
            case ast.Call(func=ast.Attribute(attr="signed")):
                return "signed"
            case ast.Attribute():  # latency.ROW_LOOP, config.p_rows
                return "integer" if node.attr.isupper() or ast.unparse(node.value) == "config" else None
            case ast.BinOp() | ast.UnaryOp():
                kinds = {self.kind(leaf) for leaf in leaves(node)}
                return "integer" if kinds <= {"integer", None} else None
        if name == "int":  # nothing, in Verilog
            return self.kind(node.args[0])
        if name in ("unsigned", "bit"):
            return "unsigned"
        if name in ("Signal", "intbv") and node.args:
            lowest = next((key.value for key in node.keywords if key.arg == "min"), None)
            if isinstance(lowest, ast.UnaryOp):
                return "signed"
            return self.kind(node.args[0]) if isinstance(node.args[0], ast.Call | ast.Subscript) else "signal"
        if name and (self.kinds.get(name) in SIGNALS or self.kinds.get(name) == "argument"):
            return "slice"
        fixed = {"signed": "signed", "ConcatSignal": "concat", "split": "slice list", "tuple": "table"}
        return fixed.get(name, "integer" if name in ("len", "max", "min", "log2_ceil", "index_bits") else None)

    def value(self, node) -> int | None:
        """The integer that an expression of constants gives."""
        match node:
            case ast.Constant(value=int(value)):
                return int(value)
            case ast.Name():
                return self.values.get(node.id)
            case ast.UnaryOp(op=ast.USub()):
                value = self.value(node.operand)
                return None if value is None else -value
            case ast.BinOp():
                left, right = self.value(node.left), self.value(node.right)
                if left is not None and right is not None:
                    match node.op:
                        case ast.LShift():
                            return left << right
                        case ast.Add():
                            return left + right
                        case ast.Sub():
                            return left - right
        return None


def leaves(node) -> list[ast.AST]:
    """Operands that share the width of an expression: not those of a shift amount, a call or an index."""
    if isinstance(node, ast.BinOp):
        return leaves(node.left) + ([] if isinstance(node.op, ast.LShift | ast.RShift) else leaves(node.right))
    return leaves(node.operand) if isinstance(node, ast.UnaryOp) else [node]


def operations(node) -> Iterator[ast.AST]:
    """The operators between these operands."""
    if isinstance(node, ast.BinOp):
        yield node
        yield from operations(node.left)
        if not isinstance(node.op, ast.LShift | ast.RShift):
            yield from operations(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node
        yield from operations(node.operand)
