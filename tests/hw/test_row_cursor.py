"""The row cursor, against a plain walk over KV heads, queries and the heads of a group."""

import random

import pytest

from hw.row_cursor import row_cursor
from hw.signals import bit, unsigned
from tests.hw.flow import IDLE, either
from tests.hw.harness import BACKENDS, run

BITS = 12


def addresses(first, stride, head_stride, n_q, group, kv_heads):
    """Rows in the order in which they stream."""
    return [
        (first + (kv_head * group + member) * head_stride + query * stride) % (1 << BITS)
        for kv_head in range(kv_heads)
        for query in range(n_q)
        for member in range(group)
    ]


def check(walks, backend, idle=False, rewinds=True, seed=0):
    """walks: (first, stride, head_stride, n_q, group, kv_heads), one after the other, each from its start."""
    rng = random.Random(seed)
    names = ("start", "step", "mark", "rewind", "first", "stride", "head_stride", "n_q", "group")
    columns, expected = {name: [] for name in names}, {}

    def cycle(*values):
        for name, value in zip(names, (*values, *constant), strict=True):
            columns[name].append(value)

    for first, stride, head_stride, n_q, group, kv_heads in walks:
        constant = first, stride, head_stride, n_q, group
        rows, at, marked, budget = addresses(*constant, kv_heads), 0, 0, 3 * n_q * group * kv_heads + 20
        cycle(1, rng.randrange(2), rng.randrange(2), rng.randrange(2))  # start goes before step
        while at < len(rows) and budget:
            budget -= 1
            expected[len(columns["step"])] = rows[at]
            step, mark, rewind = (int(either(rng, idle, 0.6)), int(rng.random() < 0.3), int(rng.random() < 0.15))
            if not rewinds:
                mark = rewind = 0
            if at + 1 == len(rows) and rewind == 0 and mark:
                mark = 0
            # A mark and a rewind never come together: chunks of rows end with the one or the other.
            mark = mark and not rewind
            cycle(0, step, int(mark), rewind)
            if step:
                at = marked if rewind else at + 1
                marked = at if mark else marked
    ports = {
        "start": bit(), "step": bit(), "mark": bit(), "rewind": bit(), "first": unsigned(BITS),
        "stride": unsigned(BITS), "head_stride": unsigned(BITS), "n_q": unsigned(6), "group": unsigned(7),
        "address": unsigned(BITS),
    }  # fmt: skip
    parameters = None
    if not rewinds:
        del ports["mark"], ports["rewind"], columns["mark"], columns["rewind"]
        parameters = {"mark": None, "rewind": None}
    found = run(row_cursor, ports, columns, ["address"], backend, parameters)["address"]
    assert {cycle_: found[cycle_] for cycle_ in expected} == expected


def draw(rng):
    n_q, group, kv_heads = (rng.choice((1, 2, rng.randint(1, 5))) for _ in range(3))
    top = (1 << BITS) - 1
    first, stride, head_stride = (rng.choice((0, 1, top, rng.randrange(300))) for _ in range(3))
    return first, stride, head_stride, n_q, group, kv_heads


@IDLE
@pytest.mark.parametrize("rewinds", [False, True])
def test_random_walks(rewinds, idle, backend):
    rng = random.Random(rewinds)
    check([draw(rng) for _ in range(60)], backend, idle, rewinds)


@BACKENDS
@pytest.mark.parametrize("rewinds", [False, True])
def test_edges(rewinds, backend):
    """One query, one head, one KV head, and the most heads in a group; rows far apart, which wrap around."""
    shapes = [(1, 1, 1), (1, 1, 9), (9, 1, 1), (1, 9, 1), (1, 5, 3), (5, 1, 3), (1, 64, 2), (2, 64, 1), (63, 1, 2)]
    check([(1000, 37, 1009, *shape) for shape in shapes], backend, rewinds=rewinds)
    check([(4000, 4095, 2048, *shape) for shape in shapes], backend, rewinds=rewinds, seed=1)


@BACKENDS
def test_rows_of_chunks(backend):
    """As the writer walks: a tile's final rows for each chunk, back after all but the last, on after that."""
    n_q, group, kv_heads, chunks = 5, 3, 2, 3
    rows = addresses(7, 40, 300, n_q, group, kv_heads)
    tiles = [2, 1, 7, 4, 1, 15]
    assert sum(tiles) == len(rows)
    columns, expected, at = {"step": [0], "mark": [0], "rewind": [0]}, [0], 0
    for finals in tiles:
        for chunk in range(chunks):
            for row in range(finals):
                last = row + 1 == finals
                columns["step"].append(1)
                columns["mark"].append(int(last and chunk + 1 == chunks))
                columns["rewind"].append(int(last and chunk + 1 < chunks))
                expected.append(rows[at + row])
        at += finals
    columns |= {"start": [1] + [0] * (len(expected) - 1), "first": 7, "stride": 40, "head_stride": 300}
    ports = {name: bit() for name in ("start", "step", "mark", "rewind")}
    ports |= {name: unsigned(BITS) for name in ("first", "stride", "head_stride", "address")}
    ports |= {"n_q": unsigned(6), "group": unsigned(7)}
    found = run(row_cursor, ports, columns | {"n_q": n_q, "group": group}, ["address"], backend)["address"]
    assert found[1:] == expected[1:]
