"""Weights in 16 bits: whole numbers times a scale, those that are not zero only in a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError

__all__ = ["pack", "prune", "quantised", "unpack"]

Singles = NDArray[np.float32]
Shorts = NDArray[np.int16]

_LARGEST = 32767


def quantised(weights: Singles) -> tuple[Shorts, float]:
    """Whole numbers and the scale that makes them the weights, to 1/65534 of the largest."""
    scale = float(np.abs(weights).max()) / _LARGEST or 1.0
    return np.rint(weights / scale).astype(np.int16), scale


def prune(weights: Singles, most: int) -> Singles:
    """The weights that are largest in size, at most so many, zero elsewhere."""
    if np.count_nonzero(weights) <= most:
        return weights
    sizes = np.abs(weights)
    # Of weights that tie with the largest one dropped, none is kept.
    dropped = np.partition(sizes, len(sizes) - most - 1)[len(sizes) - most - 1]
    return np.where(sizes > dropped, weights, np.float32(0.0))


def pack(weights: Shorts) -> tuple[NDArray[np.uint8], Shorts]:
    """A bit for each weight, set where it is not zero, and those weights."""
    used = weights != 0
    return np.packbits(used), weights[used]


def unpack(bits: NDArray[np.uint8], values: Shorts, size: int) -> Shorts:
    """The inverse of `pack`."""
    used = np.unpackbits(bits, count=size).astype(bool) if len(bits) * 8 >= size else np.empty(0)
    if len(used) != size or np.count_nonzero(used) != len(values):
        raise ModelError("the weights of the model do not fit its table: the file is damaged")
    weights = np.zeros(size, np.int16)
    weights[used] = values
    return weights
