"""Synthesis for the ECP5: the script for yosys, and what it found."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

CELLS = ("LUT4", "CCU2C", "TRELLIS_FF", "MULT18X18D", "DP16KD", "TRELLIS_DPR16X4")
LOGIC_PS = 3000  # of a path, for logic without wires: what the mapper aims at


def synthesis_script(top: str, sources: list[str], soft_multipliers: Iterable[str] = ()) -> str:
    """Plain yosys commands, one a line, which are Tcl, too. They leave top.json and memories.txt.

    -no-rw-check: no block depends on reading and writing one address in a cycle, and without it yosys builds the logic
    for that around every block RAM.

    Args:
        top: the module to begin with. sources: Verilog files.
        soft_multipliers: modules (yosys patterns, such as pe_psum_out1*) whose multipliers become LUTs.
    """
    synth = f"synth_ecp5 -no-rw-check -top {top}"
    # The name under which synth_ecp5 itself sets aside what is no multiplier block.
    soft = [f"chtype -set \\$__soft_mul {pattern}/t:\\$mul" for pattern in soft_multipliers]
    return "\n".join(
        (
            "yosys -import",
            *(f"read_verilog {name}" for name in sources),
            f"{synth} -run begin:coarse",
            *(["procs", "wreduce t:\\$mul", *soft] if soft else []),
            # Without an aim, paths that are shorter than the longest are made fast with wide functions: more LUTs.
            f"scratchpad -set abc9.D {LOGIC_PS}",
            f"{synth} -run coarse:map_ram",
            "select -assert-none t:\\$dlatch t:\\$adlatch t:\\$dlatchsr",
            "dump -o memories.txt t:\\$mem_v2",
            f"{synth} -run map_ram: -json {top}.json",
            "",
        )
    )


def cells_of(place: Path, top: str) -> dict[str, int]:
    """Cells of a netlist by type, those of CELLS."""
    netlist = json.loads((place / f"{top}.json").read_text(encoding="utf-8"))
    found = Counter(cell["type"] for cell in netlist["modules"][top]["cells"].values())
    return {name: found[name] for name in CELLS}


def memories_of(place: Path) -> dict[str, dict]:
    """Words, width and the primitive of every memory of a finished synthesis, by name."""
    sizes = {}
    for cell in re.split(r"(?=^\s*cell )", (place / "memories.txt").read_text(encoding="utf-8"), flags=re.M):
        values = dict(re.findall(r"parameter (?:signed )?\\(MEMID|SIZE|WIDTH) (\S+)", cell))
        if values:
            sizes[values["MEMID"].strip('"').lstrip("\\")] = int(values["SIZE"]), int(values["WIDTH"])
    log = (place / "yosys.log").read_text(encoding="utf-8")
    mapped = re.findall(r"^mapping memory (\S+) via (\S+)$", log, re.M)
    primitives = {name.partition(".")[2]: primitive for name, primitive in mapped}
    return {
        name: {"words": words, "bits": bits, "in": primitives.get(name, "flip-flops")}
        for name, (words, bits) in sizes.items()
    }
