"""Single numbers with a wide exponent, as pairs; both factors and sums are normalised."""

from __future__ import annotations

import math

import numpy as np

from crossarc.inference.arithmetic.wide import normalised, power_of_two, times_ln2
from crossarc.inference.runtime.quantities import MARGINALS
from crossarc.kernels import subkernel

__all__ = ["Number", "marginal", "plus", "times"]

Number = tuple[float, int]

_BIAS = 1023


@subkernel()
def times(a: Number, b: Number) -> Number:
    """a b."""
    return normalised(a[0] * b[0], a[1] + b[1])


@subkernel()
def plus(a: Number, b: Number) -> Number:
    """a + b."""
    top = max(a[1], b[1])
    return normalised(a[0] * power_of_two(a[1] - top) + b[0] * power_of_two(b[1] - top), top)


@subkernel()
def marginal(inner: Number, outer: Number, total: Number, quantity: int) -> float:
    """inner outer / total, or its logarithm."""
    mantissa = inner[0] * outer[0] / total[0]
    exponent = inner[1] + outer[1] - total[1]
    if mantissa == 0.0:
        return 0.0 if quantity == MARGINALS else -np.inf
    if quantity == MARGINALS:
        # In two steps, so that a subnormal result is rounded once, at the end.
        half = max(exponent // 2, -_BIAS)
        scaled = mantissa * power_of_two(half)
        return min(1.0, scaled * power_of_two(max(exponent - half, -_BIAS)))
    high, low = times_ln2(float(exponent))
    return min(0.0, (math.log(mantissa) + low) + high)
