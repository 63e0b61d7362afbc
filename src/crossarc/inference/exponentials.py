"""Exact differences and exponentials in lanes, as `extended` has them for one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import EXP_COEFFICIENTS, INVERSE_LN2, LN2_HIGH, LN2_LOW
from crossarc.inference.lanes import WHOLE, AnyCells, Lanes, fused, spread, times_power_of_two
from crossarc.kernels import subkernel

__all__ = ["exact_difference", "exact_sum", "exponential"]

Floats = NDArray[np.float64]


@subkernel(inline=True)
def exact_difference(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x - y exactly, as a number and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel(inline=True)
def exact_sum(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x + y in the same way."""
    s = x + y
    back = s - x
    return s, (x - (s - back)) + (y - back)


@subkernel(inline=True)
def exponential(cells: AnyCells, x: Lanes, tail: Lanes) -> Lanes:
    """exp(x + tail) for x from -700 to 700, as `extended.exp_parts`; `cells` tells the lanes."""
    whole = spread(cells, WHOLE)
    power = fused(x, spread(cells, INVERSE_LN2), whole)
    k = power - whole
    # The first of these products is exact.
    r = fused(k, spread(cells, -LN2_LOW), fused(k, spread(cells, -LN2_HIGH), x)) + tail
    p = spread(cells, EXP_COEFFICIENTS[0])
    for place in range(1, len(EXP_COEFFICIENTS)):
        p = fused(p, r, spread(cells, EXP_COEFFICIENTS[place]))
    return times_power_of_two(p, power)
