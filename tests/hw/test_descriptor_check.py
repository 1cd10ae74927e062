"""What the engine refuses and why, against golden.layout.refusal: every reason, on both sides of each limit."""

import random
from dataclasses import replace

import pytest

from golden.config import NAMED
from golden.layout import Refusal, pack, refusal
from tests.hw.descriptors import job
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS
from tests.hw.run_unit import Bench, limits, random_descriptor

TINY = NAMED["tiny"]
FIELDS = {
    "n_q": Refusal.QUERIES, "n_kv": Refusal.KEYS, "dim": Refusal.DIM, "value_dim": Refusal.VALUE_DIM,
    "q_rows": Refusal.Q_ROWS, "heads": Refusal.HEADS, "group": Refusal.GROUP,
}  # fmt: skip


def plain(**fields):
    run_ = job(4, 6, 3, **({"dim": 5, "value_dim": 7, "state": True, "naive": True} | fields))
    return run_, pack(TINY, run_)


def codes(descriptors, config=TINY):
    return [refusal(config, *descriptor) for descriptor in descriptors]


@BACKENDS
@pytest.mark.parametrize("name", FIELDS)
def test_sizes(name, backend):
    """0 and the first value above the limit, however far above; 1 and the limit itself are not refused for it."""
    run_, place = plain()
    top = limits(TINY)[name]
    values = [0, 1, 2, top - 1, top, top + 1, 2 * top, 1 << 15, (1 << 16) - 1]
    if name in ("n_q", "n_kv"):
        values += [1 << 16, (1 << 32) - 1, 1 << 31]
    heads = {"heads": top} if name == "group" else {}
    made = [(replace(run_, **({name: value} | heads)), place) for value in values]
    assert codes(made[:1] + made[5:]) == [FIELDS[name]] * (len(made) - 4)
    assert FIELDS[name] not in codes(made[1:2] + made[4:5])
    Bench(TINY).check(made, backend)


@BACKENDS
def test_groups_that_do_not_divide(backend):
    made = [plain(heads=heads, group=group) for heads in (1, 2, 12, 63, 64, 256) for group in (1, 2, 3, 5, 63, 64)]
    assert Refusal.GROUP in codes(made) and Refusal.NONE in codes(made)
    Bench(TINY).check(made, backend)


@BACKENDS
def test_window_position_and_scale(backend):
    top = TINY.max_keys
    made = [plain(window=window) for window in (0, 1, 2 * top + 1, (1 << 32) - 1)]
    made += [plain(q_position=sign * (top + over)) for sign in (1, -1) for over in (-1, 0, 1)]
    made += [plain(q_position=value) for value in ((1 << 31) - 1, -(1 << 31), 2 * top, -2 * top, 1 << 16)]
    made += [plain(scale_shift=value) for value in (0, 46, 47, 48, 63)]
    assert codes(made).count(Refusal.WINDOW) == 1 and codes(made).count(Refusal.SCALE) == 2
    assert codes(made).count(Refusal.POSITION) == 7
    Bench(TINY).check(made, backend)


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "wide", "smallest"])
def test_alignment(name, backend):
    """Each address and stride, off by each bit below a word; not where the run does not use it."""
    config = CONFIGS[name]
    made = []
    for state, naive in ((False, False), (True, True)):
        run_ = job(1, 1, state=state, naive=naive)
        place = pack(config, run_)
        for field in vars(place):
            for shift in range(config.word_bytes.bit_length()):
                made.append((run_, replace(place, **{field: getattr(place, field) + (1 << shift)})))
    assert Refusal.MISALIGNED in codes(made, config) and Refusal.NONE in codes(made, config)
    Bench(config).check(made, backend)


@BACKENDS
def test_strides(backend):
    """A word short of the row, exactly the row, and more than the memory has, where there is one row only."""
    made = []
    for state in (False, True):
        for n_q, n_kv in ((1, 1), (4, 6)):
            run_, place = plain(state=state)
            run_ = replace(run_, n_q=n_q, n_kv=n_kv)
            for name in ("q_stride", "k_stride", "v_stride", "o_stride", "state_stride"):
                exact = getattr(place, name)
                far = (TINY.memory_bytes, TINY.memory_bytes + 4, 1 << 31, (1 << 32) - 4)
                values = (0, exact - 4, exact, exact + 4, *far)
                made += [(run_, replace(place, **{name: value})) for value in values]
    found = codes(made)
    assert {Refusal.NONE, Refusal.STRIDE, Refusal.Q_MEMORY, Refusal.STATE_MEMORY} <= set(found)
    Bench(TINY).check(made, backend)


@BACKENDS
@pytest.mark.parametrize("operand", ["q", "k", "v", "o", "state", "scratch"])
def test_the_end_of_memory(operand, backend):
    """Its last word is the memory's last one, or one beyond; by the address, a stride, a head stride, alone and all."""
    made, end = [], TINY.memory_bytes
    for heads, group in ((1, 1), (4, 2)):
        run_, place = plain(heads=heads, group=group)
        rows, count = (6, heads // group) if operand in "kv" else (4, heads)
        if operand == "scratch":
            size, steps = 2 * 3 * TINY.scratch_row_words * 4, {}
        else:
            stride = getattr(place, f"{operand}_stride")
            size = count * rows * stride
            steps = {"stride": rows - 1, "head_stride": count - 1}
        address = f"{operand}_address"
        made += [(run_, replace(place, **{address: end - size + 4 * over})) for over in (-1, 0, 1)]
        made += [(run_, replace(place, **{address: value})) for value in (end - 4, end, end + 4, 1 << 31, 0xFFFFFFFC)]
        for name, factor in steps.items():
            if not factor:
                continue
            old = getattr(place, f"{operand}_{name}")
            most = (end - getattr(place, address) - size) // factor // 4 * 4 + old
            values = (most - 4, most, most + 4, end, 0xFFFFFFFC)
            made += [(run_, replace(place, **{f"{operand}_{name}": value})) for value in values]
        # Where it is not in use, nothing of it matters.
        idle = replace(run_, state=operand != "state", naive=operand != "scratch")
        made += [(idle, replace(place, **{address: value})) for value in (end, 0xFFFFFFFF)]
    found = codes(made)
    assert Refusal[f"{operand.upper()}_MEMORY"] in found
    Bench(TINY).check(made, backend)


@BACKENDS
def test_overlaps(backend):
    """What is written touches each other operand from below and from above, a word apart and with one in common."""
    made = []
    run_, place = plain()
    ends = {"q": 4 * 8, "k": 6 * 8, "v": 6 * 8, "o": 4 * 16, "state": 4 * 8, "scratch": 2 * 3 * 8}
    apart = {f"{name}_address": 1024 * index for index, name in enumerate(ends)}
    for written in ("o", "state", "scratch"):
        for other in ends:
            at = apart[f"{other}_address"]
            for address in (at + ends[other] - 4, at + ends[other], at - ends[written], at - ends[written] + 4, at):
                if address >= 0 and other != written:
                    made.append((run_, replace(place, **apart | {f"{written}_address": address})))
    # Operands that are only read may overlap.
    made += [(run_, replace(place, **apart | {"k_address": 0, "v_address": 4, "q_address": 0}))]
    for state, naive in ((False, True), (True, False), (False, False)):
        made += [(replace(run_, state=state, naive=naive), where) for _, where in made[: len(made) // 2 : 3]]
    found = codes(made)
    assert set(found) == {Refusal.NONE, Refusal.OVERLAP} and found.count(Refusal.NONE) > 20
    Bench(TINY).check(made, backend)


@BACKENDS
def test_the_lowest_reason_is_reported(backend):
    """All reasons at once, then without the lowest, and so on."""
    bad = {
        "n_q": 0, "n_kv": 0, "dim": 0, "value_dim": 0, "q_rows": 0, "heads": 0, "group": 0, "window": 0,
        "q_position": 1 << 20, "scale_shift": 63,
    }  # fmt: skip
    run_, place = plain()
    far = {f"{name}_address": 1 << 20 for name in ("q", "k", "v", "o", "state", "scratch")}
    steps = [({}, {"q_head_stride": 2} | far | {"v_stride": 0}), ({}, far | {"v_stride": 0}), ({}, far)]
    made = []
    while bad:
        made.append((replace(run_, **bad), replace(place, **steps[0][1])))
        bad.pop(next(iter(bad)))
    made += [(run_, replace(place, **fields)) for _, fields in steps]
    for name in list(far)[:-1]:
        far.pop(f"{name.removesuffix('_address')}_address")
        made.append((run_, replace(place, **far)))
    made += [(run_, replace(place, o_address=place.q_address)), (run_, place)]
    assert codes(made) == [*list(Refusal)[1:-1], Refusal.NONE]
    Bench(TINY).check(made, backend)


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "wide", "lanes16", "smallest", "banks16"])
def test_random_descriptors(name, backend):
    rng = random.Random(name)
    made = [random_descriptor(CONFIGS[name], rng) for _ in range(150)]
    Bench(CONFIGS[name]).check(made, backend)


@pytest.mark.slow
@BACKENDS
@pytest.mark.parametrize("name", CONFIGS)
def test_many_random_descriptors(name, backend):
    rng = random.Random(f"many {name}")
    Bench(CONFIGS[name]).check([random_descriptor(CONFIGS[name], rng) for _ in range(1000)], backend)
