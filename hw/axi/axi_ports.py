"""Bundles of AXI signals, with the names that tools infer interfaces from: s_axi.awaddr becomes s_axi_awaddr."""

from typing import ClassVar

from golden.config import EngineConfig
from hw.ports import Bundle
from hw.signals import bit, unsigned

ADDRESS_BITS = 40  # of the bus; physical addresses of a Zynq UltraScale+
REGISTER_ADDRESS_BITS = 12
PAGE_BITS = 12  # no burst crosses a multiple of 4096 bytes
INCR, CACHE = 1, 3  # bursts of rising addresses; normal memory, not cached, bufferable
# Responses. A set bit 1 is an error.
OKAY, EXOKAY, SLVERR, DECERR = range(4)


def check_bus(config: EngineConfig) -> None:
    """Raise ValueError unless the engine's memory suits an AXI4 master of 64 or 128 bit."""
    if config.word_bytes not in (8, 16):
        raise ValueError(
            f"word_bytes of {config.name} must be 8 or 16 for an AXI bus of 64 or 128 bit, not {config.word_bytes}"
        )
    if config.memory_bytes < 2 << PAGE_BITS:
        raise ValueError(
            f"memory_bytes of {config.name} must be at least {2 << PAGE_BITS} on an AXI bus, not {config.memory_bytes}"
        )


class AxiLite(Bundle):
    """AXI4-Lite with 32-bit data, seen from the slave."""

    meanings: ClassVar = {
        "awaddr": "write address, in bytes",
        "awvalid": "a write address is offered; stays until awready",
        "awready": "the address is taken",
        "wdata": "write data",
        "wstrb": "which bytes to write",
        "wvalid": "write data is offered; stays until wready",
        "wready": "the data is taken",
        "bresp": "how the write went: 0 OKAY, 2 SLVERR",
        "bvalid": "a write is answered; stays until bready",
        "bready": "the answer is taken",
        "araddr": "read address, in bytes",
        "arvalid": "a read address is offered; stays until arready",
        "arready": "the address is taken",
        "rdata": "read data",
        "rresp": "how the read went: 0 OKAY, 2 SLVERR",
        "rvalid": "read data is offered; stays until rready",
        "rready": "the data is taken",
    }

    def __init__(self):
        self.awaddr, self.awvalid, self.awready = unsigned(REGISTER_ADDRESS_BITS), bit(), bit()
        self.wdata, self.wstrb, self.wvalid, self.wready = unsigned(32), unsigned(4), bit(), bit()
        self.bresp, self.bvalid, self.bready = unsigned(2), bit(), bit()
        self.araddr, self.arvalid, self.arready = unsigned(REGISTER_ADDRESS_BITS), bit(), bit()
        self.rdata, self.rresp, self.rvalid, self.rready = unsigned(32), unsigned(2), bit(), bit()


class AxiMaster(Bundle):
    """AXI4 with the engine's memory word as data, seen from the master. One ID, 0: answers come in order."""

    meanings: ClassVar = {
        "awid": "0",
        "awaddr": "first byte of a write burst",
        "awlen": "its beats - 1",
        "awsize": "bytes of a beat, as a power of two: all of the bus",
        "awburst": "1, INCR",
        "awcache": "3, normal memory, not cached, bufferable",
        "awprot": "0, unprivileged, secure, data",
        "awvalid": "a write burst is offered; stays until awready",
        "awready": "the burst is taken",
        "wdata": "a beat, lowest byte first",
        "wstrb": "which bytes to write",
        "wlast": "last beat of its burst",
        "wvalid": "a beat is offered; stays until wready",
        "wready": "the beat is taken",
        "bid": "0; another one is an error",
        "bresp": "how the oldest write burst went: 2 SLVERR, 3 DECERR",
        "bvalid": "a write burst is answered",
        "bready": "always, but for reset",
        "arid": "0",
        "araddr": "first byte of a read burst",
        "arlen": "its beats - 1",
        "arsize": "see awsize",
        "arburst": "see awburst",
        "arcache": "see awcache",
        "arprot": "see awprot",
        "arvalid": "a read burst is offered; stays until arready",
        "arready": "the burst is taken",
        "rid": "0; another one is an error",
        "rdata": "a beat, lowest byte first",
        "rresp": "how it went: 2 SLVERR, 3 DECERR",
        "rlast": "last beat of its burst",
        "rvalid": "a beat is offered",
        "rready": "always, but for reset",
    }

    def __init__(self, config: EngineConfig):
        check_bus(config)
        for channel in ("aw", "w", "b", "ar", "r"):
            if channel.startswith("a"):
                self._address_channel(channel)
            elif channel == "w":
                self.wdata, self.wstrb = unsigned(config.word_bits), unsigned(config.word_bytes)
                self.wlast, self.wvalid, self.wready = bit(), bit(), bit()
            elif channel == "b":
                self.bid, self.bresp, self.bvalid, self.bready = bit(), unsigned(2), bit(), bit()
            else:
                self.rid, self.rdata, self.rresp, self.rlast = bit(), unsigned(config.word_bits), unsigned(2), bit()
                self.rvalid, self.rready = bit(), bit()

    def _address_channel(self, name):
        widths = {"addr": ADDRESS_BITS, "len": 8, "size": 3, "burst": 2, "cache": 4, "prot": 3}
        setattr(self, f"{name}id", bit())
        for signal, width in widths.items():
            setattr(self, f"{name}{signal}", unsigned(width))
        setattr(self, f"{name}valid", bit())
        setattr(self, f"{name}ready", bit())


class BusState(Bundle):
    """What the reader or the writer says of the bus."""

    meanings: ClassVar = {
        "drained": "nothing is under way, and nothing held that the bus has still to see",
        "failed": "pulse: an answer was an error",
        "decode": "with failed: DECERR, else SLVERR",
    }

    def __init__(self):
        self.drained, self.failed, self.decode = bit(), bit(), bit()
