"""Finds MyHDL constructs that simulate right and convert wrong, in the source text of blocks.

Each rule has its reason and remedy in REMEDIES, and in miscompile_examples.py a block that breaks it and one that does
not. They were found by running every block in both backends, and hold for MyHDL 0.11.52.

The source is all that is looked at: a name's kind (signed, unsigned, integer, ...) is known where the block itself
makes it. Arguments may be anything; they count as signals, unless the file shows otherwise.

Not to be recognised here, so that only running every block in both backends finds it:

* mixed signs and lost bits across blocks, where the widths and signs belong to arguments;
* expressions of more bits than a signal or a constant of 32 bits in them, and the reverse: a result refused by `width`
  whose target happens to be wide enough;
* a slice of a list element behind a function, or a list of slices that a block takes apart on its way to a process.

A signal that nothing drives is unsigned in Verilog. MyHDL warns of it, and the tests make an error of the warning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tests.hw.source_names import SIGNALS, Names, called, leaves, operations
from tests.hw.verilog_keywords import KEYWORDS

REMEDIES = {
    "conditional": "if/else: in Verilog, both values of a conditional take the sign of one",
    "division": "shift or mask: Verilog rounds towards zero, Python down",
    "call": "if/else or multiplication: the call of a Python function goes to Verilog as it stands",
    "invert": "^ with a mask: Verilog extends to the context's width before it inverts",
    "width": "a local intbv or a signal for the inner result: Verilog drops what is wider than the context",
    "difference": "compare the sum (a < b + 1): a difference of an unsigned signal is never negative in Verilog",
    "shift amount": "a signal for the shift amount: in Verilog it is as wide as its widest operand",
    "mixed signs": "a signed signal or intbv for the unsigned part: only plain names get a sign extension",
    "constant": "compare or add shifted values: constants from 2**30 on are unsigned in Verilog, and make all so",
    "part-select": "a shift, or lanes of their own: the bounds of a slice are constant in Verilog",
    "table": "an assignment of its own, x.next = TABLE[int(i)], and no expression around it",
    "list slice": "slice a copy of the element, or inside the process: this one becomes the constant 0",
    "slice list": "copy the slices to signals: a list of slices becomes an array that nothing drives",
    "concat slice": "slice the parts, or inside the process: a slice of a ConcatSignal does not convert",
    "initial value": "start at 0, or set it in reset: the Verilog has no initial values",
    "initial_values": "leave it out: MyHDL keeps it for the conversions that follow",
    "keyword": "another name: this one is a keyword of Verilog or SystemVerilog",
    "tree": "another name: with an argument of this one, a block at the top does not convert",
}

PROCESS = {"always", "always_comb", "always_seq", "instance"}
# What takes a list of slices apart, or concatenates it, outside processes.
TAKES_SLICES = {"enumerate", "zip", "len", "list", "tuple", "reversed", "join", "any_of", "ConcatSignal"}
WIDENING = ast.Add | ast.Sub | ast.Mult | ast.LShift
UNSIGNED_FROM = 1 << 30


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    code: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: `{self.code}`. Remedy: {REMEDIES[self.rule]}"


def findings(source: str, path: str) -> list[Finding]:
    """What the rules refuse in a source text; `path` is for the messages."""
    module = ast.parse(source)
    found = list(everywhere(module))
    names = Names({}, {}, module.body)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and "block" in decorators(node):
            found += Block(node, names, module).findings()
    return sorted(
        {Finding(path, node.lineno, rule, shown(node)) for rule, node in found}, key=lambda finding: finding.line
    )


def shown(node) -> str:
    return f"def {node.name}" if isinstance(node, ast.FunctionDef) else ast.unparse(node)


def decorators(node: ast.FunctionDef) -> set[str]:
    calls = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return {ast.unparse(call).split(".")[-1] for call in calls}


def everywhere(module) -> Iterator[tuple[str, ast.AST]]:
    """Rules for any code, in a block or not."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            if any(key.arg == "initial_values" and getattr(key.value, "value", 1) for key in node.keywords):
                yield "initial_values", node
            if called(node) == "Signal" and node.args:
                start = node.args[0]
                start = start.value if isinstance(start, ast.Subscript) else start  # intbv(5)[8:]
                start = start.args[0] if isinstance(start, ast.Call) and start.args else start
                if isinstance(start, ast.Constant | ast.UnaryOp) and Names({}, {}).value(start):
                    yield "initial value", node


class Block:
    def __init__(self, node: ast.FunctionDef, outer: Names, module: ast.Module):
        self.node = node
        self.arguments = [arg.arg for arg in node.args.args + node.args.kwonlyargs]
        integers = self.integer_arguments(outer, module)
        arguments = {name: "integer" if name in integers else "argument" for name in self.arguments}
        self.names = Names(outer.kinds | arguments, outer.values, node.body)
        inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node]
        self.processes = [n for n in inner if decorators(n) & PROCESS]
        self.inside = {id(n) for process in self.processes for n in ast.walk(process)}

    def integer_arguments(self, outer, module):
        """Arguments that are numbers: used as such outside processes, or given one by a block of the same file."""
        found = set()
        for node in ast.walk(self.node):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
                found |= {n.id for n in (node.left, node.right) if isinstance(n, ast.Name)}
        for other in module.body:
            if isinstance(other, ast.FunctionDef) and other is not self.node:
                names = Names(outer.kinds, outer.values, other.body)
                for call in ast.walk(other):
                    if called(call) == self.node.name:
                        given = zip(self.arguments, call.args, strict=False)
                        found |= {name for name, value in given if names.kind(value) == "integer"}
        return found

    def findings(self) -> Iterator[tuple[str, ast.AST]]:
        yield from self.structure()
        for process in self.processes:
            names = Names(self.names.kinds, self.names.values, process.body)
            yield from Process(process, names).findings()

    def structure(self):
        """What a block makes and hands on, outside its processes."""
        kinds = self.names.kinds
        for argument in self.node.args.args + self.node.args.kwonlyargs:
            if argument.arg in KEYWORDS - {"config"}:  # the configuration is no signal
                yield "keyword", argument
            if argument.arg == "tree":
                yield "tree", argument
        for node in ast.walk(self.node):
            if id(node) in self.inside:
                continue
            stored = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
            if stored in KEYWORDS and (kinds.get(stored) or "").removesuffix(" list") in SIGNALS:
                yield "keyword", node
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Subscript):
                    yield "list slice", node
                if called(node) == "split" and isinstance(node.args[0], ast.Subscript):
                    yield "list slice", node
                if kinds.get(called(node)) == "concat":
                    yield "concat slice", node
                if called(node) and called(node) not in TAKES_SLICES:
                    for argument in node.args:
                        if self.names.kind(argument) == "slice list":
                            yield "slice list", argument


class Process:
    def __init__(self, node: ast.FunctionDef, names: Names):
        self.node, self.names = node, names

    def is_number(self, node):
        return self.names.kind(node) == "integer"

    def widening(self, node):
        """Operators whose result may be wider than their operands, signals among them."""
        for operation in operations(node):
            if isinstance(operation.op, WIDENING | ast.USub) and not all(map(self.is_number, leaves(operation))):
                yield operation

    def findings(self) -> Iterator[tuple[str, ast.AST]]:
        simple = all(isinstance(statement, ast.Assign) for statement in self.node.body)
        if self.node.name in KEYWORDS and not ("always_comb" in decorators(self.node) and simple):
            yield "keyword", self.node  # the label of its begin
        loops = {n.target.id for n in ast.walk(self.node) if isinstance(n, ast.For)}
        numbers = {id(inner) for n in ast.walk(self.node) if called(n) == "range" for inner in ast.walk(n)}
        whole = {id(n.value) for n in ast.walk(self.node) if isinstance(n, ast.Assign)}
        for statement in self.node.body:
            for node in ast.walk(statement):
                if id(node) not in numbers:
                    yield from self.syntax(node, loops, whole)
                    yield from self.arithmetic(node)

    def syntax(self, node, loops, whole):
        match node:
            case ast.IfExp():
                yield "conditional", node
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                yield "division", node
            case ast.Call(func=ast.Name(id="min" | "max" | "abs" | "pow")):
                yield "call", node
            case ast.UnaryOp(op=ast.Invert()):
                yield "invert", node
            case ast.Name(ctx=ast.Store()) if node.id in KEYWORDS:
                yield "keyword", node
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
                bounds = [n for bound in (lower, upper) if bound for n in ast.walk(bound)]
                if any(isinstance(n, ast.Name) and n.id in loops for n in bounds):
                    yield "part-select", node
            case ast.Subscript(ctx=ast.Load()):
                table = self.names.kind(node.value) == "table" or called(node.slice) == "int"
                if self.names.kind(node.value) == "slice list":
                    yield "slice list", node
                elif table and id(node) not in whole:
                    yield "table", node

    def arithmetic(self, node):
        match node:
            case ast.Assign() | ast.AugAssign():
                yield from self.shifted(node.value)
            case ast.Compare(left=left, comparators=[right]):
                yield from self.compared(node, left, right)
            case ast.If(test=test):
                yield from self.lost(test)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self.lost(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from self.lost(operand)
            case ast.BinOp(op=ast.LShift() | ast.RShift(), right=amount):
                if any(True for _ in self.lost(amount)):
                    yield "shift amount", node
            case ast.BinOp(left=left, right=right):
                yield from self.operands(node, left, right)

    def lost(self, *sides):
        """Bits above the width of the operands, in an expression whose width is that of its widest operand."""
        if not any(self.is_number(leaf) for side in sides for leaf in leaves(side)):
            for side in sides:
                yield from (("width", operation) for operation in self.widening(side))

    def shifted(self, value):
        """The same below a right shift, since the width of the target bounds it. Integers make it 32 bits."""
        number = any(self.is_number(leaf) for leaf in leaves(value))
        for shift in operations(value):
            if isinstance(shift.op, ast.RShift):
                for inner in self.widening(shift.left):
                    if isinstance(inner.op, ast.Mult) or not number:
                        yield "width", shift

    def compared(self, node, left, right):
        yield from self.lost(left, right)
        yield from self.operands(node, left, right)
        for side, other in ((left, right), (right, left)):
            signed = all(self.names.kind(leaf) in ("signed", "integer") for leaf in leaves(side))
            if signed or isinstance(node.ops[0], ast.Eq | ast.NotEq):
                continue
            # MyHDL signs the names of a difference compared with a number.
            negative = ast.USub if all(map(self.is_number, leaves(other))) else ast.USub | ast.Sub
            if any(isinstance(inner.op, negative) for inner in self.widening(side)):
                yield "difference", node

    def operands(self, node, left, right):
        """Two operands of one width and sign: of a sum, a product, a mask or a comparison."""
        kinds = {self.names.kind(leaf) for side in (left, right) for leaf in leaves(side)}
        variable = [any(not self.is_number(leaf) for leaf in leaves(side)) for side in (left, right)]
        compound = isinstance(left, ast.BinOp) or isinstance(right, ast.BinOp)
        if {"signed", "unsigned"} <= kinds and all(variable) and compound:
            yield "mixed signs", node
        for side, other in ((left, right), (right, left)):
            big = abs(self.names.value(side) or 0) >= UNSIGNED_FROM
            if big and any(self.names.kind(leaf) != "unsigned" for leaf in leaves(other) if not self.is_number(leaf)):
                masks = isinstance(getattr(node, "op", None), ast.BitAnd | ast.BitOr | ast.BitXor)
                if not masks or "signed" in kinds:
                    yield "constant", node
