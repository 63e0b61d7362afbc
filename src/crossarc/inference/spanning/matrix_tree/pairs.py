"""Two arcs at once in spanning trees: a determinant of two by two, O(1) a pair after O(n^3).

log Z is the logarithm of a determinant, and so the probability of two arcs is one, too. With the
weight gradients g = d log Z / d w of `weight_gradients`, g[m, m] = 0, and arcs e = (h, m) and
f = (h', m') with m != m',

    P(e, f) = mu_e mu_f - x y      x = w_f (g[h', m] - g[m', m])
                                   y = w_e (g[h, m'] - g[m, m'])

(the entry [m, m'] of the inverse of the Laplacian is g[0, m] (1 - E[m', m]); with one root, the
scale of its weights makes the second term of a root arc vanish by itself). All g are right to a few
rounding units, but x, y and the result are differences. What may be wrong in them is at most a few
rounding units of

    mu_e mu_f + w_f max(g[h', m], g[m', m]) w_e max(g[h, m'], g[m, m'])

which is computed beside them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO, narrowed, normalised, power_of_two
from crossarc.kernels import kernel, subkernel

__all__ = ["joint_arcs", "pair_information"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)
# Weight gradients are right to a few rounding units, in the worst case to a few for each word.
_UNIT, _FEW = 2.0**-53, 16


@subkernel()
def _difference(
    gradients: Floats, exponents: Ints, row: int, h: int, m: int
) -> tuple[float, float, int]:
    """g[h] - g[m] of a row, and the larger of them, with one exponent."""
    power = max(exponents[row, h], exponents[row, m])
    a = gradients[row, h] * power_of_two(exponents[row, h] - power)
    b = gradients[row, m] * power_of_two(exponents[row, m] - power)
    return a - b, max(a, b), power


@subkernel()
def _joint(
    weights: Floats,
    exponents: Ints,
    gradients: Floats,
    gradient_exponents: Ints,
    h: int,
    m: int,
    k: int,
    j: int,
) -> tuple[float, float]:
    """P of h -> m and k -> j, m != j, and what may be wrong in it; the root is the last column."""
    product = weights[m, h] * weights[j, k]
    if product == 0.0:
        return 0.0, 0.0
    power = exponents[m, h] + exponents[j, k]
    both = narrowed(
        product * gradients[m, h] * gradients[j, k],
        power + gradient_exponents[m, h] + gradient_exponents[j, k],
    )
    x, largest_x, x_power = _difference(gradients, gradient_exponents, m, k, j)
    y, largest_y, y_power = _difference(gradients, gradient_exponents, j, h, m)
    power += x_power + y_power
    crossed = narrowed(product * x * y, power)
    error = (
        _UNIT
        * (_FEW + weights.shape[0])
        * (both + narrowed(product * largest_x * largest_y, power))
    )
    return max(0.0, both - crossed), error


@kernel(types.void(_READ2, _READ2_INT, _READ2, _READ2_INT, _READ2_INT, _READ2_INT, _F1, _F1))
def joint_arcs(
    weights: Floats,
    exponents: Ints,
    gradients: Floats,
    gradient_exponents: Ints,
    first: Ints,
    second: Ints,
    out: Floats,
    errors: Floats,
) -> None:
    """P of each pair of arcs, rows (h, m), of two words; and what may be wrong in it."""
    n = weights.shape[0]
    for row in range(first.shape[0]):
        h, k = first[row, 0], second[row, 0]
        out[row], errors[row] = _joint(
            weights,
            exponents,
            gradients,
            gradient_exponents,
            n if h == 0 else h - 1,
            first[row, 1] - 1,
            n if k == 0 else k - 1,
            second[row, 1] - 1,
        )


@subkernel()
def _crossed(
    weights: Floats,
    exponents: Ints,
    gradients: Floats,
    gradient_exponents: Ints,
    m: int,
    j: int,
    heads: Ints,
    shift: int,
    out: Floats,
) -> tuple[float, int]:
    """y of the arcs h -> m beside word j, times 2^-shift; the largest of its terms, its power."""
    largest, power = 0.0, ZERO
    for i in range(heads.shape[0]):
        h = heads[i]
        y, size, exponent = _difference(gradients, gradient_exponents, j, h, m)
        exponent += exponents[m, h]
        out[i] = narrowed(weights[m, h] * y, exponent - shift)
        size, exponent = normalised(weights[m, h] * size, exponent)
        if exponent > power or (exponent == power and size > largest):
            largest, power = size, exponent
    return largest, power


@subkernel()
def _divergence(rho: float) -> float:
    """p log(p / q) - p + q over q, for p = (1 - rho) q, or 0 where that is negative."""
    if abs(rho) < 1e-3:
        return rho * rho * (0.5 + rho * (1.0 / 6.0 + rho * (1.0 / 12.0 + rho * 0.05)))
    return (1.0 - rho) * math.log1p(-rho) + rho if rho < 1.0 else 1.0


@kernel(types.void(_READ2, _READ2_INT, _READ2, _READ2_INT, _READ2, types.float64, _F2, _F1))
def pair_information(
    weights: Floats,
    exponents: Ints,
    gradients: Floats,
    gradient_exponents: Ints,
    marginals: Floats,
    negligible: float,
    out: Floats,
    errors: Floats,
) -> None:
    """The mutual information of the heads of any two words, off the diagonal.

    O(n^2) times the pairs of heads that two words have; x belongs to one head, y to the other.

    Args:
        marginals: [h, m]; up to `negligible` they count as nothing.
        errors: becomes what may be wrong in any pair of each word.
    """
    n = weights.shape[0]
    heads, probabilities = np.empty((n, n + 1), np.int64), np.empty((n, n + 1))
    counts = np.zeros(n, np.int64)
    for m in range(n):
        errors[m] = 0.0
        for h in range(n + 1):
            probability = marginals[0 if h == n else h + 1, m + 1]
            if probability > negligible:
                heads[m, counts[m]], probabilities[m, counts[m]] = h, probability
                counts[m] += 1
    x, y = np.empty(n + 1), np.empty(n + 1)
    for m in range(n):
        first = heads[m, : counts[m]]
        for j in range(m + 1, n):
            second = heads[j, : counts[j]]
            # Of x and y one may be huge and the other tiny: x is scaled to about 1.
            _, shift = _crossed(
                weights, exponents, gradients, gradient_exponents, j, m, second, 0, x
            )
            size, power = _crossed(
                weights, exponents, gradients, gradient_exponents, j, m, second, shift, x
            )
            other, other_power = _crossed(
                weights, exponents, gradients, gradient_exponents, m, j, first, -shift, y
            )
            lost = 1.0 + narrowed(size * other, power + other_power)
            errors[m] = max(errors[m], _UNIT * (_FEW + n) * lost)
            total = 0.0
            for i in range(first.shape[0]):
                ratio, part = y[i] / probabilities[m, i], 0.0
                for k in range(second.shape[0]):
                    part += probabilities[j, k] * _divergence(ratio * (x[k] / probabilities[j, k]))
                total += probabilities[m, i] * part
            out[m, j] = out[j, m] = total
