"""Exact differences and exponentials in lanes, as `extended` has them for one number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import EXP_COEFFICIENTS, INVERSE_LN2, LN2_HIGH, LN2_LOW
from crossarc.inference.lanes import Lanes, fused, round_down, spread, times_power_of_two
from crossarc.kernels import subkernel

__all__ = ["exact_difference", "exponential"]

Floats = NDArray[np.float64]


@subkernel(inline=True)
def exact_difference(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x - y exactly, as a number and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel(inline=True)
def exponential(cells: Floats, x: Lanes, tail: Lanes) -> Lanes:
    """exp(x + tail) for x from -700 to 700, as `extended.exp_parts`; `cells` tells the lanes."""
    k = round_down(fused(x, spread(cells, INVERSE_LN2), spread(cells, 0.5)))
    r = ((x - k * spread(cells, LN2_HIGH)) - k * spread(cells, LN2_LOW)) + tail
    p = spread(cells, EXP_COEFFICIENTS[0])
    for place in range(1, len(EXP_COEFFICIENTS)):
        p = fused(p, r, spread(cells, EXP_COEFFICIENTS[place]))
    return times_power_of_two(p, k)
