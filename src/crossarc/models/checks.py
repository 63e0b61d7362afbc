"""Values and arrays of model files, checked before anything is made of them.

A file may have been written by anybody: its checksum says that it is whole, not that it is meant
well. Kernels index by what is in it, and arrays are as large as it says. So whoever restores a
part of a model reads each value through `Fields` and each array through `tensor`, which refuse what
the part could not have written.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crossarc.errors import ModelError

__all__ = ["Fields", "column_text", "restoring", "tensor", "weights_fit"]

# Labels and tags go into columns of a line.
_NO_COLUMN = re.compile("[\t\n\r\x00\ud800-\udfff]")
_FAULTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


@contextmanager
def restoring(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors, and turn what `Fields` does not foresee into a ModelError."""
    name = os.fspath(path)
    try:
        yield
    except ModelError as error:
        message = " ".join(str(error).split())
        raise ModelError(message if message.startswith(name) else f"{name}: {message}") from None
    except _FAULTS as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ModelError(
            f"{name}: the model cannot be restored ({what}): the file was not written by "
            "`crossarc`, or by another version: use another model"
        ) from None


class Fields:
    """Metadata of a part of a model; reading a value checks it.

    Raises:
        ModelError: a value is missing or of another kind, in each method.
    """

    def __init__(self, values: Any, name: str = "the metadata") -> None:
        if not isinstance(values, Mapping):
            raise _refused(name, "an object", values)
        self._values = values

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._value(name)
        if type(value) is not int or not low <= value <= high:
            raise _refused(name, f"a whole number from {low} to {high}", value)
        return value

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number above `low` and below `high`."""
        value = self._value(name)
        if type(value) not in (int, float) or not (math.isfinite(value) and low < value < high):
            raise _refused(name, f"a finite number above {low:g} and below {high:g}", value)
        return float(value)

    def numbers(self, name: str, count: int) -> NDArray[np.float64]:
        """So many finite numbers."""
        value = self._value(name)
        if not isinstance(value, list | tuple) or len(value) != count:
            raise _refused(name, f"a list of {count} numbers", value)
        return np.array([Fields({name: one}).number(name) for one in value])

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._value(name)
        if not isinstance(value, bool):
            raise _refused(name, "true or false", value)
        return value

    def choice(self, name: str, options: tuple[str, ...]) -> Any:
        """One of some strings."""
        value = self._value(name)
        if not isinstance(value, str) or value not in options:
            raise _refused(name, " or ".join(options), value)
        return value

    def text(self, name: str) -> str:
        """A string."""
        value = self._value(name)
        if not isinstance(value, str):
            raise _refused(name, "a string", value)
        return value

    def texts(self, name: str, *, written: bool = False, least: int = 0) -> tuple[str, ...]:
        """Different strings.

        Args:
            written: they are written into columns of CoNLL-U.
            least: how many there are at least.
        """
        value = self._value(name)
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise _refused(name, "a list of strings", value)
        if len(value) < least or len(set(value)) < len(value):
            raise _refused(name, f"at least {least} strings, all different", value)
        for one in value if written else ():
            column_text(one)
        return tuple(value)

    def below(self, name: str, count: int) -> NDArray[np.int64]:
        """Whole numbers from 0 to below `count`."""
        value = self._value(name)
        if not isinstance(value, list | tuple) or not all(
            type(one) is int and 0 <= one < count for one in value
        ):
            raise _refused(name, f"whole numbers from 0 to below {count}", value)
        return np.array(value, np.int64)

    def is_none(self, name: str) -> bool:
        """Whether the value is null."""
        return self._value(name) is None

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        value = self._value(name)
        if not isinstance(value, list | tuple):
            raise _refused(name, "a list", value)
        return list(value)

    def fields(self, name: str) -> Mapping[str, Any]:
        """An object, which is `Fields` to be again."""
        value = self._value(name)
        if not isinstance(value, Mapping):
            raise _refused(name, "an object", value)
        return value

    def _value(self, name: str) -> Any:
        if name not in self._values:
            raise ModelError(f"{name} is missing in the model: train it again")
        return self._values[name]


def column_text(value: Any, *, may_be_empty: bool = False) -> str:
    """A string that a column can hold.

    Raises:
        ModelError: another value.
    """
    if not isinstance(value, str) or _NO_COLUMN.search(value) or not (value or may_be_empty):
        raise _refused("a string", "text that a column can hold", value)
    return value


def tensor(
    tensors: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """An array of the model; None in a shape stands for any size.

    Raises:
        ModelError: it is missing, or of another type or shape; a number is not finite.
    """
    if name not in tensors:
        raise ModelError(f"the array {name} is missing in the model: train it again")
    array = tensors[name]
    wrong = len(array.shape) != len(shape) or any(
        size is not None and size != own for size, own in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or wrong:
        form = ", ".join("any" if size is None else str(size) for size in shape)
        raise _refused(f"the array {name}", f"{np.dtype(dtype)} ({form})", array)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelError(f"the array {name} has numbers that are not finite: train the model again")
    return array


def weights_fit(tensors: Mapping[str, NDArray[Any]], name: str, bits: int) -> None:
    """Refuse a table of 2**bits weights that the file has no bits for, before it is made.

    Raises:
        ModelError: the array `name`, a bit a weight, is shorter.
    """
    if (1 << bits) > 8 * tensor(tensors, name, np.uint8, (None,)).size:
        raise ModelError(f"the array {name} is too short for 2**{bits} weights: use another model")


def _refused(name: str, expected: str, found: Any) -> ModelError:
    if isinstance(found, np.ndarray):
        shown = f"{found.dtype} {found.shape}"
    else:
        shown = ascii(found)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return ModelError(f"{name} of the model must be {expected}: got {shown}; use another model")
