import random

import pytest

from golden.config import NAMED
from golden.job import Job
from golden.traffic import naive_bytes, traffic

TINY = NAMED["tiny"]


def job(q_rows, causal=False, n_q=32, n_kv=32, dim=4, value_dim=4, q_position=0):
    return Job(n_q, n_kv, dim, value_dim, 1 << 15, 10, q_rows, causal, q_position)


@pytest.mark.parametrize(
    "q_rows, causal, total", [(4, False, 2432), (4, True, 1536), (16, False, 896), (16, True, 768)]
)
def test_flash_is_the_published_figure(q_rows, causal, total):
    """N=32, d=4, INT8 in, 16 bits out."""
    assert traffic(TINY, job(q_rows, causal)).total == total


@pytest.mark.parametrize("causal, total", [(False, 12672), (True, 7296)])
@pytest.mark.parametrize("q_rows", [4, 16])
def test_naive_is_the_published_figure(causal, total, q_rows):
    """Its blocks are as high as a tile is wide, whatever FLASH uses."""
    assert naive_bytes(TINY, job(q_rows, causal)) == total


@pytest.mark.parametrize("seed", range(50))
def test_operands_against_brute_force(seed):
    rng = random.Random(seed)
    config = NAMED[rng.choice(["tiny", "base", "q88"])]
    sizes = {name: rng.randint(1, high) for name, high in (("n_q", 40), ("n_kv", 40), ("dim", 16), ("value_dim", 16))}
    run = job(rng.randint(1, 32), rng.random() < 0.5, q_position=rng.randint(-40, 40), **sizes)
    keys = tiles = 0
    for start in range(0, run.n_q, run.q_rows):
        end = min(start + run.q_rows, run.n_q)
        needed = min(max(end + run.q_position, 1), run.n_kv) if run.causal else run.n_kv
        block_tiles = -(-needed // config.array_keys)
        tiles += block_tiles
        keys += min(block_tiles * config.array_keys, run.n_kv)
    found = traffic(config, run)
    size = config.element_bytes
    assert found.q_bytes == run.n_q * run.dim * size
    assert found.k_bytes == keys * run.dim * size
    assert found.v_bytes == keys * run.value_dim * size
    assert found.o_bytes == run.n_q * run.value_dim * 2
    assert found.tiles == tiles
    assert (found.read, found.written) == (found.q_bytes + found.k_bytes + found.v_bytes, found.o_bytes)
