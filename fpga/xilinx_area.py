"""Area and depth of a design on an UltraScale+ device, by yosys: an estimate without Vivado.

    area(folder, sources, "zuboard")

yosys' `synth_xilinx -family xcup` maps the Verilog to LUTs, flip-flops, block RAM and DSP48E2; pads and clock buffers
are left out, since the top is part of a block design. Counted is what Vivado's utilisation report counts: distributed
RAM and shift registers take LUTs, an RAMB18E2 is half a block. yosys packs no registers into a DSP48E2, and Vivado
does: flip-flops are an upper bound.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from fpga.logic_levels import longest_paths

# LUTs of a distributed RAM, UG974.
RAM_LUTS = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4,
    "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8,
    "RAM64X8SW": 8,
}  # fmt: skip
# Delay of a wire for the mapper, abc9, in ps; synth_xilinx gives it 300. The mapper lets every path grow to the delay
# of the slowest, one of few levels and many carry cells: up to 16 levels. With a slow wire it saves levels first.
WIRE_PS = 2000
PATHS = 40  # of the longest that are kept
# Without wide functions, each of which is two or three levels and up to four LUTs.
SYNTH = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -nowidelut"


class AreaError(RuntimeError):
    """yosys failed; one sentence with the place of its log."""


def area(folder: Path, sources: Sequence[Path], top: str) -> dict:
    """Synthesise Verilog and measure it. Leaves yosys.log, netlist.json and memories.json in the folder.

    Args:
        folder: an existing folder. sources: Verilog files. top: name of the top module.

    Returns:
        lut: LUTs as logic, distributed RAM and shift registers together; lut_logic, lut_memory: parts of it; ff; latch;
        dsp: DSP48E2; bram36: in blocks of 36 Kbit; uram; carry: CARRY4 cells, two of which are one CARRY8; memories:
        name, words, bits a word and kind ("block", "distributed" or "registers") of each; paths: the longest ones, see
        fpga.logic_levels.Path, one for each register they end at, longest first.

    Raises:
        AreaError: yosys cannot read or map the sources.
    """
    _synthesise(folder, sources, top)
    module = json.loads((folder / "netlist.json").read_text())["modules"][top]
    counts: dict[str, int] = {}
    for cell in module["cells"].values():
        counts[cell["type"]] = counts.get(cell["type"], 0) + 1
    paths = [asdict(path) for path in longest_paths(module, PATHS)]
    return cell_counts(counts) | {"memories": _memories(folder), "paths": paths}


def cell_counts(cells: dict[str, int]) -> dict[str, float]:
    """Resources from numbers of cells by type, with the keys of :func:`area`.

    Raises:
        AreaError: a distributed RAM whose size is not known here.
    """

    def total(pattern: str) -> int:
        return sum(count for kind, count in cells.items() if re.fullmatch(pattern, kind))

    distributed = {kind: count for kind, count in cells.items() if kind.startswith("RAM") and "RAMB" not in kind}
    unknown = distributed.keys() - RAM_LUTS.keys()
    if unknown:
        raise AreaError(f"the LUTs of {min(unknown)} are not known; add them to RAM_LUTS in fpga/xilinx_area.py")
    logic = total(r"LUT[1-6]|INV")
    memory = sum(RAM_LUTS[kind] * count for kind, count in distributed.items()) + total(r"SRL(16E|C16E|C32E)")
    return {
        "lut": logic + memory,
        "lut_logic": logic,
        "lut_memory": memory,
        "ff": total(r"FD[RSCP]E(_1)?"),
        "latch": total(r"LD[CP]E"),
        "dsp": total("DSP48E2"),
        "bram36": total("RAMB36E2") + total("RAMB18E2") / 2,
        "uram": total("URAM288.*"),
        "carry": total("CARRY[48]"),
    }


def _synthesise(folder: Path, sources: Sequence[Path], top: str) -> None:
    passes = (
        f"read_verilog {' '.join(map(str, sources))}",
        f"{SYNTH} -top {top} -run begin:map_dsp",
        # No block reads a word in the cycle in which it is written (hw/ram.py).
        "setattr -set no_rw_check 1 m:*",
        f"{SYNTH} -top {top} -run map_dsp:map_memory",
        "select t:$mem_v2",
        f"write_json -selected {folder}/memories.json",
        "select -clear",
        f"scratchpad -set synth_xilinx.abc9.W {WIRE_PS}",
        f"{SYNTH} -top {top} -run map_memory:",
        f"write_json {folder}/netlist.json",
    )
    # In a process of its own: yosys prints from C++ and ends the process at an error.
    program = (
        "import sys; from pyosys import libyosys as ys; design = ys.Design(); "
        "[ys.run_pass(line, design) for line in sys.argv[1:]]"
    )
    log = folder / "yosys.log"
    with log.open("w") as output:
        done = subprocess.run([sys.executable, "-c", program, *passes], stdout=output, stderr=output)
    if done.returncode:
        last = next((line for line in log.read_text().splitlines() if line.startswith("ERROR")), "")
        raise AreaError(f"yosys could not synthesise {top}: {last or 'no message'}; see {log}")


def _memories(folder: Path) -> list[dict]:
    """The design's memories and what each was mapped to, largest first."""
    kinds = dict(re.findall(r"mapping memory \w+\.(\S+) via \$__XILINX_(\w+)", (folder / "yosys.log").read_text()))
    found = []
    for module in json.loads((folder / "memories.json").read_text())["modules"].values():
        for cell in module["cells"].values():
            if cell["type"] != "$mem_v2":
                continue
            name = cell["parameters"]["MEMID"].removeprefix("\\")
            kind = kinds.get(name, "registers")
            kind = "block" if kind.startswith("BLOCKRAM") else "distributed" if kind.startswith("LUTRAM") else kind
            size, width = (int(cell["parameters"][key], 2) for key in ("SIZE", "WIDTH"))
            found.append({"name": name, "words": size, "bits": width, "kind": kind})
    return sorted(found, key=lambda memory: (-memory["words"] * memory["bits"], memory["name"]))
