"""Changes to inputs: of bytes, of lines and columns, and of model files whose checksum is right."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["hostile_model", "mutated"]

_BITS = (
    b"\t",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\r",
    b"\0",
    b" ",
    b"_",
    b"|",
    b"=",
    b"-",
    b".",
    b":",
    b"#",
    b"0",
    b"-1",
    b"1",
    b"999999999999999999999",
    b"1-2",
    b"1.1",
    b"0.1",
    b"2-1",
    b"nan",
    b"1e9",
    b"# text = ",
    b"# sent_id = ",
    b"# global.columns = ID FORM",
    b"# newdoc",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xc2\xa0",
    b"\xe2\x80\x8d",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xcc\x81",
    b"\xd8\xa7",
    b"SpaceAfter=No",
    b"SpacesAfter=\\s\\n",
    b"\\",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"true",
    b"[[[[",
    b"%",
    b"&",
    b"http://a.b/c",
    b"a@b.cd",
    b"...",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"--",
    b"A" * 300,
)  # fmt: skip


def mutated(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds after a few changes."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 10))):
        change = rng.choice(_CHANGES)
        data = change(rng, data, seeds)
    return data


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 1, 2, 4, 16, 100, 1000)))


def _flip(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _insert(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_BITS) * rng.choice((1, 1, 1, 2, 50)) + data[at:]


def _replace(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    begin, end = _span(rng, data)
    return data[:begin] + rng.choice(_BITS) + data[end:]


def _delete(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    begin, end = _span(rng, data)
    return data[:begin] + data[end:]


def _repeat(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    begin, end = _span(rng, data)
    return data[:end] + data[begin:end] * rng.choice((1, 2, 30)) + data[end:]


def _truncate(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _splice(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _column(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Another value in one column of one line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    fields = lines[at].split(b"\t")
    fields[rng.randrange(len(fields))] = rng.choice(_BITS)
    lines[at] = b"\t".join(fields)
    return b"\n".join(lines)


def _lines(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Two lines change places."""
    lines = data.split(b"\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


_CHANGES = (
    _flip,
    _insert,
    _replace,
    _delete,
    _repeat,
    _truncate,
    _splice,
    _column,
    _column,
    _lines,
)

# Model files.

_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    3,
    63,
    64,
    1 << 31,
    1 << 62,
    1 << 70,
    -(1 << 40),
    0.0,
    -0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "_",
    "x",
    "a\tb",
    "a\nb",
    "\ud800",
    "../../etc/passwd",
    "+9",
    "-8",
    "a b",
    "a|b",
    "@",
    [],
    {},
    [0],
    [[]],
    ["x", "x"],
    [-1],
    [1 << 40],
    {"x": 1},
    "A" * 5000,
)


def hostile_model(
    rng: random.Random, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """A model's content after a few changes of values, shapes and types."""
    arrays, metadata = dict(arrays), copy.deepcopy(metadata)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if arrays and rng.random() < 0.4:
            name = rng.choice(sorted(arrays))
            changed = rng.choice(_ARRAYS)(rng, arrays.pop(name))
            if changed is not None:
                arrays[name] = changed
        else:
            _change_node(rng, metadata)
    return arrays, metadata


def _change_node(rng: random.Random, node: Any) -> None:
    """Another value somewhere in nested lists and dicts; what is near the root more often."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        below = node[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.85:
            node = below
            continue
        action = rng.randrange(8)
        if action == 0:
            del node[key]
        elif action == 1 and isinstance(node, list):
            node.append(rng.choice(_VALUES))
        elif action == 2 and isinstance(node, list):
            node.insert(0, copy.deepcopy(below))
        elif action == 3 and isinstance(below, int) and not isinstance(below, bool):
            node[key] = below + rng.choice((-1, 1, 7, 1000))
        else:
            node[key] = rng.choice(_VALUES)
        return


def _other_type(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    kinds = (np.uint8, np.int8, np.int16, np.int64, np.uint64, np.float16, np.float32, np.float64)
    with np.errstate(all="ignore"):
        return array.astype(rng.choice(kinds))


def _other_values(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    flat = array.copy().reshape(-1)
    if flat.size:
        raw = flat.view(np.uint8)
        for _ in range(rng.choice((1, 8, 64))):
            raw[rng.randrange(raw.size)] = rng.choice((0, 1, 127, 128, 255))
    return flat.reshape(array.shape)


def _extreme(rng: random.Random, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f":
        return np.full_like(array, rng.choice((np.nan, np.inf, -np.inf, 6e4, 0.0)))
    limits = np.iinfo(array.dtype)
    return np.full_like(array, rng.choice((limits.min, limits.max)))


_ARRAYS: tuple[Callable[[random.Random, NDArray[Any]], NDArray[Any] | None], ...] = (
    lambda rng, array: None,
    lambda rng, array: array.reshape(-1)[: rng.randrange(array.size + 1)],
    lambda rng, array: array[: len(array) // 2] if array.ndim else array,
    lambda rng, array: np.concatenate([array, array]) if array.ndim else array,
    lambda rng, array: array.reshape(1, *array.shape),
    lambda rng, array: array.T.copy(),
    lambda rng, array: np.empty((0, *array.shape[1:]), array.dtype),
    _other_type,
    _other_values,
    _extreme,
)
