"""The systolic array against matrix products."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from golden import latency
from golden.config import NAMED
from golden.formats import P_BITS
from hw.signals import bit, unsigned
from hw.systolic_array import psum_bits, systolic_array
from tests.hw.harness import BACKENDS, pack, run, unpack

SHAPES = [(1, 1), (1, 4), (4, 1), (4, 4), (2, 8), (8, 2)]
ORIENTATIONS = pytest.mark.parametrize("keys_on", ["columns", "rows"])


@dataclass
class Operands:
    """Widths of the array's operands and what may arrive on them."""

    act_bits: int = 8
    weight_bits: int = 8
    acts: tuple = (-128, 127)

    @property
    def weights(self):
        return -(1 << (self.weight_bits - 1)), (1 << (self.weight_bits - 1)) - 1

    @property
    def bound(self):
        return max(abs(act) for act in self.acts) * -self.weights[0]


INT8, Q88 = Operands(), Operands(16, 16, (-32768, 32767))
P_INT8, P_Q88 = (Operands(P_BITS + 1, bits, (0, 1 << (P_BITS - 1))) for bits in (8, 16))


@dataclass
class Timeline:
    """Passes of rows under their weights, laid out cycle by cycle; what is not said is noise."""

    rows: int
    cols: int
    keys_on: str
    operands: Operands
    rng: np.random.Generator
    acts: list = field(default_factory=list)
    weights_in: list = field(default_factory=list)
    control: list = field(default_factory=list)  # first, shift, swap
    active: list = field(default_factory=list)  # the weights that each cycle's row meets, None before the first swap
    loaded: np.ndarray | None = None

    @property
    def keys(self):
        return self.cols if self.keys_on == "columns" else self.rows

    def noise(self, side, shape):
        return self.rng.integers(side[0], side[1], shape, endpoint=True)

    def extremes(self, side, shape):
        return self.rng.choice(side, shape)

    def cycle(self, act, weights, first=0, shift=0, swap=0):
        self.acts.append(act)
        self.weights_in.append(weights)
        self.control.append((first, shift, swap))
        in_use = self.active[-1] if self.active else None
        self.active.append(self.loaded if swap else in_use)

    def pass_over(self, acts, following=None, gap=0, late=0):
        """Rows under the weights loaded last, while those of the next pass shift in.

        A pass lasts as long as its rows or the load, whichever is longer, and `gap` more cycles. The load starts
        `late` cycles after the swap.
        """
        length = max(len(acts), self.keys + late if following is not None else 0) + gap
        lanes = self.rows if self.keys_on == "columns" else self.cols
        for step in range(length):
            act = acts[step] if step < len(acts) else self.noise(self.operands.acts, self.rows)
            key = self.keys - 1 - (step - late)
            shift = following is not None and 0 <= key < self.keys
            weights = self.noise(self.operands.weights, lanes)
            if shift:
                weights = following[:, key] if self.keys_on == "columns" else following[key]
            swap = step == 0 and self.loaded is not None
            self.cycle(act, weights, shift and step == late, shift, swap)
        self.loaded = following

    def check(self, backend, extra=0):
        rows, cols, operands = self.rows, self.cols, self.operands
        cycles = rows + cols + 2 + extra
        bits = psum_bits(operands.bound, rows)
        ports = {
            "act_in": unsigned(rows * operands.act_bits),
            "out": unsigned(cols * bits),
            "weight_in": unsigned((rows if self.keys_on == "columns" else cols) * operands.weight_bits),
        }
        ports |= {name: bit() for name in ("shift", "first", "swap")}
        first, shift, swap = zip(*self.control, strict=True)
        columns = {
            "act_in": [pack(act, operands.act_bits) for act in self.acts],
            "weight_in": [pack(weights, operands.weight_bits) for weights in self.weights_in],
            "first": first, "shift": shift, "swap": swap,
        }  # fmt: skip
        parameters = {
            "rows": rows, "cols": cols, "act_bits": operands.act_bits, "weight_bits": operands.weight_bits,
            "bound": operands.bound, "keys_on": self.keys_on, "latency": cycles,
        }  # fmt: skip
        trace = run(systolic_array, ports, columns, ["out"], backend, parameters, after=cycles)["out"]
        # Every cycle's row, noise included: the weights change with the swap and at no other time.
        for cycle, (act, weights) in enumerate(zip(self.acts, self.active, strict=True)):
            if weights is not None:
                expected = (np.asarray(act) @ weights).tolist()
                assert unpack(trace[cycle + cycles], bits, cols, signed=True) == expected, cycle


def timeline(rows, cols, keys_on, operands, seed=0):
    return Timeline(rows, cols, keys_on, operands, np.random.default_rng([seed, rows, cols]))


def random_passes(line):
    """Minimum period, then longer passes, gaps and late loads, with weights and rows of all kinds."""
    shape, keys, operands = (line.rows, line.cols), line.keys, line.operands
    line.pass_over([], line.noise(operands.weights, shape))
    plan = [(keys, 0, 0)] * 6 + [(1, 0, 0)] * 2 + [(keys + 3, 0, 0), (keys, 5, 0), (2, 1, 3), (keys, 0, 1), (1, 0, 0)]
    for number, (count, gap, late) in enumerate(plan):
        draw = line.extremes if number % 3 == 2 else line.noise
        line.pass_over(draw(operands.acts, (count, line.rows)), draw(operands.weights, shape), gap, late)
    line.pass_over(line.noise(operands.acts, (3, line.rows)))


@BACKENDS
@ORIENTATIONS
@pytest.mark.parametrize("rows, cols", SHAPES)
def test_passes(rows, cols, keys_on, backend):
    line = timeline(rows, cols, keys_on, INT8 if keys_on == "columns" else P_INT8)
    random_passes(line)
    line.check(backend)


@BACKENDS
@ORIENTATIONS
@pytest.mark.parametrize("extra", [1, 4])
def test_longer_latency(extra, keys_on, backend):
    line = timeline(2, 4, keys_on, Q88 if keys_on == "columns" else P_Q88)
    random_passes(line)
    line.check(backend, extra)


@BACKENDS
@pytest.mark.parametrize("operands", [INT8, Q88, P_INT8, P_Q88], ids=["int8", "q88", "p-int8", "p-q88"])
@ORIENTATIONS
def test_extremes(keys_on, operands, backend):
    """All rows and weights at the same end of their range, and one outlier among zeros."""
    line = timeline(4, 4, keys_on, operands)
    ends = [np.full((4, 4), end) for end in operands.weights]
    outlier = np.zeros((4, 4), dtype=np.int64)
    outlier[2, 1] = operands.weights[0]
    line.pass_over([], ends[0])
    for weights in (ends[1], ends[0], outlier, outlier.T, ends[1]):
        one = np.zeros(4, dtype=np.int64)
        one[2] = operands.acts[1]
        line.pass_over([np.full(4, operands.acts[0]), np.full(4, operands.acts[1]), one, 0 * one], weights)
    line.pass_over([np.full(4, end) for end in operands.acts])
    line.check(backend)


@pytest.mark.slow
@BACKENDS
@pytest.mark.parametrize("name", ["base", "wide", "lanes16"])
@ORIENTATIONS
def test_arrays_of_the_named_configurations(keys_on, name, backend):
    config = NAMED[name]
    depth, keys = config.array_depth, config.array_keys
    narrow = config.element == "int8"
    if keys_on == "columns":
        line = timeline(depth, keys, keys_on, INT8 if narrow else Q88)
    else:
        line = timeline(keys, depth, keys_on, P_INT8 if narrow else P_Q88)
    random_passes(line)
    line.check(backend, latency.array(config) - (depth + keys + 2))


@pytest.mark.parametrize("name", NAMED)
def test_the_latency_of_a_configuration_covers_its_array(name):
    config = NAMED[name]
    assert latency.array(config) >= max(config.array_depth + config.array_keys + 2, latency.OUTPUT_READ_AHEAD)
