"""Results in their final form: log Z as a sum of two floats, and logarithms of marginals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import times_ln2
from crossarc.kernels import subkernel

__all__ = ["assemble", "difference", "log_marginals", "square_of", "sum_of"]

Floats = NDArray[np.float64]


@subkernel()
def square_of(flat: Floats, at: int, width: int) -> Floats:
    """A sentence's part of a flat array; nothing of an empty one."""
    if flat.shape[0] == 0:
        return flat.reshape(0, 0)
    return flat[at : at + width * width].reshape(width, width)


@subkernel()
def difference(x: float, y: float) -> tuple[float, float]:
    """x - y exactly, as a number and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel()
def sum_of(terms: Floats) -> tuple[float, float]:
    """The sum, as that of a float and what rounding took from it."""
    high, low = 0.0, 0.0
    for place in range(terms.shape[0]):
        high, error = difference(high, -terms[place])
        low += error
    return high, low


@subkernel()
def assemble(
    tops: float, rest: float, shift: float, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z = (tops + rest) + shift + log(mantissa) + exponent ln 2, as a sum of two floats."""
    power, low = times_ln2(float(exponent))
    high, error = difference(math.log(mantissa), -power)
    low += error + rest
    high, error = difference(high, -tops)
    low += error
    high, error = difference(high, -shift)
    low += error
    return high + low, low - ((high + low) - high)


@subkernel()
def log_marginals(
    scores: Floats,
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
    shift: float,
    out: Floats,
) -> None:
    """log mu = log weight + log lift, from the lift in `out`; no product that could underflow."""
    for h in range(n + 1):
        out[h, 0] = -np.inf
        for m in range(1, n + 1):
            if scores[h, m] == -np.inf or out[h, m] == 0.0:
                out[h, m] = -np.inf
                continue
            lift = out[h, m] * masses[h, m] if masses.shape[0] > 0 else out[h, m]
            log_weight = scores[h, m] - tops[m]
            if h == 0 and single:
                log_weight -= shift
            out[h, m] = min(0.0, log_weight + math.log(lift))
