"""The reference of the softmax tests against golden.flash."""

import numpy as np
import pytest

from golden.config import NAMED
from golden.flash import flash
from golden.job import Job
from tests.hw.online_softmax import Row, visits


@pytest.mark.parametrize("name", ["tiny", "q88", "lanes16"])
@pytest.mark.parametrize("spread", [3, 1 << 10, 1 << 18])
def test_rows_agree_with_flash(name, spread):
    """A head whose K is the identity has its Q as scores. Causal, so that rows see no, some and all keys of a tile."""
    config, n_q, n_kv, position = NAMED[name], 40, 45, -3
    s = np.random.default_rng(spread).integers(-spread, spread, (n_q, n_kv), endpoint=True)
    job = Job(n_q, n_kv, n_kv, n_kv, 54321, 11, 1, causal=True, q_position=position)
    found = flash(config, job, s, np.eye(n_kv, dtype=np.int64), np.eye(n_kv, dtype=np.int64))
    rows, saturated = [Row() for _ in range(n_q)], False
    for start in range(0, n_kv, config.array_keys):
        for index, row in enumerate(rows):
            scores = s[index, start : start + config.array_keys].tolist()
            visible = max(0, min(len(scores), index + position + 1 - start))
            saturated |= row.tile(scores, visible, job.scale_mantissa, job.scale_shift)[1]
    assert [row.maximum for row in rows] == found.maximum.tolist()
    assert [row.total for row in rows] == found.total.tolist()
    assert [row.seen for row in rows] == found.seen.tolist()
    assert saturated == found.saturated


def test_visits_return_as_early_as_they_may():
    last, gaps = {}, set()
    for cycle, row in visits(4, 500, 6, seed=0):
        if row in last:
            gaps.add(cycle - last[row])
        last[row] = cycle
    assert min(gaps) == 6
    assert max(gaps) > 8
