import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gen.inputs import InputError, load_inputs, quantise_head
from golden.config import NAMED
from golden.heads import load_head
from golden.job import JobError
from golden.presets import load_preset, preset_names

BASE, TINY, Q88 = NAMED["base"], NAMED["tiny"], NAMED["q88"]


def heads(q=(5, 4), k=(7, 4), v=(7, 3), dtype=np.float64):
    """Small arrays q, k, v of the given shapes."""
    rng = np.random.default_rng(0)
    return {name: (8 * rng.normal(size=shape)).astype(dtype) for name, shape in (("q", q), ("k", k), ("v", v))}


@pytest.fixture
def saved(tmp_path):
    """Save arrays, return the file's name."""

    def save(**arrays):
        path = tmp_path / "heads.npz"
        np.savez(path, **arrays)
        return str(path)

    return save


def refusal(file):
    with pytest.raises(InputError) as caught:
        load_inputs(BASE, file=str(file))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_a_source_the_default_head_is_loaded():
    inputs = load_inputs(BASE)
    assert not inputs.causal and not inputs.batched and inputs.published_error is None
    assert "systolic18_layer0_head3 of all-MiniLM-L6-v2" in inputs.description
    for array, source in zip(inputs.heads[0], load_head("systolic18_layer0_head3"), strict=True):
        assert array.dtype == np.float64 and np.array_equal(array, source)


@pytest.mark.parametrize("name", preset_names())
def test_presets_carry_their_mask_and_published_error(name):
    inputs, preset = load_inputs(BASE, preset=name), load_preset(name)
    assert (inputs.causal, inputs.published_error) == (preset.causal, preset.published_error)
    assert np.array_equal(inputs.heads[0][2], preset.v)


def test_random_data_follow_the_seed():
    one, same, other = (load_inputs(BASE, random=(6, 5), seed=seed).heads[0][0] for seed in (3, 3, 4))
    assert one.shape == (6, 5)
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i1", "u2", "i8"])
def test_a_file_of_any_real_dtype_is_read_exactly(saved, dtype):
    arrays = heads(dtype=np.int8) if dtype == "u2" else heads()
    arrays = {name: np.abs(array).astype(dtype) for name, array in arrays.items()}
    (head,) = load_inputs(BASE, file=saved(**arrays)).heads
    for got, array in zip(head, arrays.values(), strict=True):
        assert got.dtype == np.float64 and np.array_equal(got, array)


def test_a_head_axis_gives_as_many_heads(saved):
    arrays = heads((2, 5, 4), (2, 7, 4), (2, 7, 3))
    inputs = load_inputs(BASE, file=saved(**arrays, other=np.zeros(2)))
    assert inputs.batched and len(inputs.heads) == 2
    assert np.array_equal(inputs.heads[1][1], arrays["k"][1])


# ---- files that are none


def test_a_missing_file_a_directory_and_a_device_are_named(tmp_path):
    assert "nowhere.npz': there is no such file; give an .npz file" in refusal(tmp_path / "nowhere.npz")
    assert f"{str(tmp_path)!r}: it is not a regular file; give an .npz file" in refusal(tmp_path)
    assert "'/dev/null': it is not a regular file" in refusal("/dev/null")


def test_an_unreadable_file_is_named(saved, monkeypatch):
    path = saved(**heads())

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert refusal(path) == f"cannot read {path!r}: Permission denied; give a readable .npz file"


@pytest.mark.parametrize("content", [b"", b"q,k,v\n1,2,3\n", pickle.dumps({"q": [1]}), b"\x80\x04", b"\x93NUMPY"])
def test_other_files_are_refused_without_unpickling(tmp_path, content):
    path = tmp_path / "heads.npz"
    path.write_bytes(content)
    assert "heads.npz' is not an .npz file (pickled data is not read); save q, k and v with numpy.savez" in refusal(
        path
    )


def test_a_single_array_is_refused(tmp_path):
    path = tmp_path / "q.npy"
    np.save(path, np.ones((3, 4)))
    assert "q.npy' holds a single array; save q, k and v together" in refusal(path)


@pytest.mark.parametrize(("length", "bit"), [(300, 0), (None, 1)])
def test_a_truncated_file_and_a_flipped_bit_are_noticed(saved, length, bit):
    path = Path(saved(**heads()))
    content = bytearray(path.read_bytes()[:length])
    content[200] ^= bit
    path.write_bytes(content)
    assert repr(str(path)) in refusal(path) and "damaged" in refusal(path)


def test_a_member_that_is_no_array_is_refused(tmp_path):
    path = tmp_path / "heads.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in "qkv":
            archive.writestr(name, "1 2 3")
    assert "'q' of" in refusal(path) and "is not a NumPy array" in refusal(path)


def test_an_array_larger_than_memory_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 30, 1 << 20)})
    path = tmp_path / "heads.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in "qkv":
            archive.writestr(f"{name}.npy", header.getvalue())
    assert "array 'q' of" in refusal(path) and "too large for this machine's memory" in refusal(path)


# ---- arrays that cannot be run


@pytest.mark.parametrize("name", "qkv")
def test_a_missing_array_is_named(saved, name):
    arrays = heads()
    arrays["queries"] = arrays.pop(name)
    message = refusal(saved(**arrays))
    assert f"array {name!r} is missing in" in message
    assert "'queries'" in message and "save q, k and v by these names" in message


def test_an_object_array_is_refused_without_unpickling(saved):
    arrays = heads() | {"k": np.array([[1, None]], dtype=object)}
    assert "array 'k' of" in refusal(saved(**arrays)) and "holds Python objects" in refusal(saved(**arrays))


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.ones((7, 4), dtype=complex), "complex128"),
        (np.full((7, 4), "1.0"), "<U3"),
        (np.ones((7, 4), dtype=bool), "bool"),
        (np.zeros((7, 4), dtype="datetime64[s]"), r"datetime64[s]"),
        (np.zeros((7, 4), dtype="V2"), "|V2"),
    ],
)
def test_dtypes_that_are_not_real_numbers_are_refused(saved, array, dtype):
    message = refusal(saved(**heads() | {"k": array}))
    assert "array 'k' of" in message
    assert f"has dtype {dtype}; convert it to real numbers, such as float32" in message


@pytest.mark.parametrize("shape", [(), (4,), (1, 2, 7, 4)])
def test_a_wrong_rank_is_refused(saved, shape):
    message = refusal(saved(**heads(k=shape)))
    assert "array 'k' of" in message and f"has shape {shape}; it must be [n, d] or [heads, n, d]" in message


@pytest.mark.parametrize(
    ("q", "k", "v", "reason"),
    [
        ((5, 4), (2, 7, 4), (2, 7, 3), "all must be [n, d], or all [heads, n, d]"),
        ((2, 5, 4), (1, 7, 4), (1, 7, 3), "q, k and v must have as many heads"),
        ((5, 4), (7, 5), (7, 3), "rows of q and of k must be as long"),
        ((5, 4), (7, 4), (6, 3), "k and v must have as many rows"),
    ],
)
def test_shapes_that_do_not_fit_are_shown(saved, q, k, v, reason):
    assert f"do not fit (q {q}, k {k}, v {v}): {reason}" in refusal(saved(**heads(q, k, v)))


@pytest.mark.parametrize(
    ("q", "k", "v", "reason"),
    [
        ((0, 4), (7, 4), (7, 3), "array 'q' of {}, shape (0, 4), has no rows (an empty sequence)"),
        ((5, 4), (0, 4), (0, 3), "array 'k' of {}, shape (0, 4), has no rows (an empty sequence)"),
        ((5, 0), (7, 0), (7, 3), "array 'q' of {}, shape (5, 0), has no columns (head dimension 0)"),
        ((5, 4), (7, 4), (7, 0), "array 'v' of {}, shape (7, 0), has no columns (head dimension 0)"),
        ((0, 5, 4), (0, 7, 4), (0, 7, 3), "array 'q' of {}, shape (0, 5, 4), has no heads"),
    ],
)
def test_empty_arrays_are_refused(saved, q, k, v, reason):
    path = saved(**heads(q, k, v))
    assert refusal(path) == reason.format(repr(path)) + "; give at least one"


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("name", "qkv")
def test_values_that_are_not_finite_are_located(saved, name, value, shown):
    arrays = heads()
    arrays[name][3, 2] = value
    path = saved(**arrays)
    assert refusal(path) == f"{name}[3, 2] of {path!r} is {shown}; all values must be finite"


@pytest.mark.parametrize(
    ("name", "remedy"), [("q", "scale q or k down"), ("k", "scale q or k down"), ("v", "scale v down")]
)
def test_scores_and_sums_must_stay_within_float64(saved, name, remedy):
    arrays = heads()
    arrays[name][0, 0] = 1.7e308
    message = refusal(saved(**arrays))
    assert f"{name} up to 1.7e+308" in message and message.endswith(remedy)
    arrays[name][0, 0] = 3.4e38  # the largest float32
    assert load_inputs(BASE, file=saved(**arrays)).heads


# ---- names, numbers and more than one source


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"preset": "selfie"}, "unknown preset 'selfie'; choose one of toy-sentence, "),
        ({"head": "layer0"}, "unknown head 'layer0'; choose one of systolic18_layer0_head3, "),
        ({"random": (0, 4)}, "N of --random must be between 1 and 1024 (max_keys of tiny), not 0"),
        ({"random": (10**15, 4)}, "N of --random must be between 1 and 1024 (max_keys of tiny), not 1000000000000000"),
        ({"random": (4, 17)}, "D of --random must be between 1 and 16 (max_dim of tiny), not 17"),
        ({"random": (4, 4), "seed": -1}, "--seed must be at least 0, not -1"),
        ({"head": "a", "preset": "self"}, "--preset and --head are both data sources; give only one of --input, "),
        ({"file": "", "random": (4, 4)}, "--input and --random are both data sources"),
    ],
)
def test_bad_sources_are_named(source, sentence):
    with pytest.raises(InputError) as caught:
        load_inputs(TINY, **source)
    assert str(caught.value).startswith(sentence)


def test_a_quantised_head_describes_its_run():
    (head,) = load_inputs(TINY, preset="random").heads
    quantised = quantise_head(TINY, head, causal=True, latency=3)
    job = quantised.job
    assert (job.n_q, job.n_kv, job.dim, job.value_dim, job.q_rows) == (16, 16, 4, 4, 16)
    assert (job.causal, job.q_position, job.overlap, job.latency) == (True, 0, True, 3)
    assert quantised.softmax_scale == 0.5
    assert max(abs(raw).max() for raw in quantised.raw) == 127
    for values, raw, step in zip(quantised.floats, quantised.raw, quantised.steps, strict=True):
        assert raw.dtype == np.int64
        assert np.abs(raw * step - values).max() <= step / 2 * (1 + 1e-12)
    assert job.scale_mantissa * 2.0**-job.scale_shift == pytest.approx(
        4096 * 0.5 * np.log2(np.e) * quantised.steps[0] * quantised.steps[1], rel=2**-16
    )


def test_causal_queries_are_the_last_positions_and_blocks_are_bounded(saved):
    (head,) = load_inputs(TINY, file=saved(**heads((5, 4), (40, 4), (40, 3)))).heads
    assert quantise_head(TINY, head, causal=True).job.q_position == 35
    assert quantise_head(TINY, head).job.q_position == 0
    (head,) = load_inputs(TINY, file=saved(**heads((40, 4), (5, 4), (5, 3)))).heads
    assert quantise_head(TINY, head, causal=True).job.q_position == -35
    assert quantise_head(TINY, head).job.q_rows == TINY.max_rows


def test_clipped_values_are_counted_over_q_k_and_v(saved):
    arrays = heads()
    arrays["q"][0, 0], arrays["v"][1, 1], arrays["v"][2, 2] = 200, -129, 1e30
    (head,) = load_inputs(Q88, file=saved(**arrays)).heads
    assert quantise_head(Q88, head).clipped == 3
    assert quantise_head(Q88, head).steps == (1 / 256,) * 3
    assert quantise_head(TINY, head).clipped == 0


@pytest.mark.parametrize(
    ("shape", "options", "sentence"),
    [
        ((5, 17), {}, "head dimension must be between 1 and 16"),
        ((1025, 1), {}, "number of queries must be between 1 and 1024"),
        ((1024, 16), {}, "memory of tiny is too small"),
        ((5, 4), {"q_rows": 0}, "query rows per block must be between 1 and 32"),
        ((5, 4), {"latency": 65}, "memory latency must be between 0 and 64 cycles, not 65"),
    ],
)
def test_what_the_engine_cannot_do_is_a_job_error(shape, options, sentence):
    array = np.ones(shape)
    with pytest.raises(JobError, match=sentence):
        quantise_head(TINY, (array, array, array), **options)
