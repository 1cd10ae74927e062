"""Credit for buffers, against a count."""

import random

import pytest

from hw.buffer_credit import buffer_credit
from hw.signals import bit
from tests.hw.harness import BACKENDS, run


@BACKENDS
@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("slots", [2, 4, 8])
def test_taken_and_released(slots, overlap, backend):
    """Alone and together, up to all buffers, and a reset on the way."""
    rng, used, taken = random.Random(slots), 0, False
    columns, rooms = {name: [] for name in ("reset", "take", "freed")}, []
    for cycle in range(300):
        room = used < slots if overlap else used == 0
        reset = cycle in (0, 150)
        eager = cycle // 30 % 2
        take = not (reset or taken) and room and rng.random() < (0.9 if eager else 0.4)
        freed = not reset and used > 0 and rng.random() < (0.3 if eager else 0.8)
        for name, value in (("reset", reset), ("take", take), ("freed", freed)):
            columns[name].append(int(value))
        used = 0 if reset else used + take - freed
        # It is foretold but where a take is on the way.
        rooms.append(None if take or reset else int(used < slots if overlap else used == 0))
        taken = take
    ports = {name: bit() for name in ("reset", "overlap", "take", "freed", "room")}
    columns["overlap"] = overlap
    trace = run(buffer_credit, ports, columns, ["room"], backend, {"slots": slots})
    for cycle, room in enumerate(rooms):
        assert room is None or trace["room"][cycle] == room, cycle
