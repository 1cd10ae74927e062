"""Cycles that runs of `zuboard` take on a memory of one latency; started by test_zuboard.py."""

import json
import os
from pathlib import Path

import cocotb
import numpy as np

from golden.config import load_config
from golden.cycles import cycles
from tests.engine_runs import random_run
from tests.fpga.zuboard.board import Board

CONFIG = load_config(os.environ.get("FLASHTILE_CONFIG", "tiny"))
LATENCY = 30
RUNS = {
    "tiny": {
        "n32_d4": {"n_q": 32, "n_kv": 32, "dim": 4, "value_dim": 4, "q_rows": 16},
        "n32_d4_q_rows_4": {"n_q": 32, "n_kv": 32, "dim": 4, "value_dim": 4, "q_rows": 4},
        "n32_d16": {"n_q": 32, "n_kv": 32, "dim": 16, "value_dim": 16, "q_rows": 16},
        "n16_naive": {"n_q": 16, "n_kv": 16, "dim": 4, "value_dim": 4, "q_rows": 16, "naive": True},
        "decode_64": {"n_q": 1, "n_kv": 64, "dim": 16, "value_dim": 16, "q_rows": 1},
    },
    "base": {
        "n128_d64": {"n_q": 128, "n_kv": 128, "dim": 64, "value_dim": 64, "q_rows": 28},
        "decode_512": {"n_q": 1, "n_kv": 512, "dim": 64, "value_dim": 64, "q_rows": 1},
        "n64_d32_naive": {"n_q": 64, "n_kv": 64, "dim": 32, "value_dim": 32, "q_rows": 32, "naive": True},
    },
}


@cocotb.test()
async def busy_cycles(dut):
    """Write busy cycles, the cycle model's beside them, and bursts into the file that FLASHTILE_RESULT names."""
    board = Board(dut, CONFIG, latency=LATENCY)
    await board.reset()
    found = {}
    for name, fields in RUNS["tiny" if CONFIG.array_keys < 8 else "base"].items():
        run = random_run(CONFIG, rng=np.random.default_rng(0), latency=LATENCY, **fields)
        board.monitor.reads.clear()
        board.monitor.writes.clear()
        await board.run(run, 200_000)
        found[name] = {
            "busy": await board.read("counters.busy"),
            "model": cycles(CONFIG, run.job).busy,
            "read bursts": len(board.monitor.reads),
            "longest": max(beats for _, beats in board.monitor.reads),
            "write bursts": len(board.monitor.writes),
        }
    Path(os.environ["FLASHTILE_RESULT"]).write_text(json.dumps(found))
