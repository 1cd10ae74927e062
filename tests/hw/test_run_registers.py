"""The held descriptor and what follows from it, against the configuration's own arithmetic."""

import pytest

from hw.ports import Descriptor
from hw.run_registers import Run, run_registers
from hw.signals import bit
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, run

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
    outputs = ["run_dim", "run_value_dim", "run_tail_elements"]
    outputs += [f"run_{operand}_{field}" for operand in ("qk", "v") for field in DERIVED]
    ports = {"reset": bit(), "load": bit(), "descriptor": Descriptor(config), "run": Run(config)}
    trace = run(run_registers, ports, inputs, outputs, backend, {"config": config})
    for index, (dim, value_dim) in enumerate(zip(dims, reversed(dims), strict=True)):
        found = {name: values[3 * index + 2] for name, values in trace.items()}
        assert (found["run_dim"], found["run_value_dim"]) == (dim, value_dim)
        assert tuple(found[f"run_qk_{field}"] for field in DERIVED) == expected(config, dim)
        assert tuple(found[f"run_v_{field}"] for field in DERIVED) == expected(config, value_dim)
        assert found["run_tail_elements"] == found["run_v_mask"].bit_count()


@BACKENDS
def test_every_field_is_held(backend):
    config = CONFIGS["tiny"]
    names = Descriptor(config).names()
    inputs = {"load": [1, 0, 0, 1, 0, 1, 0], "reset": [0, 0, 0, 0, 0, 1, 0]}
    for index, name in enumerate(names):
        limit = getattr(Descriptor(config), name).max or 2
        inputs[f"descriptor_{name}"] = [(value + index) % min(limit, 9) for value in (1, 2, 3, 5, 7, 4, 6)]
    inputs["descriptor_dim"] = inputs["descriptor_value_dim"] = [5, 2, 3, 16, 7, 4, 6]
    ports = {"reset": bit(), "load": bit(), "descriptor": Descriptor(config), "run": Run(config)}
    trace = run(run_registers, ports, inputs, [f"run_{name}" for name in names], backend, {"config": config})
    for name in names:
        given = inputs[f"descriptor_{name}"]
        assert trace[f"run_{name}"][1:] == [given[0], given[0], given[0], given[3], given[3], 0]
