"""Sums of scores without rounding on the way: error-free transformations and what they give.

`two_sum` and `two_difference` take single numbers and `Lanes` alike.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Lanes
from crossarc.inference.arithmetic.wide import times_ln2
from crossarc.kernels import subkernel

__all__ = [
    "SAFE_SUM",
    "SHRINK",
    "compensated_sum",
    "exact_sum",
    "log_partition",
    "two_difference",
    "two_sum",
]

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Lanes)

#: Adding less than this to a float64 does not overflow; scores of which sums might reach it are
#: multiplied by `SHRINK` first, which changes no comparison.
SAFE_SUM = 1e290
SHRINK = 2.0**-128


def exact_sum(scores: list[float]) -> float:
    """The exact sum, rounded once; infinite when it overflows."""
    try:
        return math.fsum(scores)
    except OverflowError:
        return math.fsum(score * SHRINK for score in scores) / SHRINK


@subkernel(inline=True)
def two_sum(x: Number, y: Number) -> tuple[Number, Number]:
    """x + y exactly, as a number and its rounding error (Knuth)."""
    s = x + y
    back = s - x
    return s, (x - (s - back)) + (y - back)


@subkernel(inline=True)
def two_difference(x: Number, y: Number) -> tuple[Number, Number]:
    """x - y in the same way."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel()
def compensated_sum(terms: Floats) -> tuple[float, float]:
    """The sum, as that of a float and what rounding took from it (Neumaier 1974)."""
    high, low = 0.0, 0.0
    for i in range(terms.shape[0]):
        high, error = two_sum(high, terms[i])
        low += error
    return high, low


@subkernel()
def log_partition(
    potentials: float, rest: float, shift: float, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z = (potentials + rest) + shift + log(mantissa) + exponent ln 2, as a sum of two floats.

    Args:
        potentials, rest: the sum of what was taken from the scores into each word, as from
            `compensated_sum`.
        shift: what was taken from the scores of a single root.
        mantissa, exponent: Z of what was left.
    """
    power, low = times_ln2(float(exponent))
    high, error = two_sum(math.log(mantissa), power)
    low += error + rest
    high, error = two_sum(high, potentials)
    low += error
    high, error = two_sum(high, shift)
    low += error
    return high + low, low - ((high + low) - high)
