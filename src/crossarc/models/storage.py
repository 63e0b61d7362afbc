"""Model files: named arrays and JSON metadata in one safetensors file; weights in 16 bits.

The file is read without running anything that it contains, its arrays are mapped into memory and
shared between processes, and a checksum detects damaged files. Arrays of whole numbers that deflate
well, as the bits of tables in which few weights are used, are stored so.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.treebank import open_output

__all__ = [
    "FORMAT_VERSION",
    "check_format",
    "pack",
    "prune",
    "quantised",
    "read_model",
    "unpack",
    "write_model",
]

Singles = NDArray[np.float32]
Shorts = NDArray[np.int16]

FORMAT_VERSION = 2
# In the first version no array was deflated.
_READ_VERSIONS = (1, 2)

# What reading a file that is none of ours may raise.
_UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    zlib.error,
)

_Arrays = Mapping[str, NDArray[Any]]

_KEY = "crossarc"
_INT16_MAX = 32767
# Arrays of at least so many bytes are deflated if that leaves at most this share of them. A file
# that says it leaves less than the other share was not written by crossarc.
_DEFLATED_BYTES, _DEFLATED_SHARE, _LEAST_SHARE = 4096, 0.7, 1.0 / 1000.0
# The first eight bytes of a safetensors file are the length of its header, little endian.
_LENGTH_BYTES = 8
_DTYPES = {
    "BOOL": np.bool_,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
}


def write_model(path: str | os.PathLike[str], arrays: _Arrays, metadata: Mapping[str, Any]) -> None:
    """Write a model file at exactly this path, whole or not at all."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    stored = {name: _deflated(array) for name, array in whole.items()}
    about = {
        "version": FORMAT_VERSION,
        "checksum": _checksum(whole, metadata),
        "deflated": {
            name: [array.dtype.str, array.shape]
            for name, array in whole.items()
            if stored[name] is not array
        },
        "metadata": dict(metadata),
    }
    # One entry: safetensors writes several in an order that changes from run to run.
    data = save(stored, {_KEY: _json(about)})
    with open_output(path, compress=False) as write:
        write(data)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read-only arrays, mapped into memory if not deflated, and the metadata of a model file.

    Raises:
        ModelError: no model file of crossarc, one of a newer version, or a damaged one.
    """
    name = os.fspath(path)
    with Path(path).open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise ModelError(f"{name}: the file is empty: train the model again") from None
    try:
        header, arrays = _parts(mapped)
        about = json.loads(header["__metadata__"][_KEY])
        version, checksum, metadata = about["version"], about["checksum"], about["metadata"]
        if not isinstance(metadata, dict):
            raise TypeError(type(metadata))
        for array, form in about.get("deflated", {}).items():
            arrays[array] = _inflated(arrays[array], *form)
        expected = _checksum(arrays, metadata)
    except _UNREADABLE:
        raise ModelError(
            f"{name}: not a model file of crossarc: give a file written by `crossarc train`"
        ) from None
    if version not in _READ_VERSIONS:
        raise ModelError(
            f"{name}: model format {ascii(version)[:40]}, this crossarc reads {FORMAT_VERSION}: "
            "install the version that wrote it, or train the model again"
        )
    if checksum != expected:
        raise ModelError(f"{name}: the file is damaged (its checksum differs): copy it again")
    return arrays, metadata


def _deflated(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or its deflated bytes where that is worth it."""
    if array.dtype.kind not in "biu" or array.nbytes < _DEFLATED_BYTES:
        return array
    data = zlib.compress(array.tobytes())
    share = len(data) / array.nbytes
    return np.frombuffer(data, np.uint8) if _LEAST_SHARE < share < _DEFLATED_SHARE else array


def _inflated(data: NDArray[Any], kind: str, shape: list[int]) -> NDArray[Any]:
    """The array of a type and a shape whose deflated bytes these are; other bytes make this fail.

    No more memory is taken than the shape says, and no more than a file of this size may have.
    """
    dtype, sizes = np.dtype(kind), [int(size) for size in shape]
    expected = math.prod(sizes) * dtype.itemsize
    if min(sizes, default=0) < 0 or dtype.kind not in "biu" or data.dtype != np.uint8:
        raise ValueError(kind)
    if data.nbytes < expected * _LEAST_SHARE:
        raise ValueError("deflated to nearly nothing")
    found = zlib.decompressobj().decompress(data.tobytes(), expected + 1)
    if len(found) != expected:
        raise ValueError("not as many bytes as the shape says")
    return np.frombuffer(found, dtype).reshape(sizes)


def check_format(
    metadata: Mapping[str, Any], expected: int, *, remedy: str = "train it again"
) -> None:
    """Refuse a model of another format than its kind has today.

    Raises:
        ModelError: the format is not the expected one.
    """
    found = metadata.get("format")
    if found != expected:
        raise ModelError(
            f"the model has format {ascii(found)[:40]}, not {expected}: "
            f"{remedy}, or use the version of crossarc that made it"
        )


def _parts(mapped: mmap.mmap) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header, and the arrays that it describes; any other file makes this fail."""
    length = int.from_bytes(mapped[:_LENGTH_BYTES], "little")
    start = _LENGTH_BYTES + length
    header = json.loads(mapped[_LENGTH_BYTES:start])
    arrays, ranges = {}, []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = [int(size) for size in entry["shape"]]
        # Kernels read arrays as their types say: the system must lay them out as the file does.
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != end - begin:
            raise ValueError(name)
        flat = np.empty(0, dtype)
        if end > begin:
            flat = np.frombuffer(mapped, dtype, math.prod(shape), start + begin)
        flat.flags.writeable = False
        arrays[name] = flat.reshape(shape)
        if not arrays[name].flags.aligned:
            raise ValueError(name)
        ranges.append((begin, end))
    # Arrays follow each other without gaps, so that they are not larger than the file together.
    ends = [0, *(end for _, end in sorted(ranges))]
    if [begin for begin, _ in sorted(ranges)] != ends[:-1] or start + ends[-1] != len(mapped):
        raise ValueError("the arrays do not fill the file")
    return header, arrays


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _checksum(arrays: _Arrays, metadata: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(_json(dict(metadata)).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return f"sha256:{digest.hexdigest()}"


def quantised(weights: Singles) -> tuple[Shorts, float]:
    """Whole numbers and the scale that makes them the weights, to 1/65534 of the largest."""
    scale = float(np.abs(weights).max()) / _INT16_MAX or 1.0
    # In float64: the scale of very small weights is not a float32.
    return np.rint(weights / np.float64(scale)).astype(np.int16), scale


def prune(weights: Singles, count: int) -> Singles:
    """The weights of largest magnitude, at most so many, zero elsewhere."""
    if np.count_nonzero(weights) <= count:
        return weights
    magnitudes = np.abs(weights)
    # Of weights that tie with the largest one dropped, none is kept.
    last = len(weights) - count - 1
    dropped = np.partition(magnitudes, last)[last]
    return np.where(magnitudes > dropped, weights, np.float32(0.0))


def pack(weights: Shorts) -> tuple[NDArray[np.uint8], Shorts]:
    """A bit for each weight, set where it is not zero, and those weights."""
    used = weights != 0
    return np.packbits(used), weights[used]


def unpack(bits: NDArray[np.uint8], values: Shorts, size: int) -> Shorts:
    """The inverse of `pack`."""
    fits = bits.dtype == np.uint8 and values.dtype == np.int16 and bits.ndim == values.ndim == 1
    used = np.empty(0)
    if fits and 0 <= 8 * len(bits) - size < 8:
        used = np.unpackbits(bits, count=size).astype(bool)
    if len(used) != size or np.count_nonzero(used) != len(values):
        raise ModelError("the weights of the model do not fit its table: the file is damaged")
    weights = np.zeros(size, np.int16)
    weights[used] = values
    return weights
