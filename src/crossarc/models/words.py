"""One word's halves of features of two words."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel
from crossarc.models.features import MISSING
from crossarc.models.hashing import half, hash_code, hash_start

__all__ = ["DISTANCES", "READ_PLAN", "READ_WEIGHTS", "distance_class", "word_halves"]

Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

READ_PLAN = types.Array(types.int64, 3, "C", readonly=True)
READ_WEIGHTS = types.Array(types.float32, 1, "C", readonly=True)

#: Classes of distances: 1, 2, 3, 4, 5 to 6, 7 to 10, and beyond.
DISTANCES = 7


@subkernel()
def distance_class(gap: int) -> int:
    """The class of a distance, from 0 to DISTANCES - 1."""
    if gap <= 4:
        return gap - 1
    if gap <= 6:
        return 4
    return 5 if gap <= 10 else 6


@subkernel()
def word_halves(
    codes: Ints, width: int, row: int, plan: Ints, first: int, step: int, out: Halves
) -> None:
    """A word's halves of every step-th template from `first` on, as a head and as a modifier."""
    for t in range(first, plan.shape[0], step):
        for side in range(2):
            places = plan[t, side]
            x = hash_start(2 * t + side)
            k = 0
            while places[k] != MISSING:
                x = hash_code(x, codes[row * width + places[k]])
                k += 1
            out[side, t] = half(x)
