"""Model files come back as they were written, and a file that is not one says so in a line."""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from crossarc import ModelError
from crossarc.models.checks import Fields, column_text, tensor, weights_fit
from crossarc.models.storage import pack, prune, quantised, read_model, unpack, write_model

ARRAYS = {
    "weights": np.arange(12, dtype=np.float16).reshape(3, 4),
    "codes": np.array([3, 1, 2], dtype=np.int32),
    "empty": np.empty((0, 2), dtype=np.float32),
}
METADATA = {"labels": ["nsubj", "obj", "ṛ́"], "temperature": 1.25, "root": "single"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "some.model"
    write_model(file, ARRAYS, METADATA)
    return file


def test_arrays_and_metadata_come_back(path: Path) -> None:
    arrays, metadata = read_model(path)
    assert metadata == METADATA
    assert set(arrays) == set(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert not array.flags.writeable


def test_the_safetensors_library_reads_the_file(path: Path) -> None:
    from safetensors.numpy import load_file

    arrays = load_file(path)
    assert set(arrays) == set(ARRAYS)
    np.testing.assert_array_equal(arrays["weights"], ARRAYS["weights"])


def test_the_same_model_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    write_model(again, dict(reversed(ARRAYS.items())), dict(reversed(METADATA.items())))
    assert again.read_bytes() == path.read_bytes()


def test_the_path_is_taken_as_it_is(tmp_path: Path) -> None:
    """DESIGN: at exactly the path given; a name such as x.gz compresses nothing."""
    write_model(tmp_path / "x.gz", ARRAYS, METADATA)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.gz"]
    assert read_model(tmp_path / "x.gz")[1] == METADATA


def test_a_failed_save_keeps_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_model(path, {"other": np.zeros(3)}, {})
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("place", [-1, -30, 300])
def test_a_damaged_file_is_noticed(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=f"^{path}: "):
        read_model(path)


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        b"# sent_id = 1\n1\ta\n",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 1 << 60) + b"{}",
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelError, match="not a model file of crossarc: give a file written by"):
        read_model(tmp_path / "x")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(ModelError, match="the file is empty"):
        read_model(tmp_path / "x")


def test_a_truncated_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelError):
        read_model(path)


def test_a_newer_format_is_refused_by_its_number(tmp_path: Path) -> None:
    about = json.dumps({"version": 3, "checksum": "", "metadata": {}})
    header = json.dumps({"__metadata__": {"crossarc": about}}).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelError, match="model format 3, this crossarc reads 2: install"):
        read_model(tmp_path / "x")


def test_arrays_that_deflate_well_are_stored_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sparse = (rng.random((500, 64)) < 0.05).astype(np.int16)
    arrays = {
        "sparse": sparse,
        "dense": rng.integers(0, 256, 9000, np.uint8),
        "real": np.zeros(900),
    }
    write_model(tmp_path / "x", arrays, {})
    size = (tmp_path / "x").stat().st_size
    assert 16_200 + sparse.nbytes / 32 < size < 16_800 + sparse.nbytes / 8
    found, _ = read_model(tmp_path / "x")
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert not found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)


BITS = np.packbits(np.arange(80_000) % 9 == 0)


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (zlib.compress(BITS), ["|u1", [len(BITS) + 1]]),
        (zlib.compress(BITS), ["|u1", [len(BITS) - 1]]),
        (zlib.compress(BITS), ["|u1", [-1, -len(BITS)]]),
        (zlib.compress(BITS), ["<f8", [len(BITS) // 8]]),
        (zlib.compress(BITS), ["|O", [len(BITS) // 8]]),
        (zlib.compress(BITS)[:-9], ["|u1", [len(BITS)]]),
        (bytes(BITS), ["|u1", [len(BITS)]]),
        (zlib.compress(bytes(1 << 24)), ["|u1", [1 << 24]]),
        (zlib.compress(BITS), ["|u1", [1 << 50]]),
        (zlib.compress(BITS), 3),
    ],
)
def test_deflated_arrays_that_are_none_are_refused(tmp_path: Path, data: bytes, form: Any) -> None:
    from safetensors.numpy import save

    about = {"version": 2, "checksum": "", "deflated": {"bits": form}, "metadata": {}}
    stored = {"bits": np.frombuffer(data, np.uint8)}
    (tmp_path / "x").write_bytes(save(stored, {"crossarc": json.dumps(about)}))
    with pytest.raises(ModelError, match="not a model file of crossarc"):
        read_model(tmp_path / "x")


WEIGHTS = nps.arrays(np.float32, st.integers(1, 40), elements=st.floats(-9, 9, width=32))


@given(WEIGHTS)
@example(np.array([3e-41, 1e-45], np.float32))
def test_packed_weights_come_back_rounded(weights: np.ndarray) -> None:
    numbers, scale = quantised(weights)
    assert numbers.dtype == np.int16
    error = float(np.abs(weights).max()) / 65534 * (1 + 1e-3)
    np.testing.assert_allclose(numbers * scale, weights.astype(float), atol=error)
    bits, values = pack(numbers)
    assert len(values) == np.count_nonzero(numbers)
    assert (unpack(bits, values, len(weights)) == numbers).all()


@given(WEIGHTS, st.integers(0, 45))
def test_pruning_keeps_the_largest(weights: np.ndarray, count: int) -> None:
    kept = prune(weights, count)
    assert np.count_nonzero(kept) <= count
    assert ((kept == weights) | (kept == 0)).all()
    dropped = np.abs(weights[(kept == 0) & (weights != 0)])
    if len(dropped) and np.count_nonzero(kept):
        assert dropped.max() < np.abs(kept[kept != 0]).min()


#: A method of `Fields` and its arguments; values that it takes, and values that it refuses.
FIELDS: dict[str, tuple[tuple[Any, ...], list[Any], list[Any]]] = {
    "whole": ((2, 4), [2, 3, 4], [1, 5, 3.0, True, "3", None]),
    "number": ((0.0, 4.0), [1, 2.5], [0.0, 4.0, -1, True, "2", None, math.nan]),
    "numbers": ((2,), [[1, 2.5], (0, -3)], [[1], [1, 2, 3], [1, "2"], [1, math.inf], "12", None]),
    "flag": ((), [True, False], [0, 1, "true", None]),
    "choice": ((("a", "b"),), ["a", "b"], ["c", "", ["a"], None]),
    "text": ((), ["", "a"], [1, ["a"], None]),
    "texts": ((), [[], ["a"], ("b", "a")], [["a", "a"], ["a", 1], [1, 2], "ab", "", {}, None]),
    "below": ((3,), [[], [0, 2], (1, 1)], [[3], [-1], [True], [1.0], ["0"], "", 0, None]),
    "items": ((), [[], [1, "a"], ()], ["", {}, 1, None]),
    "fields": ((), [{}, {"a": 1}], [[], "", 1, None]),
}


@pytest.mark.parametrize("method", FIELDS)
def test_values_of_metadata_are_checked(method: str) -> None:
    arguments, taken, refused = FIELDS[method]
    for value in taken:
        found = getattr(Fields({"it": value}), method)("it", *arguments)
        assert (list(found) if isinstance(value, list | tuple) else found) == (
            list(value) if isinstance(value, list | tuple) else value
        )
    for value in refused:
        with pytest.raises(ModelError, match="of the model must be"):
            getattr(Fields({"it": value}), method)("it", *arguments)
    with pytest.raises(ModelError, match="it is missing in the model"):
        getattr(Fields({}), method)("it", *arguments)


def test_more_about_values_of_metadata() -> None:
    with pytest.raises(ModelError, match="must be an object"):
        Fields([("it", 1)])
    assert [Fields({"it": value}).is_none("it") for value in (None, 0, "")] == [True, False, False]
    assert Fields({"it": ["a", "b"]}).texts("it", least=2) == ("a", "b")
    for value, options in ((["a"], {"least": 2}), (["a\tb"], {"written": True})):
        with pytest.raises(ModelError, match="of the model must be"):
            Fields({"it": value}).texts("it", **options)
    assert column_text("", may_be_empty=True) == ""
    for value in ("", "a\n", "\ud800", 1, None):
        with pytest.raises(ModelError, match="text that a column can hold"):
            column_text(value)


def test_arrays_are_checked() -> None:
    arrays = {"it": np.zeros((2, 3), np.float32), "bad": np.array([1.0, np.inf])}
    for shape in ((2, 3), (None, 3), (2, None), (None, None)):
        assert tensor(arrays, "it", np.float32, shape) is arrays["it"]
    for shape in ((3, 2), (2,), (None,), (2, 3, 1), (None, 2)):
        with pytest.raises(ModelError, match=r"the array it of the model must be float32 \("):
            tensor(arrays, "it", np.float32, shape)
    with pytest.raises(ModelError, match="must be float64"):
        tensor(arrays, "it", np.float64, (2, 3))
    with pytest.raises(ModelError, match="the array other is missing"):
        tensor(arrays, "other", np.float32, (2, 3))
    with pytest.raises(ModelError, match="not finite"):
        tensor(arrays, "bad", np.float64, (2,))


def test_a_table_needs_a_bit_a_weight() -> None:
    arrays = {"it": np.zeros(4, np.uint8)}
    weights_fit(arrays, "it", 5)
    with pytest.raises(ModelError, match=r"too short for 2\*\*6 weights"):
        weights_fit(arrays, "it", 6)
