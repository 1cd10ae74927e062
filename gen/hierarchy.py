"""One Verilog module per distinct block: a design elaborated block by block instead of flattened.

MyHDL's conversion flattens. Here each block is elaborated on its own, on fresh signals, and the blocks that it
instantiates are replaced by user-defined Verilog (MyHDL's `verilog_code`) that instantiates their modules. Two
instances share a module if function, parameters and port shapes are the same.

A block is a module if its docstring lists its ports. Other helpers, the wires and registers of `hw.signals` and
`hw.delay`, and blocks that take lists of signals, which Verilog ports cannot be, stay part of the block that uses them.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from myhdl import SignalType, ToVerilogWarning, toVerilog
from myhdl import _block as myhdl_block
from myhdl import _simulator as myhdl_state
from myhdl._extractHierarchy import _UserVerilogCode

from gen.block_ports import bound_arguments, flat_signals, fresh_arguments, is_bundle, is_list_of_signals, shape_key
from gen.module_names import module_names

MYHDL = "0.11.52"  # what this file knows the inside of
# Wires and registers: as modules they would be most of the files.
WIRING = "hw.signals", "hw.delay"
# Ports of bundles that a block does not need are left out of its module; edges of arrays lead nowhere.
HARMLESS = "Port is not used", "Output port is read internally", "Signal is driven but not read"

_ONE_AT_A_TIME = threading.Lock()


class GenerationError(RuntimeError):
    """Verilog that cannot be generated; one sentence."""


@dataclass
class Module:
    """A distinct block.

    function: the block function; arguments: by name, with fresh signals for those of its instances; key: what makes it
    distinct; design: the elaborated block; children: instances in it, in order; name: of the Verilog module; source:
    what MyHDL wrote; directions: "input" or "output" for each port that the block uses.
    """

    function: Callable
    arguments: dict[str, object]
    key: tuple
    design: object = None
    children: list[Instance] = field(default_factory=list)
    name: str = ""
    source: str = ""
    directions: dict[str, str] = field(default_factory=dict)


def modules(
    function: Callable,
    arguments: dict[str, object],
    name: str,
    flat: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Module]:
    """The modules of a design, leaves first, converted; the last one is the design itself under the given name.

    Args:
        function: a @block function. arguments: all of its arguments by name. flat: one module for all of it.
        progress: called with the modules done, and how many there are.

    Raises:
        GenerationError: another version of MyHDL is installed.
    """
    check_myhdl()
    # One at a time, since elaboration takes the place of a class of MyHDL's; in a thread of its own, since MyHDL
    # inspects the whole call stack for every block.
    with _ONE_AT_A_TIME, ThreadPoolExecutor(1) as pool:
        return pool.submit(_modules, function, arguments, name, flat, progress).result()


def closure(top: Module) -> list[Module]:
    """A module and all that it instantiates, leaves first."""
    ordered: dict[str, Module] = {}
    for child in top.children:
        ordered |= {module.name: module for module in closure(child.module)}
    return [*(ordered | {top.name: top}).values()]


def outline(module: Module, depth: int = 0, count: int = 1) -> list[tuple[int, str, int]]:
    """The tree of modules as lines: depth, module, and how often its parent instantiates it."""
    counts = Counter(child.module.name for child in module.children)
    below = {child.module.name: child.module for child in module.children}
    lines = [(depth, module.name, count)]
    for name, child in below.items():
        lines += outline(child, depth + 1, counts[name])
    return lines


def check_myhdl() -> None:
    """Raise GenerationError unless the MyHDL that this package was written for is installed."""
    found = metadata.version("myhdl")
    if found != MYHDL:
        raise GenerationError(
            f"Verilog is generated with MyHDL {MYHDL}, but {found} is installed; pip install myhdl=={MYHDL}"
        )


def reset_names() -> None:
    """Forget the instances of earlier designs: MyHDL numbers them across conversions."""
    myhdl_block._name_set.clear()
    myhdl_block._inst_name_set.clear()
    for decorator in myhdl_state._blocks:
        decorator.calls = 0


def _modules(function, arguments, name, flat, progress):
    found: dict[tuple, Module] = {}
    ordered: list[Module] = []

    def visit(module: Module) -> None:
        _elaborate(module, found, flat)
        for child in module.children:
            if child.module.design is None:
                visit(child.module)
        ordered.append(module)

    top = Module(function, fresh_arguments(arguments), shape_key(function, arguments))
    visit(top)
    names = module_names([(module.key[1], module.arguments) for module in ordered[:-1]], name)
    for module, own in zip(ordered, [*names, name], strict=True):
        module.name = own
    for done, module in enumerate(ordered):
        progress(done, len(ordered))
        _convert(module)
    return ordered


# ---- elaboration


class _Real(myhdl_block._Block):
    """A block whose inner blocks become instances of modules. Made in place of MyHDL's own class."""

    found: dict[tuple, Module] | None = None  # set while a module is elaborated
    flat = outermost = False

    def __new__(cls, function, decorator, *rest, **arguments):
        """Without an __init__ of its own: MyHDL counts the frames between a block and its constructor."""
        if _Real.flat or _Real.outermost:
            _Real.outermost = False
            return object.__new__(_Real)
        values = bound_arguments(function, rest[4:], arguments).values()
        own = "Ports:" in (function.__doc__ or "") and function.__module__ not in WIRING
        if own and not any(is_list_of_signals(value) for value in values):
            return object.__new__(Instance)
        return object.__new__(_Real)


class Instance(_Real):
    """An instance of a module. ports: the parent's signals by the names of the module's ports."""

    def __init__(self, function, decorator, name, srcfile, srcline, skipname, *positional, **named):
        arguments = bound_arguments(function, positional, named)
        key = shape_key(function, arguments)
        if key not in _Real.found:
            _Real.found[key] = Module(decorator, fresh_arguments(arguments), key)
        self.module = _Real.found[key]
        self.ports = flat_signals(arguments)
        self.func, self.args, self.kwargs = function, positional, named
        self.callinfo = myhdl_block._getCallInfo()
        self.modctxt, self.callername = self.callinfo.modctxt, self.callinfo.name
        self.name = self.__name__ = name
        self.subs, self.sigdict, self.memdict, self.symdict = [], {}, {}, {}
        self.verilog_code = self.vhdl_code = None


def _elaborate(module: Module, found: dict[tuple, Module], flat: bool) -> None:
    reset_names()
    original = myhdl_block._Block
    _Real.found, _Real.flat, _Real.outermost = found, flat, True
    myhdl_block._Block = _Real
    try:
        module.design = module.function(**module.arguments)
    finally:
        myhdl_block._Block, _Real.found = original, None
    for block in _real_blocks(module.design):
        block.sigdict = _named_signals(block)
        module.children += [sub for sub in block.subs if isinstance(sub, Instance)]


def _real_blocks(block):
    yield block
    for sub in block.subs:
        if isinstance(sub, _Real) and not isinstance(sub, Instance):
            yield from _real_blocks(sub)


def _named_signals(block) -> dict[str, object]:
    """Signals of a block by the names that they have in its source; x_0, x_1 ... for those of lists and loops.

    MyHDL itself looks at the first inner block only, and names what is defined later after ports of inner blocks.
    """
    found: dict[str, dict[int, object]] = {}
    for sub in block.subs:
        for name, value in sub.callinfo.symdict.items():
            if isinstance(value, SignalType):
                found.setdefault(name, {})[id(value)] = value
            elif is_list_of_signals(value):
                for index, signal in enumerate(value):
                    found.setdefault(f"{name}_{index}", {})[id(signal)] = signal
            elif is_bundle(value):
                for inner, signal in vars(value).items():
                    if isinstance(signal, SignalType):
                        found.setdefault(f"{name}_{inner}", {})[id(signal)] = signal
    named = flat_signals(bound_arguments(block.func, block.args, block.kwargs))
    seen = {id(signal) for signal in named.values()}
    for name, signals in found.items():
        new = [signal for key, signal in signals.items() if key not in seen]
        seen.update(map(id, new))
        for index, signal in enumerate(new):
            full = name if len(signals) == 1 else f"{name}_{index}"
            while full in named:
                full += "_"
            named[full] = signal
    return named


# ---- conversion


def _convert(module: Module) -> None:
    blocks = list(_real_blocks(module.design))
    taken = {name for block in blocks for name in block.sigdict}
    counts = Counter(child.func.__name__ for child in module.children)
    numbers = dict.fromkeys(counts, 0)
    for child in module.children:
        function = child.func.__name__
        name = function if counts[function] == 1 else f"{function}_{numbers[function]}"
        numbers[function] += 1
        while name in taken:
            name += "_"
        taken.add(name)
        _connect(child, name)
    with TemporaryDirectory(prefix="flashtile-") as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ToVerilogWarning)
        toVerilog.name, toVerilog.directory = module.name, folder
        toVerilog.no_testbench = toVerilog.no_myhdl_header = True
        toVerilog(module.design)
        module.source = (Path(folder) / f"{module.name}.v").read_text(encoding="utf-8")
    for warning in caught:
        if not str(warning.message).startswith(HARMLESS):
            raise GenerationError(f"block {module.function.func.__name__} cannot be converted: {warning.message}")
    module.directions = _directions(module)


def _connect(instance: Instance, name: str) -> None:
    """Give the instance its Verilog, and mark the parent's signals as driven and read by it."""
    ports = instance.module.directions
    for port, direction in ports.items():
        signal = instance.ports[port]
        signal._markUsed()
        if direction == "output":
            signal.driven = "wire"
        else:
            signal.read = True
    instance.sigdict = {port: instance.ports[port] for port in ports}
    connections = ",\n".join(f"    .{port}(${{{port}}})" for port in ports)
    code = f"{instance.module.name} {name} (\n{connections}\n);"
    instance.verilog_code = _UserVerilogCode(code, dict(instance.sigdict), name, instance.func, "", 0)


def _directions(module: Module) -> dict[str, str]:
    """Directions of the ports that the module needs, in the order of the block's arguments."""
    declared = {name: direction for direction, name in re.findall(r"^(input|output) .*?(\w+);$", module.source, re.M)}
    body = re.sub(r"^(input|output|//|    \w+,?$).*", "", module.source, flags=re.M)
    used = set(re.findall(r"\w+", body))
    return {name: declared[name] for name in flat_signals(module.arguments) if name in used}
