"""Good runs of `zuboard` on a bus that is fast, slow, and slow in places; started by test_zuboard.py."""

import os
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from golden.config import load_config
from golden.layout import extents, layout
from golden.predict import predict
from tests.engine_runs import random_run
from tests.fpga.zuboard.board import BASE, Board, shifted

CONFIG = load_config(os.environ.get("FLASHTILE_CONFIG", "tiny"))
SMALL = {"n_q": 9, "n_kv": 21, "dim": 13, "value_dim": 11, "q_rows": 5, "state": True}
MODES = {
    "flash": {},
    "no_overlap": {"overlap": False},
    "causal": {"causal": True},
    "window": {"window": 6, "causal": True},
    "heads": {"heads": 4, "group": 2, "n_q": 4},
    "naive": {"naive": True},
}
CHANNELS = ("ar", "r", "aw", "w", "b", "all", "host")


def small(seed: int = 0, **fields):
    return random_run(CONFIG, rng=np.random.default_rng(seed), **(SMALL | fields))


def shares(channel: str) -> dict[str, float]:
    if channel == "all":
        return dict.fromkeys(("ar", "r", "aw", "w", "b"), 0.6)
    if channel == "host":
        return {f"host_{name}": 0.6 for name in ("ar", "r", "aw", "w", "b")}
    return {channel: 0.85}


async def board(dut, seed: int = 1) -> Board:
    made = Board(dut, CONFIG, seed=seed)
    await made.reset()
    return made


@cocotb.test()
@cocotb.parametrize(mode=list(MODES))
async def each_mode(dut, mode):
    """Without stalls; several bursts are under way each way."""
    host = await board(dut)
    run = small(**MODES[mode])
    await host.run(run)
    prediction = predict(CONFIG, run.job, run.q, run.k, run.v)
    for name in ("q_bytes", "o_bytes", "tiles"):
        assert await host.read(f"counters.{name}") == prediction.counters[name]
    assert min(host.monitor.depth) > 1


@cocotb.test()
@cocotb.parametrize(channel=CHANNELS)
async def each_channel_slowed(dut, channel):
    host = await board(dut)
    host.slow(**shares(channel))
    await host.run(small(1))


@cocotb.test()
@cocotb.parametrize(channel=["b", "aw", "w", "r", "all"])
async def naive_behind_a_slow_bus(dut, channel):
    """What it reads back has been written, however late the answers come: the monitor sees it, too."""
    host = await board(dut)
    host.slow(**shares(channel))
    await host.run(small(2, naive=True, n_q=6))


@cocotb.test()
@cocotb.parametrize(channel=["aw", "w", "b"])
async def naive_while_a_channel_stands_still(dut, channel):
    """So few scores that all of them fit on the way: none is read back before its write has been answered."""
    host = await board(dut)
    run = small(2, naive=True, n_q=2, q_rows=2, n_kv=20)
    host.channels[channel].pause = True
    image = await host.begin(run)
    await ClockCycles(dut.aclk, 500)
    first = BASE + layout(CONFIG, run.job).scratch_address
    assert not [address for address, _ in host.monitor.reads if address >= first]
    host.channels[channel].pause = False
    await host.check(run, image)


@cocotb.test()
async def operands_across_pages(dut):
    """Each operand in turn lies across a multiple of 4096, at other places of its rows and words."""
    host = await board(dut)
    run = small(3)
    place = layout(CONFIG, run.job)
    crossed = 0
    for number, (first, end) in enumerate(extents(CONFIG, run.job, place).values()):
        middle = (first + end) // 2 + number % 2
        offset = 4096 - middle * CONFIG.word_bytes
        await host.run(shifted(CONFIG, run, offset))
    for bursts in (host.monitor.reads, host.monitor.writes):
        crossed += sum((address + beats * CONFIG.word_bytes) % 4096 == 0 for address, beats in bursts)
    assert crossed > 3


@cocotb.test()
async def rows_that_end_on_any_byte(dut):
    """Nothing but the elements of a row is written; odd numbers of them, from one to more than a word."""
    host = await board(dut)
    for value_dim in range(1, min(CONFIG.word_bytes + 1, CONFIG.max_dim) + 1):
        dim = 1 + (5 * value_dim) % CONFIG.max_dim
        await host.run(small(value_dim, n_q=3, n_kv=5, dim=dim, value_dim=value_dim, q_rows=3))


@cocotb.test()
@cocotb.parametrize(slowed=[False, True])
async def bursts_of_one_beat(dut, slowed):
    """Rows of one word, with a gap between them: nothing can be joined."""
    host = await board(dut)
    if slowed:
        host.slow(**shares("all"))
    run = small(4, dim=min(3, CONFIG.max_dim), value_dim=2, state=False)
    place, word = layout(CONFIG, run.job), CONFIG.word_bytes
    fields = {f"{name}_stride": 3 * word for name in "qkvo"}
    fields |= {f"{name}_address": 1024 * index for index, name in enumerate("qkvo")}
    await host.run(replace(run, place=replace(place, **fields)))
    assert {beats for _, beats in host.monitor.reads + host.monitor.writes} == {1}


@cocotb.test()
async def runs_back_to_back(dut):
    """The next run begins with the write that follows the end of the one before; the last is as good as the first."""
    host = await board(dut)
    run = small(5)
    image = await host.begin(run)
    for _ in range(3):
        await host.ended()
        host.compare(run, image)
        host.load(run)
        await host.command("start", "clear_interrupt")
    await host.check(run, image)


@cocotb.test()
async def runs_of_all_kinds_after_each_other(dut):
    """With other stalls each time."""
    host = await board(dut)
    rng = np.random.default_rng(6)
    for number, mode in enumerate([*MODES] * 2):
        host.slow(**{name: float(rng.choice([0, 0.3, 0.9])) for name in ("ar", "r", "aw", "w", "b", "host_b")})
        n_q, n_kv, dim, value_dim = (int(value) for value in rng.integers(1, [12, 24, 17, 17]))
        sizes = {"n_q": n_q, "n_kv": max(n_kv, n_q), "dim": dim, "value_dim": value_dim, "q_rows": max(1, n_q // 2)}
        await host.run(small(10 + number, **(MODES[mode] | sizes)), 60_000)


