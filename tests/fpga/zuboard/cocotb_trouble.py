"""`zuboard` when things go wrong: errors on the bus, resets, starts at the wrong time; started by test_zuboard.py."""

import os
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiResp

from golden.config import load_config
from golden.layout import Refusal, layout, refusal
from tests.engine_runs import random_run
from tests.fpga.zuboard.board import BASE, Board

CONFIG = load_config(os.environ.get("FLASHTILE_CONFIG", "tiny"))
SIZES = {"n_q": 9, "n_kv": 21, "dim": 13, "value_dim": 11, "q_rows": 5, "state": True}
ERRORS = {("r", "SLVERR"): 1, ("r", "DECERR"): 2, ("b", "SLVERR"): 3, ("b", "DECERR"): 4}
SOFT_RESET = 5
STALLS = {"ar": 0.5, "r": 0.5, "aw": 0.5, "w": 0.5, "b": 0.5}


def small(seed: int = 0, **fields):
    return random_run(CONFIG, rng=np.random.default_rng(seed), **(SIZES | fields))


async def board(dut, **stalls) -> Board:
    made = Board(dut, CONFIG)
    made.slow(**stalls)
    await made.reset()
    return made


async def broken_off(host: Board, error: int) -> None:
    """The run ends with an error and an interrupt, and all that the bus owes or is owed has been settled."""
    await host.ended()
    assert host.monitor.unanswered == (0, 0, 0)
    assert host.outcome() == {"done": 0, "error": error, "refusal": 0, "interrupt": 1}
    assert await host.read("status.error") == error
    assert host.dut.interrupt.value == 1
    seen = len(host.monitor.reads), len(host.monitor.writes)
    await ClockCycles(host.dut.aclk, 30)
    assert (len(host.monitor.reads), len(host.monitor.writes)) == seen
    await host.command("clear_interrupt")
    await ClockCycles(host.dut.aclk, 4)
    assert host.dut.interrupt.value == 0


@cocotb.test()
@cocotb.parametrize(channel=["r", "b"], response=["SLVERR", "DECERR"], slowed=[False, True])
async def an_error_ends_the_run(dut, channel, response, slowed):
    """At the first, some middle and the last answer; the next run is good."""
    host = await board(dut, **(STALLS if slowed else {}))
    run = small(1)
    await host.run(run)
    await host.command("clear_interrupt")
    answers = host.monitor.beats[0] if channel == "r" else len(host.monitor.writes)
    for number in (0, answers // 2, answers - 1) if not slowed else (answers // 3,):
        host.answer(channel, number, AxiResp[response])
        await host.begin(run)
        await broken_off(host, ERRORS[channel, response])
        await host.run(run)
        await host.command("clear_interrupt")


@cocotb.test()
async def an_error_in_a_naive_run(dut):
    host = await board(dut)
    run = small(2, naive=True)
    for channel in ("r", "b"):
        host.answer(channel, 30, AxiResp.SLVERR)
        await host.begin(run)
        await broken_off(host, ERRORS[channel, "SLVERR"])
    await host.run(run)


@cocotb.test()
@cocotb.parametrize(slowed=[False, True])
async def a_soft_reset_settles_the_bus(dut, slowed):
    """In the middle of reads, of writes, and of both; the monitor counts what is still owed when busy falls."""
    host = await board(dut, **(STALLS if slowed else {}))
    run = small(3)
    for kind, beats in ((0, 1), (0, 17), (1, 1), (1, 6), (0, 60), (1, 20)):
        image, before = await host.begin(run), host.monitor.beats[kind]
        while host.monitor.beats[kind] < before + beats:
            await RisingEdge(dut.aclk)
        await host.command("soft_reset")
        await broken_off(host, SOFT_RESET)
        assert len(image)
    host.slow()
    await host.run(run)


@cocotb.test()
async def a_soft_reset_while_a_channel_stands_still(dut):
    """Whatever the bus has seen stays until it is taken; what it has not seen never comes."""
    host = await board(dut)
    run = small(4)
    for channel in ("ar", "r", "aw", "w", "b"):
        await host.begin(run)
        while host.monitor.beats[0] < 20 and channel in ("ar", "r"):
            await RisingEdge(dut.aclk)
        while not host.monitor.beats[1] and channel in ("aw", "w", "b"):
            await RisingEdge(dut.aclk)
        host.channels[channel].pause = True
        await ClockCycles(dut.aclk, 60)
        await host.command("soft_reset")
        await ClockCycles(dut.aclk, 4)
        seen = len(host.monitor.reads), len(host.monitor.writes)
        await ClockCycles(dut.aclk, 56)
        owed = host.monitor.unanswered
        assert (await host.read("status.busy")) == (owed != (0, 0, 0))
        host.channels[channel].pause = False
        await broken_off(host, SOFT_RESET)
        assert (len(host.monitor.reads), len(host.monitor.writes)) == seen
        host.monitor.beats[:] = 0, 0
    await host.run(run)


@cocotb.test()
async def a_soft_reset_while_idle(dut):
    """Clears the status of the last run; there is no run to end, so no interrupt."""
    host = await board(dut)
    run = small(5)
    await host.run(run)
    await host.command("clear_interrupt", "soft_reset")
    await host.ended()
    assert host.outcome() == {"done": 0, "error": 0, "refusal": 0, "interrupt": 0}
    await host.run(run)


@cocotb.test()
@cocotb.parametrize(stalls=[False, True])
async def reset_in_the_middle(dut, stalls):
    """aresetn of master and memory, at any moment and for any time; it clears the registers, too."""
    host = await board(dut, **(STALLS if stalls else {}))
    run = small(6)
    for number, cycles in enumerate((1, 2, 5, 30)):
        await host.begin(run)
        await ClockCycles(dut.aclk, 20 + 45 * number)
        await host.reset(cycles + 3)
        assert host.outcome() == {"done": 0, "error": 0, "refusal": 0, "interrupt": 0}
        assert await host.read("descriptor.n_q") == 0
    await host.run(run)


@cocotb.test()
async def a_start_while_busy_is_refused(dut):
    """The run under way goes on to its end, whatever the host writes into the descriptor or the base meanwhile."""
    host = await board(dut)
    run = small(7)
    image = await host.begin(run)
    await host.write("descriptor.n_q", 1)
    await host.write("descriptor.o_address", 0)
    await host.write("control.memory_base_low", 0x4000)
    await host.command("start")
    assert await host.read("status.refusal") == Refusal.BUSY and await host.read("status.busy")
    await host.ended()
    assert host.outcome() == {"done": 1, "error": 0, "refusal": Refusal.BUSY, "interrupt": 1}
    host.compare(run, image)
    await host.write("control.memory_base_low", BASE & 0xFFFFFFFF)
    await host.describe(run)
    await host.run(run)


@cocotb.test()
async def a_refused_descriptor_ends_the_run(dut):
    """With its reason and an interrupt, before anything is read or written."""
    host = await board(dut)
    run = small(8)
    place = layout(CONFIG, run.job)
    for bad in (
        replace(run, job=replace(run.job, n_q=0)),
        replace(run, job=replace(run.job, dim=CONFIG.max_dim + 1)),
        replace(run, place=replace(place, o_address=place.v_address)),
        replace(run, place=replace(place, q_address=place.q_address + 1)),
    ):
        seen = len(host.monitor.reads)
        await host.describe(bad)
        await host.command("start", "clear_interrupt")
        await host.ended()
        reason = refusal(CONFIG, bad.job, bad.place or place)
        assert reason and host.outcome() == {"done": 0, "error": 0, "refusal": reason, "interrupt": 1}
        assert len(host.monitor.reads) == seen
    await host.run(run)


@cocotb.test()
async def the_interrupt_line(dut):
    """Follows the status while enabled, until the status is cleared; a new end sets it again."""
    host = await board(dut)
    run = small(9)
    for _ in range(2):
        await host.write("control.interrupt_enable", 0)
        await host.run(run)
        assert await host.read("status.interrupt") == 1 and dut.interrupt.value == 0
        await host.write("control.interrupt_enable", 1)
        await ClockCycles(dut.aclk, 4)
        assert dut.interrupt.value == 1
        await host.command("clear_interrupt")
        await ClockCycles(dut.aclk, 4)
        assert await host.read("status.interrupt") == 0 and dut.interrupt.value == 0
        assert await host.read("status.done") == 1


@cocotb.test()
async def a_base_that_the_bus_does_not_have(dut):
    """Nothing is read: error 2, as if nobody had decoded the address."""
    host = await board(dut)
    run = small(10)
    for name, value in (("low", 0x4010), ("low", 0x800), ("high", 0x100)):
        good = {"low": BASE & 0xFFFFFFFF, "high": BASE >> 32}[name]
        await host.write(f"control.memory_base_{name}", value)
        await host.begin(run)
        await broken_off(host, ERRORS["r", "DECERR"])
        assert not host.monitor.reads
        await host.write(f"control.memory_base_{name}", good)
    await host.run(run)


@cocotb.test()
async def registers_and_what_is_none(dut):
    """Byte strobes; constants; SLVERR beyond the register space."""
    host = await board(dut)
    assert await host.read("identity.magic") == 0x464C5348
    assert await host.read("configuration.word_bytes") == CONFIG.word_bytes
    assert await host.read("identity.bus_bits") == CONFIG.word_bits
    address = host.registers.address("descriptor.n_kv")
    await host.host.write_dword(address, 0x11223344)
    await host.host.write(address + 1, b"\xaa")
    await host.host.write(address + 2, b"\xbb\xcc")
    assert await host.host.read_dword(address) == 0xCCBBAA44
    assert bytes((await host.host.read(address + 1, 3)).data) == b"\xaa\xbb\xcc"
    assert bytes((await host.host.read(address + 2, 1)).data) == b"\xbb"
    for outside in (0x200, 0x200 + address, 0x800, 0xFFC):
        assert (await host.host.write(outside, b"\x01\x00\x00\x00")).resp == AxiResp.SLVERR
        answer = await host.host.read(outside, 4)
        assert answer.resp == AxiResp.SLVERR and bytes(answer.data) == bytes(4)
    assert await host.host.read_dword(address) == 0xCCBBAA44
    answer = await host.host.read(0x1F8, 4)
    assert answer.resp == AxiResp.OKAY and bytes(answer.data) == bytes(4)
