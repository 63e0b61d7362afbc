"""Exact differences and exponentials of eight numbers, as `weights` and `extended` have for one."""

from __future__ import annotations

import math

from crossarc.inference.lanes import Lanes, fused, repeat, round_down, times_power_of_two
from crossarc.kernels import subkernel

__all__ = ["exact_difference", "exponential"]

_INVERSE_LN2 = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_COEFFICIENTS = tuple(1.0 / math.factorial(degree) for degree in range(13, -1, -1))


@subkernel(inline=True)
def exact_difference(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """`weights.difference` of eight numbers."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel(inline=True)
def exponential(x: Lanes, tail: Lanes) -> Lanes:
    """exp(x + tail) for x from -700 to 700, as `extended.exp_parts`."""
    k = round_down(fused(x, repeat(_INVERSE_LN2), repeat(0.5)))
    r = ((x - k * repeat(_LN2_HIGH)) - k * repeat(_LN2_LOW)) + tail
    p = repeat(_COEFFICIENTS[0])
    for place in range(1, len(_COEFFICIENTS)):
        p = fused(p, r, repeat(_COEFFICIENTS[place]))
    return times_power_of_two(p, k)
