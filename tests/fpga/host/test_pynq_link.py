"""The link of PYNQ boards, with a stand-in for the package: cache, memory, and what can be missing."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from fpga.host import connect, pynq_link
from fpga.host.accelerator import Accelerator
from fpga.host.errors import DeviceError
from fpga.host.pynq_link import PynqLink
from golden.config import NAMED
from golden.job import Job
from golden.predict import predict
from tests.fpga.host.golden_board import GoldenBoard
from tests.fpga.host.golden_pynq import BASE, GoldenPynq

BOARD = replace(NAMED["base"], memory_bytes=1 << 18)


@pytest.fixture
def pynq():
    return GoldenPynq(GoldenBoard(BOARD, bus_bits=64))


def run(device, seed=0):
    rng = np.random.default_rng(seed)
    job = Job(9, 12, 20, 18, 40000, 22, 8, state=True)
    q, k, v = (rng.integers(-127, 128, shape) for shape in ((9, 20), (12, 20), (12, 18)))
    result = device.attention_raw(job, q, k, v)
    expected = predict(BOARD, job, q, k, v)
    assert (result.output[0] == expected.result.output).all()
    assert (result.state[:, 0] == np.stack([expected.result.maximum, expected.result.total])).all()


def test_runs_through_cache_and_base(pynq):
    with Accelerator(PynqLink("x.bit", pynq), "base") as device:
        assert device.config == BOARD and device.memory_bytes == BOARD.memory_bytes
        for seed in range(3):  # what one run left in the cache is not the next one's
            run(device, seed)
    assert [buffer.freed for buffer in pynq.buffers] == [1]
    device.close()
    assert [buffer.freed for buffer in pynq.buffers] == [1]
    with pytest.raises(DeviceError, match=r"^x\.bit has been closed; connect anew$"):
        run(device)


def test_the_package_itself(pynq, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    with connect("pynq:x.bit", "base") as device:
        run(device)
    with pytest.raises(DeviceError, match=r"^x\.bit has element int8, not the q8\.8 of q88"):
        connect("pynq:x.bit", "q88")
    assert [buffer.freed for buffer in pynq.buffers] == [1]  # refused before there was a second one
    with pytest.raises(DeviceError, match=r"^the target pynq: has no bitstream; give pynq:FILE\.bit$"):
        connect("pynq:")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(DeviceError, match=r"^the package pynq is missing \(.*\); run this on a board with a PYNQ"):
        connect("pynq:x.bit")


def test_less_memory_than_asked_for(pynq):
    pynq.largest = 100_000
    with Accelerator(PynqLink("x.bit", pynq)) as device:
        assert device.memory_bytes == 1 << 16
        q = np.ones((900, 64))
        assert device.attention(q, q, q).runs > 1
    assert Accelerator(PynqLink("x.bit", pynq, buffer_bytes=1 << 16)).memory_bytes == 1 << 16


def test_no_memory(pynq):
    pynq.largest = 1000
    with pytest.raises(DeviceError, match=r"^there are not even 65,536 bytes of contiguous memory \(Failed to all"):
        Accelerator(PynqLink("x.bit", pynq))


def test_a_buffer_between_pages(pynq, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    pynq.base = BASE + 64
    with pytest.raises(DeviceError, match=r"^the buffer lies at 0x840000040, which is no multiple of 4096"):
        connect("pynq:x.bit")
    assert [buffer.freed for buffer in pynq.buffers] == [1]  # what could not be used was given back


@pytest.mark.parametrize(
    "refusal, sentence",
    [
        (OSError("Bitstream file x.bit\ndoes not exist."), r"^cannot load x\.bit \(Bitstream file x.bit does not ex"),
        (ValueError("no hwh"), "with its .hwh file beside it, and run as root$"),
        (PermissionError("Root permissions required."), r"^PYNQ may not use the device \(Root permissions requ"),
    ],
)
def test_bitstreams_that_cannot_be_loaded(pynq, refusal, sentence):
    pynq.refusal = refusal
    with pytest.raises(DeviceError, match=sentence):
        PynqLink("x.bit", pynq)


def test_not_root(pynq):
    pynq.mmio_refusal = OSError("Root permissions required.")
    with pytest.raises(DeviceError, match=r"^PYNQ may not use the device .*; run as root, with PYNQ's environment$"):
        PynqLink("x.bit", pynq)


def test_other_bitstreams(pynq):
    pynq.cells = {"axi_dma_0": {"type": "xilinx.com:ip:axi_dma:7.1", "phys_addr": 0, "addr_range": 64}}
    with pytest.raises(DeviceError, match=r"^x\.bit holds no flashtile accelerator \(there is axi_dma_0\); give the"):
        PynqLink("x.bit", pynq)
    pynq.cells = {}
    with pytest.raises(DeviceError, match="there is nothing"):
        PynqLink("x.bit", pynq)
    other = GoldenPynq(GoldenBoard(BOARD, magic=0xFFFFFFFF, bus_bits=64))
    with pytest.raises(DeviceError, match=r"is no flashtile accelerator \(identity 0xFFFFFFFF"):
        Accelerator(PynqLink("x.bit", other))


def test_closing_ends_a_run_before_its_memory_is_given_back(pynq, monkeypatch):
    monkeypatch.setattr(pynq_link, "STOP_SECONDS", 0.1)
    for wedged, freed in ((False, 1), (True, 0)):
        device = Accelerator(PynqLink("x.bit", pynq))
        pynq.board.stuck, pynq.board.wedged = True, wedged
        pynq.board.start()
        device.close()
        assert pynq.board.busy == wedged and pynq.buffers[-1].freed == freed
