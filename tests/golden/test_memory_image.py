import numpy as np
import pytest

from golden.config import NAMED
from golden.layout import Refusal, extents, refusal
from golden.memory_image import (
    UNTOUCHED,
    memory_after,
    memory_image,
    to_bytes,
    to_words,
    unpack_operands,
    unpack_output,
    unpack_state,
    written_bytes,
)
from golden.predict import attention
from tests.random_descriptors import random_descriptor


@pytest.mark.parametrize("name", ["tiny", "base", "wide", "q88"])
@pytest.mark.parametrize("seed", range(10))
def test_strewn_operands_come_back(name, seed):
    config = NAMED[name]
    run = random_descriptor(config, seed)
    job, place = run.job, run.place
    assert refusal(config, job, place) is Refusal.NONE
    before = memory_image(config, job, place, run.q, run.k, run.v)
    assert len(before) == config.word_bytes * max(end for _, end in extents(config, job, place).values())
    for found, wanted in zip(unpack_operands(before, config, job, place), (run.q, run.k, run.v), strict=True):
        assert (found == wanted).all()
    assert (to_bytes(to_words(before, config), config) == before).all()

    result = attention(config, job, run.q, run.k, run.v)
    after = memory_after(config, job, place, before, result)
    assert (unpack_output(after, job, place) == result.output).all()
    if job.state:
        assert (unpack_state(after, job, place) == np.stack([result.maximum, result.total])).all()
    written = written_bytes(job, place)
    assert len(set(written.tolist())) == len(written) == 2 * result.output.size + 8 * job.state * result.total.size
    assert (np.delete(after, written) == np.delete(before, written)).all()
    assert (before[written] == UNTOUCHED).all()  # nothing that is written lies on an operand


def test_one_byte_after_the_other():
    """Two heads of two rows of three bytes, rows of 8 bytes with the heads side by side."""
    run = random_descriptor(NAMED["tiny"], 0)
    job = run.job.__class__(2, 1, 3, 1, 0, 0, 1, heads=2)
    place = run.place.__class__(
        q_address=0, k_address=32, v_address=40, o_address=48, q_stride=8, k_stride=4, v_stride=4, o_stride=8,
        q_head_stride=4, k_head_stride=4, v_head_stride=4, o_head_stride=4,
    )  # fmt: skip
    q = np.array([[[1, 2, 3], [4, 5, 6]], [[-1, -2, -3], [-4, -5, -6]]])
    image = memory_image(NAMED["tiny"], job, place, q, np.zeros((2, 1, 3)), np.zeros((2, 1, 1)))
    assert image[:16].tolist() == [1, 2, 3, 0x5A, 255, 254, 253, 0x5A, 4, 5, 6, 0x5A, 252, 251, 250, 0x5A]
