"""A forest without the parts that must not be: it is what remains of the derivations."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import Arrays, Chart, add, close, trimmed
from crossarc.kernels import READ_FLOAT, kernel

__all__ = ["without_forbidden"]

Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]

_S1 = types.int32[::1]


@kernel(types.UniTuple(_S1, 4)(_S1, _S1, _S1, _S1, READ_FLOAT))
def without_forbidden(
    first: Shorts, left: Shorts, right: Shorts, part: Shorts, score: Floats
) -> Arrays:
    """The arrays of the derivations that have no part with score -inf; overwrites those given.

    An instance goes with its part, an item with its last instance, and so on up to the goal; then
    what the goal does not need any more.
    """
    items = first.shape[0] - 1
    chart = Chart(np.zeros(2, np.int32), np.zeros(items + 1, np.int32), left, right, part)
    # Of each item, -1 where it cannot be built; a tail of -1 reads the last entry.
    number = np.full(items + 1, -1, np.int32)
    number[items] = 0
    for v in range(items):
        for e in range(first[v], first[v + 1]):
            if part[e] >= 0 and score[part[e]] == -np.inf:
                continue
            a, b = left[e], right[e]
            if number[a] >= 0 and number[b] >= 0:
                add(chart, number[a] if a >= 0 else -1, number[b] if b >= 0 else -1, part[e])
        number[v] = close(chart)
    return trimmed(chart, number[items - 1] if items > 0 else -1)
