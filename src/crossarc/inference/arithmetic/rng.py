"""Random numbers inside kernels: the same on every machine, one stream a sentence.

SplitMix64 (Steele, Lea & Flood 2014): a counter that grows by an odd constant, and a mixing of its
bits. The state is one unsigned number in an array, so that kernels can move it on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["State", "below", "stream", "uniform"]

State = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


def stream(source: np.random.SeedSequence, index: int) -> np.random.SeedSequence:
    """The seeds of sentence `index` of a batch."""
    return np.random.SeedSequence(source.entropy, spawn_key=(index,))


@subkernel()
def uniform(state: State) -> float:
    """A number from [0, 1), a multiple of 2^-53."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    z ^= z >> _S31
    return float(np.int64(z >> _S11)) * _UNIT


@subkernel()
def below(sums: NDArray[np.float64], first: int, last: int, u: float) -> int:
    """The first index in first..last - 1 whose running sum exceeds u times the last sum.

    Indices whose number is 0 are never taken, whatever the rounding.
    """
    limit = u * sums[last - 1]
    low, high = first, last - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > limit:
            high = middle
        else:
            low = middle + 1
    # u < 1, but the product may be rounded up to the last sum: back to where that is reached.
    while low > first and sums[low - 1] == sums[low]:
        low -= 1
    return low
