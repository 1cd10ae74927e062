"""Chunks of O, and rows of S and P, on one way to memory."""

import random

import pytest

from golden import latency
from golden.formats import P_BITS, Z_BITS, half_up, saturate
from golden.naive import P_LIMIT, S_BITS, S_SHIFT
from hw.leaving_rows import OutputFlags, leaving_rows
from hw.signals import bit, unsigned
from hw.writer import Leaving
from tests.hw.flow import CONFIGS
from tests.hw.harness import BACKENDS, pack, run

Z_LANE = Z_BITS - S_SHIFT + 1
FLAGS = ("last_final", "last_chunk", "last", "end")


def ports(config):
    lanes, keys = config.array_keys, config.array_keys.bit_length()
    bits = ("reset", "output_push", "scored", "store_s", "store_p", "s_last", "p_last", "push")
    return {name: bit() for name in bits} | {
        "tail_elements": unsigned(config.array_depth.bit_length()), "normalised": unsigned(16 * config.array_depth),
        "finished": OutputFlags(), "z": unsigned(lanes * Z_LANE), "z_out_of_range": unsigned(lanes),
        "visible": unsigned(lanes), "s_keys": unsigned(keys), "p": unsigned(lanes * P_BITS), "p_keys": unsigned(keys),
        "leaving": Leaving(config), "out_of_range": unsigned(lanes),
    }  # fmt: skip


def draw(config, rng, kind):
    """Inputs of a cycle in which a chunk of O ("o"), a row of S or P, a row of z that stays, or nothing comes."""
    lanes, widths = config.array_keys, {name: len(signal) for name, signal in vars(OutputFlags()).items()}
    z = [rng.choice((rng.getrandbits(Z_LANE) - (1 << Z_LANE - 1), rng.randrange(-70000, 70000))) for _ in range(lanes)]
    inputs = {f"finished_{name}": rng.getrandbits(width) for name, width in widths.items()}
    return z, inputs | {
        "normalised": rng.getrandbits(16 * config.array_depth), "output_push": int(kind == "o"),
        "scored": int(kind in ("s", "z")), "store_s": int(kind == "s"), "store_p": int(kind == "p"),
        "z": pack(z, Z_LANE), "z_out_of_range": rng.getrandbits(lanes) if kind == "z" else 0,
        "visible": rng.getrandbits(lanes), "p": pack([rng.randint(0, 1 << P_BITS - 1) for _ in range(lanes)], P_BITS),
        "s_keys": rng.randint(1, lanes), "p_keys": rng.randint(1, lanes), "s_last": rng.randrange(2),
        "p_last": rng.randrange(2),
    }  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", ["tiny", "lanes16", "banks16", "smallest"])
def test_random_rows(name, backend):
    """O leaves in its cycle, S and P two later; out_of_range tells of S, and of rows of z that are not stored."""
    config, rng = CONFIGS[name], random.Random(name)
    tail, lanes = rng.randint(1, config.array_depth), config.array_keys
    made = []
    for _ in range(250):
        # O and rows of S or P do not meet, nor do S and P.
        before = [kind for kind, *_ in made[-latency.SCRATCH :]]
        choices = "o-z" if any(kind in "sp" for kind in before) else "os-zp"
        kind = rng.choice("spz-" if before and before[-1] in "sp" and rng.random() < 0.5 else choices)
        if kind == "o" and any(each in "sp" for each in before):
            kind = "-"
        made.append((kind, *draw(config, rng, kind)))
    made.append(("-", *draw(config, rng, "-")))
    columns = {name: [inputs[name] for *_, inputs in made] for name in made[0][2]} | {"tail_elements": tail}
    outputs = ("push", "out_of_range", "leaving_lanes", "leaving_elements", "leaving_stored", "leaving_stored_p")
    outputs += tuple(f"leaving_{name}" for name in FLAGS)
    trace = run(leaving_rows, ports(config), columns, outputs, backend, {"config": config}, after=latency.SCRATCH)
    pushes, over = {}, {}
    for cycle, (kind, z, inputs) in enumerate(made):
        later = cycle + latency.SCRATCH
        exact = [int(half_up(value, 1)) for value in z]
        if kind == "o":
            flags = {name: inputs[f"finished_{name}"] for name in FLAGS}
            elements = tail if flags["last_chunk"] else config.array_depth
            pushes[cycle] = {"lanes": inputs["normalised"], "elements": elements, "stored": 0, "stored_p": 0} | flags
        elif kind in "sp":
            s = [int(saturate(value, S_BITS)) for value in exact]
            p = [min(inputs["p"] >> P_BITS * lane & (1 << P_BITS) - 1, P_LIMIT) for lane in range(lanes)]
            keys, last = inputs[f"{kind}_keys"], inputs[f"{kind}_last"]
            stored = {"lanes": pack(s if kind == "s" else p, 16), "elements": keys, "last": last}
            pushes[later] = stored | {"stored": 1, "stored_p": int(kind == "p")}
        if kind == "z":
            over[cycle + 1] = inputs["z_out_of_range"]
        elif kind == "s":
            flagged = [value != int(saturate(value, S_BITS)) for value in exact]
            over[cycle + 1] = sum(1 << lane for lane, flag in enumerate(flagged) if flag) & inputs["visible"]
    assert [cycle for cycle, push in enumerate(trace["push"]) if push] == sorted(pushes)
    for cycle, fields in pushes.items():
        assert {name: trace[f"leaving_{name}"][cycle] for name in fields} == fields, cycle
    assert trace["out_of_range"][1:] == [over.get(cycle, 0) for cycle in range(1, len(trace["push"]))]


@BACKENDS
@pytest.mark.parametrize("kind", ["s", "p"])
def test_reset_drops_the_rows_under_way(kind, backend):
    config, rng = CONFIGS["tiny"], random.Random(1)
    made = [draw(config, rng, each)[1] for each in [*[kind] * 12, "-"]]
    columns = {name: [inputs[name] for inputs in made] for name in made[0]} | {"tail_elements": 1}
    columns["reset"] = [int(cycle == 6) for cycle in range(13)]
    push = run(leaving_rows, ports(config), columns, ["push"], backend, {"config": config}, after=4)["push"]
    assert [cycle for cycle, flag in enumerate(push) if flag] == [2, 3, 4, 5, 6, *range(9, 14)]
