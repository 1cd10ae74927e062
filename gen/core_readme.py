"""README of a generated core."""

from __future__ import annotations

import json

from gen.block_ports import flat_signals
from gen.verilog import Core
from golden.config import EngineConfig
from golden.layout import REFUSALS

PLAIN = {
    "clk": "clock; everything happens at its rising edge",
    "reset": "synchronous, active high; may come at any time",
    "start": "takes the descriptor and begins a run; ignored while busy",
    "busy": "high from the cycle after start until the last write is accepted",
}


def readme(config: EngineConfig, made: Core, flat: bool, vector_count: int, seed: int) -> str:
    """Markdown: what the core is, its modules, its ports, and how to use it."""
    option = " --flat" if flat else ""
    option += f" --vectors {vector_count} --seed {seed}" if vector_count else ""
    return f"""# FlashAttention tile engine `{config.name}`

softmax(Q Kᵀ · scale + mask) V for one head at a time. Written by `flashtile generate {config.name} -o DIR{option}`;
change the configuration and generate again rather than editing these files.

| parameter | value |
|---|---|
{_parameters(config)}

Top module: `engine` in `engine.v`; its files are in `filelist.f`, leaves first. `engine_system` in `engine_system.v`
(`filelist_system.f`) adds {config.memory_bytes // 1024} KiB of on-chip memory and a host port to it. Plain
Verilog-2005, one clock, no vendor primitives, no parameters, no files read at run time.

    verilator --lint-only -Wall --top-module engine -f filelist.f
    iverilog -g2005 -s engine -o engine.vvp -f filelist.f
    fusesoc --cores-root . run --target lint flashtile:engine:{config.name}

## Modules

{_outline(made)}

## Ports of `engine`

| port | | bits | meaning |
|---|---|---|---|
{_ports(made)}

Addresses and strides of the descriptor count bytes, those of the memory ports words of {config.word_bytes} bytes. A row
of Q, K and V begins on a word, its elements of {config.element_bits} bits one after the other. Outputs have 16 bits,
8 of them fraction bits, {_units(config)}.

One run: put the descriptor on its ports, raise `start` for a cycle while `busy` is low, wait until `busy` falls. The
descriptor need not stay. `status_done` then says that the run is complete, `status_refusal` if not why not, and
`counters_*` what the run took, until the next start.

| `status_refusal` | |
|---|---|
{_refusals()}
{_vectors(config, vector_count)}"""


def _parameters(config: EngineConfig) -> str:
    values = json.loads(config.to_json()).items()
    return "\n".join(f"| {name} | {'as array_keys' if value is None else value} |" for name, value in values)


def _units(config: EngineConfig) -> str:
    return "in units of one LSB of V" if config.element == "int8" else "Q8.8 as V is"


def _refusals() -> str:
    return "\n".join(f"| {int(refusal)} | {text} |" for refusal, text in REFUSALS.items())


def _outline(made: Core) -> str:
    lines = []
    for depth, name, count in made.outline:
        times = f" x {count}" if count > 1 else ""
        lines.append(f"    {'  ' * depth}{name}{times}")
    return "\n".join(lines)


def _ports(made: Core) -> str:
    meanings = dict(PLAIN)
    for name, value in made.top.arguments.items():
        meanings |= {f"{name}_{inner}": text for inner, text in getattr(value, "meanings", {}).items()}
    signals = flat_signals(made.top.arguments)
    rows = []
    for name, direction in made.top.directions.items():
        signal = signals[name]
        bits = f"{len(signal)}{', signed' if signal.min is not None and signal.min < 0 else ''}"
        rows.append(f"| `{name}` | {direction} | {bits} | {meanings[name]} |")
    return "\n".join(rows)


def _vectors(config: EngineConfig, count: int) -> str:
    if not count:
        return ""
    return f"""
## Test vectors

`vectors/NNN.json` gives the values of the ports `descriptor_*` and the counters that must be read afterwards;
`NNN_before.hex` the memory from word 0 on, one word of {config.word_bytes} bytes a line (`$readmemh`),
`NNN_after.hex` the same memory after the run. Every word must be equal. Bytes that hold no operand are 5a in both. The
counters `busy`, `compute` and `memory_stall` hold for the memory of `engine_system` with the given first-word latency;
the others for any.
"""
