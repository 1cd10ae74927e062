"""Data sources of a run, checked: a file, a preset, a head of a real model, or random numbers."""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from golden.config import EngineConfig
from golden.heads import DEFAULT_HEAD, MODEL, UnknownHead, load_head
from golden.job import Job, encode_scale
from golden.layout import layout
from golden.presets import UnknownPreset, load_preset
from golden.quantise import quantise

OPERANDS = ("q", "k", "v")


class InputError(ValueError):
    """Data that cannot be run; the message is one sentence that names the value and says what would be right."""


@dataclass(frozen=True)
class Inputs:
    """Heads to run.

    heads: (q, k, v) of each, finite float64 [n_q, d], [n_kv, d], [n_kv, d_v], all dimensions at least 1 and the same
    for every head. batched: whether the source had a head axis. causal: whether the source itself asks for the mask.
    published_error: see :class:`golden.presets.Preset`; None for other sources.
    """

    heads: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    description: str
    batched: bool = False
    causal: bool = False
    published_error: float | None = None


@dataclass(frozen=True)
class QuantisedHead:
    """One head as the engine gets it.

    floats: (q, k, v) before quantisation. raw: the same as int64 elements. steps: value of one LSB of q, k and v.
    clipped: number of elements that were out of range. softmax_scale: 1/sqrt(d). job: checked descriptor.
    """

    floats: tuple[np.ndarray, np.ndarray, np.ndarray]
    raw: tuple[np.ndarray, np.ndarray, np.ndarray]
    steps: tuple[float, float, float]
    clipped: int
    softmax_scale: float
    job: Job


def quantise_head(
    config: EngineConfig, head, causal: bool = False, q_rows: int | None = None, overlap: bool = True,
    latency: int = 10, window: int | None = None, naive: bool = False,
) -> QuantisedHead:  # fmt: skip
    """Quantise a head of :class:`Inputs` and describe its run; causal: query i sees keys up to i + n_kv - n_q.

    Args:
        q_rows: query rows per block; None for as many as there are, up to the configured maximum.
        overlap, latency, window, naive: see golden.job.Job; with a window queries have the positions of causal ones.

    Raises:
        JobError: `config` cannot run it, or its memory is too small.
    """
    q, k, v = head
    raw, steps, clipped = zip(*(quantise(array, config) for array in head), strict=True)
    softmax_scale = 1 / math.sqrt(q.shape[1])
    mantissa, shift = encode_scale(softmax_scale * math.log2(math.e) * steps[0] * steps[1])
    job = Job(
        n_q=len(q),
        n_kv=len(k),
        dim=q.shape[1],
        value_dim=v.shape[1],
        scale_mantissa=mantissa,
        scale_shift=shift,
        q_rows=min(config.max_rows, len(q)) if q_rows is None else q_rows,
        causal=causal,
        q_position=len(k) - len(q) if causal or window is not None else 0,
        overlap=overlap,
        latency=latency,
        window=window,
        naive=naive,
    )
    job.check(config)
    layout(config, job)
    return QuantisedHead((q, k, v), raw, steps, sum(clipped), softmax_scale, job)


def load_inputs(
    config: EngineConfig,
    file: str | None = None,
    preset: str | None = None,
    head: str | None = None,
    random: tuple[int, int] | None = None,
    seed: int = 0,
) -> Inputs:
    """The heads of the one data source that is given, :data:`golden.heads.DEFAULT_HEAD` if none is.

    Args:
        config: bounds the size of random data; other sizes are checked with the job.
        file: .npz file with arrays q, k, v, each [n, d] or each [heads, n, d].
        preset, head: names. random: (tokens, dimension) of normally distributed data, drawn with `seed`.

    Raises:
        InputError: more than one source, or one that cannot be used.
    """
    sources = {"--input": file, "--preset": preset, "--head": head, "--random": random}
    given = [option for option, value in sources.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are both data sources; give only one of {', '.join(sources)}")
    if file is not None:
        return _from_file(file)
    if preset is not None:
        return _from_preset(preset)
    if random is not None:
        return _from_random(config, *random, seed)
    return _from_head(DEFAULT_HEAD if head is None else head)


def _from_preset(name: str) -> Inputs:
    try:
        preset = load_preset(name)
    except UnknownPreset as error:
        raise InputError(str(error)) from None
    return Inputs(
        heads=[(preset.q, preset.k, preset.v)],
        description=f"preset {name} ({preset.description})",
        causal=preset.causal,
        published_error=preset.published_error,
    )


def _from_head(name: str) -> Inputs:
    try:
        arrays = load_head(name)
    except UnknownHead as error:
        raise InputError(str(error)) from None
    return Inputs([tuple(array.astype(np.float64) for array in arrays)], f"head {name} of {MODEL}")


def _from_random(config: EngineConfig, tokens: int, dim: int, seed: int) -> Inputs:
    # Checked before drawing: a slip of the keyboard must not ask for all memory there is.
    for name, value, limit in (("N", tokens, "max_keys"), ("D", dim, "max_dim")):
        if not 1 <= value <= getattr(config, limit):
            raise InputError(
                f"{name} of --random must be between 1 and {getattr(config, limit)} ({limit} of {config.name}), "
                f"not {value}"
            )
    if seed < 0:
        raise InputError(f"--seed must be at least 0, not {seed}")
    q, k, v = np.random.default_rng(seed).normal(size=(3, tokens, dim))
    return Inputs([(q, k, v)], f"normally distributed data, {tokens} tokens of dimension {dim}, seed {seed}")


def _from_file(path: str) -> Inputs:
    q, k, v = (_as_float(path, name, array) for name, array in _read(path).items())
    _check_shapes(path, {"q": q, "k": k, "v": v})
    _check_range(path, q, k, v)
    heads = list(zip(q, k, v, strict=True)) if q.ndim == 3 else [(q, k, v)]
    return Inputs(heads, f"file {path!r}", batched=q.ndim == 3)


def _read(path: str) -> dict[str, np.ndarray]:
    """Arrays q, k, v of a file, of any dtype and shape."""
    if not os.path.isfile(path):
        problem = "it is not a regular file" if os.path.exists(path) else "there is no such file"
        raise InputError(f"cannot read {path!r}: {problem}; give an .npz file with arrays q, k and v")
    try:
        with open(path, "rb") as file, _open_archive(path, file) as archive:
            return {name: _read_array(path, archive, name) for name in OPERANDS}
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror or error}; give a readable .npz file") from None


def _open_archive(path: str, file: BinaryIO) -> np.lib.npyio.NpzFile:
    try:
        archive = np.load(file, allow_pickle=False)
    except (zipfile.BadZipFile, NotImplementedError):
        raise InputError(f"{path!r} is a damaged .npz file; save it again with numpy.savez") from None
    except (ValueError, EOFError):
        # What NumPy does not know it takes for a pickle, and refuses.
        raise InputError(
            f"{path!r} is not an .npz file (pickled data is not read); save q, k and v with numpy.savez"
        ) from None
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise InputError(f"{path!r} holds a single array; save q, k and v together with numpy.savez")
    return archive


def _read_array(path: str, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    if name not in archive.files:
        there = ", ".join(repr(other) for other in archive.files[:8]) or "none"
        raise InputError(f"array {name!r} is missing in {path!r} (there: {there}); save q, k and v by these names")
    try:
        array = archive[name]
    except MemoryError:
        raise InputError(f"array {name!r} of {path!r} is too large for this machine's memory") from None
    except Exception as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"array {name!r} of {path!r} holds Python objects, which are not read; save it as plain numbers"
            ) from None
        raise InputError(f"array {name!r} of {path!r} is damaged; save it again with numpy.savez") from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name!r} of {path!r} is not a NumPy array; save q, k and v with numpy.savez")
    return array


def _as_float(path: str, name: str, array: np.ndarray) -> np.ndarray:
    """The array as finite float64."""
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"array {name!r} of {path!r} has dtype {array.dtype}; convert it to real numbers, such as float32"
        )
    with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite, and are reported as such
        values = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        index = ", ".join(str(int(i)) for i in bad[0])
        value = values[tuple(bad[0])]
        raise InputError(f"{name}[{index}] of {path!r} is {value}; all values must be finite")
    return values


def _check_shapes(path: str, arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if array.ndim not in (2, 3):
            raise InputError(f"array {name!r} of {path!r} has shape {array.shape}; it must be [n, d] or [heads, n, d]")
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    q, k, v = arrays.values()
    if not q.ndim == k.ndim == v.ndim:
        raise InputError(f"shapes in {path!r} do not fit ({shapes}): all must be [n, d], or all [heads, n, d]")
    if q.ndim == 3 and not len(q) == len(k) == len(v):
        raise InputError(f"shapes in {path!r} do not fit ({shapes}): q, k and v must have as many heads")
    if q.shape[-1] != k.shape[-1]:
        raise InputError(f"shapes in {path!r} do not fit ({shapes}): rows of q and of k must be as long")
    if k.shape[-2] != v.shape[-2]:
        raise InputError(f"shapes in {path!r} do not fit ({shapes}): k and v must have as many rows")
    for name, array in arrays.items():
        for axis, what in ((-3, "heads"), (-2, "rows (an empty sequence)"), (-1, "columns (head dimension 0)")):
            if -axis <= array.ndim and array.shape[axis] == 0:
                raise InputError(f"array {name!r} of {path!r}, shape {array.shape}, has no {what}; give at least one")


def _check_range(path: str, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    """Bounds on scores and on sums of values must be finite in float64; INT8 scales then are, too."""
    largest_q, largest_k, largest_v = (float(np.abs(array).max()) for array in (q, k, v))
    if not math.isfinite(largest_q * largest_k * q.shape[-1]):
        raise InputError(
            f"values in {path!r} are too large (q up to {largest_q:.3g}, k up to {largest_k:.3g}): the score scale "
            "overflows float64; scale q or k down"
        )
    if not math.isfinite(largest_v * v.shape[-2]):
        raise InputError(
            f"values in {path!r} are too large (v up to {largest_v:.3g}): sums of v overflow float64; scale v down"
        )
