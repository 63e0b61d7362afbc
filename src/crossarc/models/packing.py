"""Weights in 16 bits, those that are not zero only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError

__all__ = ["pack", "prune", "rounded", "unpack"]

Singles = NDArray[np.float32]


def rounded(weights: Singles) -> Singles:
    """The weights as `pack` keeps them."""
    return weights.astype(np.float16).astype(np.float32)


def prune(weights: Singles, most: int) -> Singles:
    """The weights that are largest in size, at most so many, zero elsewhere."""
    if np.count_nonzero(weights) <= most:
        return weights
    sizes = np.abs(weights)
    # Of weights that tie with the largest one dropped, none is kept.
    dropped = np.partition(sizes, len(sizes) - most - 1)[len(sizes) - most - 1]
    return np.where(sizes > dropped, weights, np.float32(0.0))


def pack(weights: Singles) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """A bit for each weight, set where it is not zero in 16 bits, and those weights."""
    half = weights.astype(np.float16)
    used = half != 0
    return np.packbits(used), half[used]


def unpack(bits: NDArray[np.uint8], values: NDArray[np.float16], size: int) -> Singles:
    """The inverse of `pack`."""
    used = np.unpackbits(bits, count=size).astype(bool) if len(bits) * 8 >= size else np.empty(0)
    if len(used) != size or np.count_nonzero(used) != len(values):
        raise ModelError("the weights of the model do not fit its table: the file is damaged")
    weights = np.zeros(size, np.float32)
    weights[used] = values
    return weights
