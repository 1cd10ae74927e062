"""Fields of several bits and of one, in and out of register words."""

import random

from fpga.host.registers import RunState, address, bundle, field, pack, unpack
from hw.ports import Descriptor

FIELDS = Descriptor().names()


def test_every_bit_of_a_descriptor_comes_back():
    rng = random.Random(5)
    for _ in range(20):
        values = {name: rng.getrandbits(field(f"descriptor.{name}")[2]) for name in FIELDS}
        first, words = pack("descriptor", values)
        assert (first, len(words)) == bundle("descriptor")
        assert unpack("descriptor", words) == values


def test_words_of_shared_registers():
    first, words = pack("descriptor", {"scale_mantissa": 0x8001, "scale_shift": 47, "windowed": True, "state": True})
    assert words[(address("descriptor.scale_shift") - first) // 4] == 47 << 16 | 0x8001
    assert words[(address("descriptor.causal") - first) // 4] == 0b10010
    assert pack("descriptor", {"q_position": -2})[1][(address("descriptor.q_position") - first) // 4] == 0xFFFFFFFE


def test_states():
    assert RunState.of(0b1) == RunState(True, False, False, 0, 0)
    assert RunState.of(5 << 4 | 0b100) == RunState(False, False, True, 5, 0)
    assert RunState.of(20 << 8) == RunState(False, False, False, 0, 20)
    assert RunState.of(0b10).trouble is None and RunState.of(0).trouble == "the run did not start"
