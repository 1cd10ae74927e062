"""The counters of loads, against sums without any width."""

import random

import pytest

from hw.load_counters import LOAD_K, LOAD_Q, LOAD_S, LOAD_V, load_counters
from hw.ports import COUNTER_BITS, Counters
from hw.signals import bit, unsigned
from tests.hw.harness import BACKENDS, run

BYTES = {LOAD_K: "k_bytes", LOAD_Q: "q_bytes", LOAD_V: "v_bytes", LOAD_S: "s_read_bytes"}
COUNTED = [*BYTES.values(), "p_read_bytes", "k_loads", "v_loads"]


@BACKENDS
@pytest.mark.parametrize("start", ["reset", "clear"])
def test_each_kind_is_counted_for_itself(start, backend):
    """Bursts and loads of all kinds, every cycle or with gaps; cleared on the way, too."""
    rng = random.Random(5)
    inputs = ("reset", "clear", "burst", "kind", "is_p", "amount", "k_load", "v_load")
    columns, counts = {name: [] for name in inputs}, dict.fromkeys(COUNTED, 0)
    expected = []
    for cycle in range(400):
        kind, load = rng.choice(list(BYTES)), rng.choice((None, LOAD_K, LOAD_V))
        values = {
            "burst": rng.random() < 0.7, "kind": kind, "is_p": rng.random() < 0.5, "amount": rng.choice((1, 64, 127)),
            "k_load": load == LOAD_K, "v_load": load == LOAD_V,
        }  # fmt: skip
        starts = cycle in (0, 200)
        if starts or cycle == 199:  # clear comes before a run's first burst, and long after the last one of another
            values |= {"burst": False, "k_load": False, "v_load": False}
        values |= {"reset": 0, "clear": 0, start: starts}
        for name, value in values.items():
            columns[name].append(int(value))
        if values[start]:
            counts = dict.fromkeys(COUNTED, 0)
        else:
            if values["burst"]:
                name = "p_read_bytes" if kind == LOAD_S and values["is_p"] else BYTES[kind]
                counts[name] = (counts[name] + values["amount"]) % (1 << COUNTER_BITS)
            counts["k_loads"] += values["k_load"]
            counts["v_loads"] += values["v_load"]
        expected.append(None if cycle == 199 else dict(counts))  # that is over when it would be seen
    ports = {name: bit() for name in inputs if name not in ("kind", "amount")}
    ports |= {"kind": unsigned(2), "amount": unsigned(7), "counters": Counters()}
    trace = run(load_counters, ports, columns, [f"counters_{name}" for name in COUNTED], backend, after=2)
    for cycle, counts in enumerate(expected):
        assert counts is None or {name: trace[f"counters_{name}"][cycle + 2] for name in COUNTED} == counts, cycle
