"""The held descriptor and what follows from it, against the configuration's own arithmetic."""

import random

import pytest

from golden.formats import SCALE_SHIFT_MAX
from golden.job import MAX_GROUP, MAX_HEADS
from hw.ports import Descriptor
from hw.run_registers import Faults, Run, run_registers
from hw.signals import bit
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, flat, run

DERIVED = ("bytes", "words", "chunks", "mask")


def expected(config, dim):
    """Bytes, words and chunks of a row of that dimension, and the valid elements of its last chunk."""
    last = dim - (config.chunks(dim) - 1) * config.array_depth
    return dim * config.element_bytes, config.words(dim), config.chunks(dim), (1 << last) - 1


@BACKENDS
@pytest.mark.parametrize("name", CONFIGS)
def test_every_dimension(name, backend):
    """Two cycles after the load: a dimension goes up, the other one down."""
    config = CONFIGS[name]
    dims = range(1, config.max_dim + 1)
    inputs = {"load": [], "descriptor_dim": [], "descriptor_value_dim": []}
    for dim, value_dim in zip(dims, reversed(dims), strict=True):
        inputs["load"] += [1, 0, 0]
        # What is not loaded does not matter.
        inputs["descriptor_dim"] += [dim, 1, config.max_dim]
        inputs["descriptor_value_dim"] += [value_dim, config.max_dim, 1]
    outputs = ["run_tail_elements", "faults_o_words"]
    outputs += [f"run_{operand}_{field}" for operand in ("qk", "v") for field in DERIVED]
    ports = {"load": bit(), "descriptor": Descriptor(), "run": Run(config), "faults": Faults(config)}
    trace = run(run_registers, ports, inputs, outputs, backend, {"config": config})
    for index, (dim, value_dim) in enumerate(zip(dims, reversed(dims), strict=True)):
        found = {name: values[3 * index + 2] for name, values in trace.items()}
        assert tuple(found[f"run_qk_{field}"] for field in DERIVED) == expected(config, dim)
        assert tuple(found[f"run_v_{field}"] for field in DERIVED) == expected(config, value_dim)
        assert found["run_tail_elements"] == found["run_v_mask"].bit_count()
        assert found["faults_o_words"] == config.output_words(value_dim)


def held(config, fields):
    """What the engine holds of a descriptor: addresses and strides in words, and what is wrong with it."""
    words, far = {}, {}
    for name, value in fields.items():
        if name.endswith(("_address", "_stride")):
            words[name] = value // config.word_bytes % config.memory_words
            far[f"{name.removesuffix('_address')}_far"] = int(value >= config.memory_bytes)
    words["window"] = min(fields["window"], 2 * config.max_keys)
    used = {"state": fields["state"], "scratch": fields["naive"]}
    odd = (name for name in words if name != "window" and fields[name] % config.word_bytes)
    limits = {
        "n_q": config.max_keys, "n_kv": config.max_keys, "dim": config.max_dim, "value_dim": config.max_dim,
        "q_rows": config.max_rows, "heads": MAX_HEADS, "group": MAX_GROUP,
    }  # fmt: skip
    bad = {f"bad_{name}": not 1 <= fields[name] <= high for name, high in limits.items()} | {
        "misaligned": any(used.get(name.split("_")[0], True) for name in odd),
        "bad_window": fields["windowed"] and fields["window"] == 0,
        "bad_position": abs(fields["q_position"]) > config.max_keys,
        "bad_scale": fields["scale_shift"] > SCALE_SHIFT_MAX,
    }  # fmt: skip
    return fields | words | far | {name: int(flag) for name, flag in bad.items()}


def draw(config, rng):
    """Each field anywhere in its range, at its ends, or around a limit."""
    limits = (1, config.max_keys, config.max_dim, config.max_rows, MAX_HEADS, MAX_GROUP, SCALE_SHIFT_MAX)
    fields = {}
    for name, signal in vars(Descriptor()).items():
        low, high = (0, 1) if isinstance(signal.val, bool) else (signal.min, signal.max - 1)
        around = rng.choice(limits) + rng.randint(-1, 1), -config.max_keys + rng.randint(-1, 1)
        if name.endswith(("_address", "_stride")):
            around = (config.memory_bytes + rng.randint(-1, 1), config.word_bytes * rng.randrange(1 << 28))
        value = rng.choice((low, high, rng.randint(low, high), *around, 2 * config.max_keys + rng.randint(-1, 1)))
        fields[name] = min(max(value, low), high)
    if rng.random() < 0.5:  # aligned, but for one field perhaps
        odd = rng.choice(list(fields))
        for name in fields:
            if name.endswith(("_address", "_stride")) and name != odd:
                fields[name] &= -config.word_bytes
    return fields


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "wide", "smallest"])
def test_every_field_and_every_flag(name, backend):
    """In the cycle after load, and until the next one."""
    config, rng = CONFIGS[name], random.Random(name)
    descriptors = [draw(config, rng) for _ in range(150)]
    load = [int(rng.random() < 0.7) for _ in descriptors]
    inputs = {f"descriptor_{field}": [each[field] for each in descriptors] for field in descriptors[0]}
    fields = [field for field in held(config, descriptors[0]) if field not in ("dim", "value_dim")]
    ports = {"load": bit(), "descriptor": Descriptor(), "run": Run(config), "faults": Faults(config)}
    # A value beyond its limit is refused, whatever is held of it.
    mask = {name: (1 << len(signal)) - 1 for name, signal in flat(ports).items()}
    load[0] = 1
    inputs |= {"load": load}
    ports_of = {field: f"{'run' if hasattr(ports['run'], field) else 'faults'}_{field}" for field in fields}
    trace = run(run_registers, ports, inputs, list(ports_of.values()), backend, {"config": config}, after=1)
    expected = {}
    for cycle, descriptor in enumerate(descriptors):
        if load[cycle]:
            expected = held(config, descriptor)
        for field in fields:
            found, bits = trace[ports_of[field]][cycle + 1], mask[ports_of[field]]
            assert found & bits == expected[field] & bits, f"{field} in cycle {cycle}"
