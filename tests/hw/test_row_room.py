"""Room for rows, against a count."""

import random

import pytest

from hw.row_room import row_room
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run


@BACKENDS
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("capacity, most", [(1, 1), (32, 4), (33, 32)])
def test_taken_and_freed(capacity, most, asked, backend):
    """Full and empty, rows taken and freed in one cycle, and a reset on the way; a pass goes only where it fits."""
    rng, held, late, fits = random.Random(capacity), 0, 0, None
    columns, expected = {name: [] for name in ("reset", "rows", "take", "freed", "wanted")}, []
    for cycle in range(600):
        reset, eager = cycle in (0, 400), cycle // 50 % 2
        # The rows of a pass are there for a cycle before it goes.
        rows = columns["rows"][-1] if cycle and fits else rng.randint(1, min(capacity, most))
        wanted = int(not asked or rng.random() < 0.7)
        take = int(not reset and bool(fits) and held + rows <= capacity and rng.random() < (0.9 if eager else 0.3))
        freed = 0 if reset or rng.random() < (0.8 if eager else 0.2) else min(held, rng.choice((1, most)))
        for name, value in zip(columns, (int(reset), rows, take, freed, wanted), strict=True):
            columns[name].append(value)
        fits = held + late + rows <= capacity or not wanted
        expected.append(int(fits))
        held, late = (0, 0) if reset else (held - freed + take * rows, freed)
        if take:
            fits = None  # of the next pass, that is not known yet
    ports = {name: bit() for name in ("reset", "take", "fits")}
    ports |= {"rows": unsigned(6), "freed": unsigned(6)}
    parameters = {"capacity": capacity}
    if asked:
        ports["wanted"] = bit()
    else:
        parameters["wanted"] = None
        del columns["wanted"]
    trace = run(row_room, ports, columns, ["fits"], backend, parameters, after=1)
    assert trace["fits"][2:] == expected[1:]
    assert 0 in expected and 1 in expected
