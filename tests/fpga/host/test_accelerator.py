"""The interface on a link whose engine is golden: quantisation, splitting and merging, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fpga.host.accelerator import Accelerator
from fpga.host.errors import DeviceError
from fpga.host.operands import place_operands
from gen.inputs import InputError, quantise_head
from golden.config import NAMED
from golden.job import Job, JobError
from golden.oracle import attention
from golden.predict import predict
from golden.quantise import dequantise_output
from tests.fpga.host.golden_board import GoldenBoard, GoldenLink

TINY, Q88 = NAMED["tiny"], NAMED["q88"]
SMALL = replace(TINY, max_keys=16, max_rows=8, memory_bytes=512)
LARGE = replace(TINY, memory_bytes=1 << 26, max_keys=32768)


def accelerator(config=TINY, **fields):
    return Accelerator(GoldenLink(GoldenBoard(config, **fields)))


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def per_head(config, q, k, v, **fields):
    """Every head on its own, quantised as `flashtile run` does, by golden."""
    outputs = []
    group = len(q) // len(k)
    for head in range(len(q)):
        quantised = quantise_head(config, (q[head], k[head // group], v[head // group]), **fields)
        result = predict(config, quantised.job, *quantised.raw).result
        outputs.append(dequantise_output(result.output, quantised.steps[2], config))
    return np.stack(outputs)


@pytest.mark.parametrize("config", [TINY, Q88], ids=lambda config: config.name)
@pytest.mark.parametrize("fields", [{}, {"causal": True}, {"window": 3}, {"causal": True, "window": 4}], ids=str)
def test_heads_are_quantised_as_in_a_run(config, fields):
    q, k, v = arrays((3, 7, 9), (3, 11, 9), (3, 11, 5))
    q[1] *= 5  # heads have steps of their own
    with accelerator(config) as device:
        result = device.attention(q, k, v, **fields)
        assert (result.o == per_head(config, q, k, v, **fields)).all()
        assert result.runs == (3 if config is TINY else 1) and not result.saturated
        assert (device.attention(q[1], k[1], v[1], **fields).o == result.o[1]).all()


def test_query_heads_of_a_group_share_a_step_and_a_run():
    q, k, v = arrays((6, 7, 8), (2, 9, 8), (2, 9, 8))
    device = accelerator()
    result = device.attention(q, k, v, causal=True)
    jobs = device._link.board.jobs
    assert [(job.heads, job.group, job.q_rows) for job in jobs] == [(3, 3, 21), (3, 3, 21)]
    for head in range(6):
        exact = attention(q[head], k[head // 3], v[head // 3], 1 / math.sqrt(8), True, 2)
        assert np.abs(result.o[head] - exact).max() < 0.1
    assert device.attention(q, k, v, shared_steps=True).runs == 1


def test_scale_position_and_rows_reach_the_engine():
    q, k, v = arrays((7, 8), (9, 8), (9, 4))
    device = accelerator()
    result = device.attention(q, k, v, causal=True, scale=0.7, q_position=-1, q_rows=2)
    exact = attention(q[1:], k, v, 0.7, True, 0)
    assert np.abs(result.o[1:] - exact).max() < 0.1 and (result.o[0] == 0).all()
    (job,) = device._link.board.jobs
    assert (job.q_rows, job.q_position) == (2, -1)


@pytest.mark.parametrize("config", [SMALL, replace(Q88, max_keys=16, memory_bytes=512)], ids=lambda c: c.name)
@pytest.mark.parametrize("fields", [{}, {"causal": True}, {"window": 20}, {"causal": True, "window": 9}], ids=str)
@pytest.mark.parametrize("heads", [(1, 1), (4, 2), (3, 3)], ids=str)
def test_split_over_keys_heads_and_queries(config, fields, heads):
    q, k, v = arrays((heads[0], 37, 11), (heads[1], 41, 11), (heads[1], 41, 6), seed=sum(heads))
    device = accelerator(config)
    told = []
    result = device.attention(q, k, v, **fields, advance=lambda *numbers: told.append(numbers))
    whole = accelerator(replace(config, max_keys=1024, memory_bytes=1 << 20)).attention(q, k, v, **fields)
    jobs = device._link.board.jobs
    assert whole.runs <= heads[1] and result.runs == len(jobs) > 6 * heads[1]
    assert told == [(done, result.runs) for done in range(1, result.runs + 1)]
    step = np.abs(v).max() / 127 if config is SMALL else 1
    assert np.abs(result.o - whole.o).max() <= 3 / 256 * step  # two roundings to 8 fraction bits, and those of p
    assert result.counters["o_bytes"] == sum(2 * job.heads * job.n_q * job.value_dim for job in jobs)


def test_keys_stay_in_memory_for_the_next_queries():
    device = accelerator(SMALL)
    q, k, v = arrays((40, 4), (16, 4), (16, 4))
    result = device.attention(q, k, v)
    loads = device._link.loads
    assert result.runs > 1 and loads.count(16 * 8) == 1 and len(loads) == 1 + result.runs
    assert np.abs(result.o - accelerator(LARGE).attention(q, k, v).o).max() == 0
    device.attention(q, k, v)  # not in the next call: the caller may have other arrays in the same place
    assert loads.count(16 * 8) == 2


def test_no_visible_key_at_all():
    q, k, v = arrays((20, 4), (40, 4), (40, 4))
    result = accelerator(SMALL).attention(q, k, v, causal=True, q_position=-100)
    assert (result.o == 0).all() and result.runs == 0 and result.counters["busy"] == 0


@pytest.mark.parametrize("config", [TINY, SMALL], ids=["whole", "split"])
def test_raw_is_golden(config):
    rng = np.random.default_rng(3)
    job = Job(30, 16, 7, 6, 40000, 21, 8, causal=True, q_position=-2, heads=4, group=2, state=True)
    q, k, v = (rng.integers(-127, 128, shape) for shape in ((4, 30, 7), (2, 16, 7), (2, 16, 6)))
    device = accelerator(config)
    result = device.attention_raw(job, q, k, v)
    expected = predict(TINY, job, q, k, v)
    assert result.output.dtype == np.int64 and (result.output == expected.result.output).all()
    assert (result.state == np.stack([expected.result.maximum, expected.result.total])).all()
    assert (result.runs == 1) == (config is TINY)
    if config is TINY:
        assert result.counters == {name: expected.counters[name] for name in result.counters}
    assert result.counters["o_bytes"] == expected.counters["o_bytes"]
    single = device.attention_raw(replace(job, heads=1, group=1), q[0], k[0], v[0])
    assert (single.output == expected.result.output[:1]).all()


def test_raw_refuses():
    job = Job(30, 17, 7, 6, 40000, 21, 8)
    zeros = np.zeros((30, 7)), np.zeros((17, 7)), np.zeros((17, 6))
    with pytest.raises(JobError, match="17 keys do not fit into one run"):
        accelerator(SMALL).attention_raw(job, *zeros)
    with pytest.raises(JobError, match=r"^v has shape \(1, 17, 7\), but the job says \(1, 17, 6\)$"):
        accelerator().attention_raw(job, zeros[0], zeros[1], zeros[1])


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"q": np.zeros((2, 3), dtype=complex)}, "q has dtype complex128"),
        ({"k": np.zeros(3)}, r"k has shape \(3,\); give \[n, d\]"),
        ({"v": np.zeros((0, 3))}, r"v has shape \(0, 3\)"),
        ({"v": np.array([[0, np.nan, 0]] * 4)}, r"v\[0, 1\] is not finite"),
        ({"q": np.zeros((1, 2, 3))}, "all must be"),
        ({"q": np.zeros((2, 4))}, "rows of q and of k must be as long"),
        ({"v": np.zeros((5, 3))}, "k and v must have as many heads and rows"),
        ({"q": np.zeros((3, 2, 3)), "k": np.zeros((2, 4, 3)), "v": np.zeros((2, 4, 3))}, "must divide those of q"),
        ({"scale": -1}, "scale must be positive"),
        ({"scale": math.nan}, "scale must be positive"),
        ({"window": 0}, "window must be a whole number of at least 1 key, not 0"),
        ({"window": 1.5}, "window must be a whole number"),
        ({"q": np.full((2, 3), 1e200), "k": np.full((4, 3), 1e200)}, "overflow float64"),
    ],
)
def test_bad_input(change, sentence):
    device = accelerator()
    with pytest.raises(InputError, match=sentence):
        device.attention(**{"q": np.zeros((2, 3)), "k": np.zeros((4, 3)), "v": np.zeros((4, 3))} | change)
    assert device._link.board.jobs == []


def test_trouble():
    q = np.ones((2, 4))
    for trouble, sentence in (
        ({"error": 2}, "golden board: the run was broken off: a read was answered with DECERR; reset\\(\\) the"),
        ({"error": 7}, "the run was broken off: 7"),
        ({"refusal": 19}, r"the engine refused the run: O, \(m, l\) or the scratch area overlaps another operand"),
        ({"refusal": 31}, "the engine refused the run: 31"),
        ({"done": 0}, "the run did not start"),
    ):
        device = accelerator()
        device._link.board.trouble = trouble
        with pytest.raises(DeviceError, match=sentence):
            device.attention(q, q, q)
        device._link.board.trouble = {}
        assert device.attention(q, q, q).runs == 1  # and the next one works


def test_busy_and_stuck(monkeypatch):
    monkeypatch.setattr("fpga.host.accelerator.PATIENCE", 0.05)
    q = np.ones((2, 4))
    device = accelerator(clock_hz=10**9)
    device._link.board.stuck = True
    with pytest.raises(DeviceError, match=r"^golden board is still busy after 1\.\d s; wait for its run to end, or"):
        device.attention(q, q, q)
    with pytest.raises(DeviceError, match=r"; this program did not start that run$"):
        device.attention(q, q, q)
    assert device._link.board.jobs == []
    device.reset()
    assert device.attention(q, q, q).runs == 1
    device._link.board.stuck = device._link.board.wedged = True
    device._link.board.start()
    with pytest.raises(DeviceError, match="is still busy"):
        device.reset()


def test_a_run_may_take_as_long_as_it_takes():
    """The deadline is above golden's cycles, for long and short blocks, memory-bound and not."""
    for config in (TINY, NAMED["base"], NAMED["lanes16"]):
        device = accelerator(config, clock_hz=1000)
        for n_q, n_kv, dim, rows in ((1, 500, 16, 1), (60, 60, 3, 32), (100, 90, 16, 4), (9, 9, 4, 9)):
            job = Job(n_q, n_kv, dim, dim, 1, 1, rows, naive=n_q == 9, latency=64, overlap=False)
            cycles = predict(config, job, *(np.zeros((n, dim), dtype=int) for n in (n_q, n_kv, n_kv)))
            assert device._seconds(job, place_operands(config, job)) > 2 * cycles.counters["busy"] / 1000
