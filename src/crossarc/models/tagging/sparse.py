"""Tables of weights that are mostly zero: kept small in a file, laid out in full in memory.

The file has the weights that are not zero, as 16-bit integers, and the distance of each from the
one before, as bytes. A distance that does not fit a byte is bridged by weights of zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack", "rounded", "strongest", "unpack"]

_SCALE = 64.0
_FARTHEST = 255


def rounded(weights: NDArray[np.float64]) -> NDArray[np.int16]:
    """Weights as 16-bit integers, in units of 1/64."""
    largest = np.iinfo(np.int16).max
    return np.clip(np.rint(weights * _SCALE), -largest, largest).astype(np.int16)


def strongest(weights: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Where the `count` weights that are largest in size stand, or all that are not zero."""
    size = np.abs(weights)
    least = 0.0
    if np.count_nonzero(size) > count:
        least = float(np.partition(size, len(size) - count)[len(size) - count])
    kept: NDArray[np.bool_] = (size > 0) & (size >= least)
    return kept


def pack(weights: NDArray[np.int16]) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """Distances and values of the weights that are not zero."""
    indices = np.flatnonzero(weights)
    gaps = np.diff(indices, prepend=0)
    bridges = gaps // _FARTHEST
    ends = np.cumsum(bridges + 1) - 1
    distances = np.full(int(ends[-1]) + 1 if len(ends) else 0, _FARTHEST, np.uint8)
    values = np.zeros(len(distances), np.int16)
    distances[ends] = gaps - bridges * _FARTHEST
    values[ends] = weights[indices]
    return distances, values


def unpack(distances: NDArray[np.uint8], values: NDArray[np.int16], size: int) -> NDArray[np.int16]:
    """The table of this size that was packed."""
    if distances.dtype != np.uint8 or values.dtype != np.int16 or distances.ndim != 1:
        raise ValueError("weights are not of the types that they are written in")
    indices = np.cumsum(distances, dtype=np.int64)
    real = values != 0
    weights = np.zeros(size, np.int16)
    weights[indices[real]] = values[real]
    return weights
