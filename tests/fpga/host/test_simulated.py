"""Simulated devices: the drivers end to end on the generated Verilog, and processes that never outlive their owner."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fpga.host import connect
from fpga.host.accelerator import Accelerator
from fpga.host.errors import DeviceBusy, DeviceError
from fpga.host.operands import place_operands
from fpga.host.registers import address, pack
from fpga.host.simulated.ulx3s import SimulatedUlx3s
from fpga.host.simulated.zuboard import SimulatedZuboard
from gen.bench import described
from gen.cache import cache_folder
from golden.config import NAMED, ConfigError, EngineConfig
from golden.job import Job
from golden.oracle import attention
from golden.predict import TIMED, predict
from hw.block_memory import first_word_latency
from tests.engine_runs import need

SMALL = replace(NAMED["tiny"], name="small", memory_bytes=2048)
NARROW = EngineConfig("narrow", "int8", 4, 4, 8, 16, 32, 1024, 1 << 20)  # as small as an AXI bus allows
DEADLINE = 1200  # seconds, with building the simulator on a busy machine
ROOT = Path(__file__).resolve().parents[3]


@contextmanager
def one_at_a_time():
    """Two test processes would each build the same simulator."""
    need("verilator")
    cache_folder().mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / "tests.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def ulx3s():
    with one_at_a_time():
        link = SimulatedUlx3s(SMALL)
    with Accelerator(link, SMALL) as device:
        yield device


@pytest.fixture
def zuboard():
    with one_at_a_time():
        link = SimulatedZuboard(NARROW, latency=30, stalls=60, seed=3)
    with Accelerator(link, NARROW) as device:
        yield device


def check_raw(device, job, seed=0):
    """Output, (m, l) and counters are golden's; those that the memory's timing changes are returned for comparison."""
    rng = np.random.default_rng(seed)
    shapes = (job.heads, job.n_q, job.dim), (job.kv_heads, job.n_kv, job.dim), (job.kv_heads, job.n_kv, job.value_dim)
    q, k, v = (rng.integers(-127, 128, shape) for shape in shapes)
    result, expected = device.attention_raw(job, q, k, v), predict(device.config, job, q, k, v)
    assert (result.output == expected.result.output).all()
    if job.state:
        assert (result.state == np.stack([expected.result.maximum, expected.result.total])).all()
    assert result.runs == 1
    for name, value in result.counters.items():
        assert name in TIMED or value == expected.counters[name], name
    return [(result.counters[name], expected.counters[name]) for name in TIMED]


def check_floats(device, heads, kv_heads, n_q, n_kv, dim, **fields):
    rng = np.random.default_rng(n_q)
    q, k, v = (rng.normal(size=shape) for shape in ((heads, n_q, dim), (kv_heads, n_kv, dim), (kv_heads, n_kv, dim)))
    result = device.attention(q, k, v, **fields)
    for head in range(heads):
        group = heads // kv_heads
        causal, window = fields.get("causal", False), fields.get("window")
        floats = q[head], k[head // group], v[head // group]
        exact = attention(*floats, dim**-0.5, causal, n_kv - n_q if causal or window else 0, window)
        assert np.abs(result.o[head] - exact).max() < 0.12
    return result


JOBS = (
    Job(7, 9, 5, 6, 40000, 20, 4, state=True, heads=2, group=2, causal=True, q_position=2),
    Job(11, 6, 16, 3, 40000, 22, 8, window=4, q_position=-1),
    Job(6, 10, 8, 8, 40000, 21, 6, naive=True, state=True),
)


def test_the_ulx3s(ulx3s):
    for job in JOBS:
        timed = check_raw(ulx3s, replace(job, latency=first_word_latency(SMALL)))
        assert all(engine == golden for engine, golden in timed)
    split = check_floats(ulx3s, 2, 1, 45, 70, 10, causal=True)
    assert split.runs > 4
    start(ulx3s, replace(JOBS[0], scale_shift=48))
    assert ulx3s._link.wait(10).trouble == "the engine refused the run: scale_shift is above 47"
    ulx3s._link._serial.write(b"\xa5\x01garbage\xa5")
    check_raw(ulx3s, JOBS[0])


def start(device, job, heads=1):
    """Start a run on whatever lies in memory; heads: as often, in the same place, which takes as much longer."""
    fields = described(job, place_operands(device.config, job))
    if heads > 1:
        fields |= {name: 0 for name in fields if name.endswith("_head_stride")} | {"heads": heads}
    device._link.write_registers(*pack("descriptor", fields))
    device._link.start()


def test_busy_and_reset(ulx3s, zuboard, monkeypatch):
    monkeypatch.setattr("fpga.host.accelerator.PATIENCE", 0.5)
    start(zuboard, Job(1000, 1000, 16, 16, 40000, 20, 1))
    with pytest.raises(DeviceBusy, match=r"^sim:zuboard is still busy after 0\.5 s; .*; this program did not start"):
        check_raw(zuboard, JOBS[0])
    start(ulx3s, Job(40, 60, 5, 5, 40000, 20, 1), heads=128)
    with pytest.raises(DeviceError, match=r"^sim:ulx3s is busy with a run, so that its memory cannot be used"):
        ulx3s._link.read_memory(0, 4)
    ulx3s._link.wait(60)
    start(ulx3s, Job(40, 60, 5, 5, 40000, 20, 1), heads=128)
    for device in (ulx3s, zuboard):
        device.reset()
        assert device._link.state().trouble == "the run was broken off: it was reset"
        check_raw(device, JOBS[0])


def test_the_zuboard(zuboard):
    slower = [check_raw(zuboard, job) for job in JOBS]
    assert all(engine > golden for (engine, golden), *_ in slower)
    check_floats(zuboard, 4, 2, 33, 30, 10, window=7)
    link = zuboard._link
    base = link.read_registers(address("control.memory_base_low"), 1)
    for wrong, code in ((base[0] + (1 << 25), "DECERR"), (base[0] + 64, "DECERR")):
        link.write_registers(address("control.memory_base_low"), [wrong])
        with pytest.raises(DeviceError, match=rf"^sim:zuboard: the run was broken off: a (read|write) was .* {code}"):
            check_raw(zuboard, JOBS[0])
        link.write_registers(address("control.memory_base_low"), base)
        check_raw(zuboard, JOBS[0])
    with pytest.raises(DeviceError, match="register 0x200 is answered with 2, an error"):
        link.read_registers(0x200, 1)


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # also in the middle of reading
        return False
    return state.rpartition(") ")[2][0] != "Z"


def gone(pid, seconds=5):
    end = time.monotonic() + seconds
    while alive(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.02)


def test_devices_that_end(ulx3s, zuboard):
    os.kill(ulx3s._link.process.pid, signal.SIGKILL)
    with pytest.raises(DeviceError, match=r"^sim:ulx3s went away"):
        check_raw(ulx3s, JOBS[0])
    os.kill(zuboard._link.pynq.process.pid, signal.SIGKILL)
    with pytest.raises(DeviceError, match=r"^the simulated ZUBoard has ended; connect anew"):
        check_raw(zuboard, JOBS[0])


OWNER = """
import sys, time
from fpga.host import connect
from golden.config import EngineConfig
device = connect("sim:{target}", {config!r})
def idle():
    while True:
        time.sleep(0.05)  # not once and long: Python misses a signal that comes just before the process falls asleep
print((device._link.process if "{target}" == "ulx3s" else device._link.pynq.process).pid, flush=True)
{then}
"""


@pytest.mark.parametrize("target, config", [("ulx3s", SMALL), ("zuboard", NARROW)], ids=["ulx3s", "zuboard"])
@pytest.mark.parametrize(
    "then, sent",
    [
        ("", None),
        pytest.param("device.close(); idle()", None, marks=pytest.mark.slow),
        pytest.param("del device; idle()", None, marks=pytest.mark.slow),
        pytest.param("idle()", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("idle()", signal.SIGTERM, marks=pytest.mark.slow),
        ("idle()", signal.SIGKILL),
        ("import numpy as np; q = np.ones((400, 8))\nwhile True: device.attention(q, q, q)", signal.SIGINT),
        pytest.param(
            "import numpy as np; q = np.ones((400, 8))\nwhile True: device.attention(q, q, q)", signal.SIGKILL,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["end", "close", "del", "ctrl-c", "term", "kill", "ctrl-c in a run", "kill in a run"],
)
def test_no_device_outlives_its_owner(ulx3s, zuboard, target, config, then, sent):
    script = OWNER.format(target=target, config=config, then=then)
    owner = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        pid = int(owner.stdout.readline())
        if sent:
            assert alive(pid)
            time.sleep(0.3 if "run" in then else 0)
            os.killpg(owner.pid, sent)
        gone(pid)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()


def test_configurations_that_a_board_cannot_have():
    with pytest.raises(ConfigError, match="word_bytes of tiny must be 8 or 16 for an AXI bus"):
        connect("sim:zuboard", "tiny")


@pytest.mark.slow
@pytest.mark.parametrize("target, config", [("ulx3s", "base"), ("zuboard", "base"), ("zuboard", "wide")])
def test_boards_as_they_are_built(target, config):
    with one_at_a_time():
        device = connect(f"sim:{target}", config)
    with device:
        assert device.config.name == config
        for job in JOBS:
            check_raw(device, job)
        large = Job(40, 200, 64, 64, 40000, 23, 32, heads=4, group=2, causal=True, q_position=160, state=True)
        check_raw(device, large)
        assert check_floats(device, 2, 1, 33, 400, 64, causal=True).runs == 1


@pytest.mark.slow
@pytest.mark.parametrize("latency, stalls", [(0, 0), (1, 200), (64, 0), (200, 100)])
@pytest.mark.parametrize("seed", [0, 1])
def test_memories_of_the_zuboard(latency, stalls, seed):
    with one_at_a_time():
        link = SimulatedZuboard(NARROW, latency=latency, stalls=stalls, seed=seed)
    with Accelerator(link, NARROW) as device:
        for job in JOBS:
            check_raw(device, job, seed)
