"""The text of a Verilog module: MyHDL's conversion of a block, laid out for people to read."""

from __future__ import annotations

import inspect
import re
from collections import Counter

from gen.explicit_widths import explicit_widths
from gen.hierarchy import Module

INDENT = "    "
SENSITIVITY = re.compile(r"^always @\((?!posedge|negedge)[^)]*\)")
RANGE = re.compile(r"\[(0|[-+() \d]+):([-+() \d]+)\]")


def module_text(module: Module) -> str:
    """The block's contract as a comment, ports with directions and widths, then MyHDL's text with explicit widths."""
    declared, body = _parts(explicit_widths(module.source))
    ports = _ports(module, declared)
    lines = [f"{INDENT}{line}" if line else "" for line in _unused_outputs_named(body)]
    return f"{_comment(module)}\nmodule {module.name} (\n{ports}\n);\n\n" + "\n".join(lines) + "\n\nendmodule\n"


def _comment(module: Module) -> str:
    function = module.function.func
    given = [f"{name} = {value}" for name, value in module.arguments.items() if isinstance(value, (int, str))]
    parameters = f" with {', '.join(given)}" if given else ""
    made = f"Written by flashtile from block {function.__name__} of {function.__module__}{parameters}."
    text = f"{inspect.cleandoc(function.__doc__)}\n\n{made}"
    return "\n".join(f"// {line}".rstrip() for line in text.splitlines())


def _parts(source: str) -> tuple[dict[str, tuple[str, str, str]], list[str]]:
    """Ports by name: direction, reg or wire, sign and range; and the lines of the body without them."""
    ports: dict[str, tuple[str, str, str]] = {}
    body: list[str] = []
    lines = iter(source.splitlines())
    for line in lines:
        if line == ");":
            break
    for line in lines:
        # MyHDL lists what a combinational process reads in the order of a set, another one in each process.
        line = RANGE.sub(_folded, SENSITIVITY.sub("always @(*)", line.rstrip()))
        found = re.fullmatch(r"(input|output|reg|wire) ((?:signed )?(?:\[\d+:0\] )?)(\w+);", line)
        if found and found[1] in ("input", "output"):
            ports[found[3]] = found[1], "wire", found[2]
        elif found and found[3] in ports:
            ports[found[3]] = "output", found[1], found[2]
        elif line == "endmodule":
            break
        elif not line.startswith("//") and (line or (body and body[-1])):
            body.append(line)
    while body and not body[-1]:
        body.pop()
    return ports, body


def _unused_outputs_named(body: list[str]) -> list[str]:
    """Nets on an instance's output that nothing reads, such as those at the edges of an array, named unused_*."""
    counts = Counter(re.findall(r"(?<![.\w])\w+", "\n".join(body)))
    connected = {found[1] for line in body if (found := re.fullmatch(r"    \.\w+\((\w+)\),?", line))}
    declared = {found[1] for line in body if (found := re.fullmatch(r"wire .*?(\w+);", line))}
    unused = {name for name in connected & declared if counts[name] == 2 and "unused" not in name}
    if not unused:
        return body
    names = re.compile(rf"(?<![.\w])({'|'.join(sorted(unused))})\b")
    return [names.sub(r"unused_\1", line) if names.search(line) else line for line in body]


def _folded(found: re.Match) -> str:
    """[32-1:0] as [31:0]."""
    return f"[{eval(found[1])}:{eval(found[2])}]"  # digits and + - ( ) only


def _ports(module: Module, declared: dict[str, tuple[str, str, str]]) -> str:
    """The port list; ports of bundles have their meaning beside them."""
    meanings = {
        f"{name}_{inner}": meaning
        for name, value in module.arguments.items()
        for inner, meaning in getattr(value, "meanings", {}).items()
    }
    lines = []
    for name in module.directions:
        direction, kind, shape = declared[name]
        comma = "" if name == list(module.directions)[-1] else ","
        line = f"{INDENT}{direction:6} {kind:4} {shape}{name}{comma}"
        lines.append(f"{line:<56} // {meanings[name]}" if name in meanings else line)
    return "\n".join(lines)
