"""The reference of the softmax tests against golden.flash and golden.naive."""

import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import flash, visible_keys
from golden.formats import half_up, saturate
from golden.job import Job
from golden.naive import P_LIMIT, S_BITS, S_SHIFT, naive
from tests.hw.online_softmax import Row, scaled, visits

EACH = pytest.mark.parametrize("name", ["tiny", "q88", "lanes16"])
SPREADS = pytest.mark.parametrize("spread", [3, 1 << 10, 1 << 18])


def head(name, spread, window, naive):
    """A head whose K is the identity has its Q as scores. Causal, so that rows see no, some and all keys of a tile."""
    n_q, n_kv = 40, 45
    s = np.random.default_rng(spread).integers(-spread, spread, (n_q, n_kv), endpoint=True)
    job = Job(n_q, n_kv, n_kv, n_kv, 54321, 11, 1, causal=True, q_position=-3, window=window, naive=naive)
    return NAMED[name], job, s, np.eye(n_kv, dtype=np.int64)


def tiles(config, job, s):
    """Of each row, its tiles: z, visible lanes (a bit each), and which of these were saturated."""
    visible = visible_keys(job)
    for index in range(job.n_q):
        row = []
        for start in range(0, job.n_kv, config.array_keys):
            keys = slice(start, start + config.array_keys)
            z, over = scaled(s[index, keys].tolist(), job.scale_mantissa, job.scale_shift)
            shown = sum(int(flag) << lane for lane, flag in enumerate(visible[index, keys]))
            row.append((z, shown, [flag for lane, flag in enumerate(over) if shown >> lane & 1]))
        yield row


@EACH
@SPREADS
@pytest.mark.parametrize("window", [None, 7])
def test_rows_agree_with_flash(name, spread, window):
    config, job, s, eye = head(name, spread, window, naive=False)
    found = flash(config, job, s, eye, eye)
    rows, saturations = [Row() for _ in range(job.n_q)], 0
    for row, each in zip(rows, tiles(config, job, s), strict=True):
        for z, shown, over in each:
            row.tile(z, shown)
            saturations += sum(over)
    assert [row.maximum for row in rows] == found.maximum.tolist()
    assert [row.total for row in rows] == found.total.tolist()
    assert [row.seen for row in rows] == found.seen.tolist()
    assert saturations == found.saturations


@EACH
@SPREADS
@pytest.mark.parametrize("window", [None, 7])
def test_rows_agree_with_naive(name, spread, window):
    """Maximum over S, then P with m known, then its sum; P.V with V the identity shows P."""
    config, job, s, eye = head(name, spread, window, naive=True)
    found = naive(config, job, s, eye, eye)
    rows = [Row() for _ in range(job.n_q)]
    for row, each in zip(rows, tiles(config, job, s), strict=True):
        stored = [
            ((saturate(half_up(np.array(z), S_SHIFT), S_BITS) << S_SHIFT).tolist(), shown) for z, shown, _ in each
        ]
        for z, shown in stored:
            row.tile(z, shown)
        again = [row.tile(z, shown, again=index == 0) for index, (z, shown) in enumerate(stored)]
        p = [[min(value, P_LIMIT) for value in values] for values in again]
        for index, (values, (_, shown)) in enumerate(zip(p, stored, strict=True)):
            assert row.stored_tile(values, shown, start=index == 0) == values
    assert [row.maximum for row in rows] == found.maximum.tolist()
    assert [row.total for row in rows] == found.total.tolist()
    assert [row.seen for row in rows] == found.seen.tolist()


def test_visits_return_as_early_as_they_may():
    last, gaps = {}, set()
    for cycle, row in visits(4, 500, 6, seed=0):
        if row in last:
            gaps.add(cycle - last[row])
        last[row] = cycle
    assert min(gaps) == 6
    assert max(gaps) > 8
