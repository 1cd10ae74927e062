"""The read-only table."""

import random

import pytest
from myhdl import block

from hw.rom import rom
from hw.signals import unsigned
from tests.hw.harness import BACKENDS, run


def table(bits, width, seed=0):
    rng = random.Random(seed)
    entries = [rng.getrandbits(width) for _ in range((1 << bits) - 2)]
    return (*entries, 0, (1 << width) - 1)


@BACKENDS
@pytest.mark.parametrize("bits, width", [(1, 1), (3, 8), (9, 27), (8, 40)])
def test_every_entry(bits, width, backend):
    contents = table(bits, width)
    addresses = [*range(1 << bits), *reversed(range(1 << bits))]
    ports = {"address": unsigned(bits), "q": unsigned(width)}
    trace = run(rom, ports, {"address": addresses}, ["q"], backend, {"contents": contents}, after=1)
    assert trace["q"][1:] == [contents[address] for address in addresses]


@block
def two_tables(clk, address, q, other, first, second):
    """Two tables in one design."""
    return rom(clk, address, q, first), rom(clk, address, other, second)


@BACKENDS
def test_two_tables_side_by_side(backend):
    """Each instance keeps its own contents in the converted design."""
    contents = {"first": table(4, 8, 1), "second": table(4, 12, 2)}
    ports = {"address": unsigned(4), "q": unsigned(8), "other": unsigned(12)}
    trace = run(two_tables, ports, {"address": range(16)}, ["q", "other"], backend, contents, after=1)
    assert trace["q"][1:] == list(contents["first"])
    assert trace["other"][1:] == list(contents["second"])


@pytest.mark.parametrize("entries", [7, 9])
def test_refuses_a_table_of_another_size(entries):
    ports = {"address": unsigned(3), "q": unsigned(4)}
    with pytest.raises(AssertionError, match=f"a table of 8 entries, not {entries}"):
        run(rom, ports, {"address": [0]}, ["q"], "myhdl", {"contents": (1,) * entries})
