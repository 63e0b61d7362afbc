"""Entries of flat arrays without ceremony, for the inner loops of kernels.

Numba lets an index count from the end, which costs a comparison for every place that it cannot
prove to lie behind the start. Places here are not checked at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from crossarc.inference.lanes import AnyCells, CellsType

__all__ = ["entry", "put"]

Floats = NDArray[np.float64]

# Numba asks for the signature of a call and for what writes its instructions.


def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    is_bare = isinstance(kind, CellsType)
    data = array if is_bare else context.make_array(kind)(context, builder, value=array).data
    return builder.gep(data, [place])


def _kind(array: Any) -> Any:
    return types.float64 if isinstance(array, CellsType) else array.dtype


def _entry(typing: Any, array: Any, place: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_address(context, builder, sig.args[0], *values))

    return signature(_kind(array), array, types.int64), emit


def _put(typing: Any, array: Any, place: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _address(context, builder, sig.args[0], *values[:2]))
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _kind(array)), emit


#: array[place].
entry: Callable[[AnyCells, int], float] = intrinsic(_entry)
#: array[place] = value.
put: Callable[[AnyCells, int, float], None] = intrinsic(_put)
