"""Two arcs at once in spanning trees: a determinant of two by two, O(1) a pair after O(n^3).

log Z is the logarithm of a determinant, and so the probability of two arcs is one, too. With lifts
as in `lifts`, lift[m, m] = 0, and arcs e = (h, m), f = (h', m') with m != m',

    P(e, f) = mu_e mu_f - x y      x = w_f (lift[h', m] - lift[m', m])
                                   y = w_e (lift[h, m'] - lift[m, m'])

(the entry [m, m'] of the inverse of the Laplacian is lift[0, m] (1 - E[m', m]); with one root, the
t of `wide` makes the second term of a root arc vanish by itself). Both lifts are right to a few
rounding units, but x, y and the result are differences. What may be wrong in them is at most a few
rounding units of

    mu_e mu_f + w_f max(lift[h', m], lift[m', m]) w_e max(lift[h, m'], lift[m, m'])

which is computed beside them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO, narrowed, normalised, power_of_two
from crossarc.inference.spanning.lifts import wide_lifts
from crossarc.kernels import kernel, subkernel

__all__ = ["joint_arcs", "lift_tables", "pair_information"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2, _I2 = types.float64[::1], types.float64[:, ::1], types.int64[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)
# Lifts are right to a few rounding units, in the worst case to a few for each word.
_UNIT, _FEW = 2.0**-53, 16


@kernel(types.void(_READ2, _READ2, types.boolean, _F2, _I2, _F2, _I2))
def lift_tables(
    scores: Floats,
    label_sums: Floats,
    single: bool,
    weights: Floats,
    weight_powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
) -> None:
    """`wide_lifts` of a sentence that has trees."""
    wide_lifts(scores, label_sums, single, weights, weight_powers, lifts, lift_powers)


@subkernel()
def _difference(lifts: Floats, powers: Ints, row: int, h: int, m: int) -> tuple[float, float, int]:
    """lift[h] - lift[m] of a row, and the larger of them, with one exponent."""
    power = max(powers[row, h], powers[row, m])
    a = lifts[row, h] * power_of_two(powers[row, h] - power)
    b = lifts[row, m] * power_of_two(powers[row, m] - power)
    return a - b, max(a, b), power


@subkernel()
def _joint(
    weights: Floats,
    powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
    h: int,
    m: int,
    k: int,
    j: int,
) -> tuple[float, float]:
    """P of h -> m and k -> j, m != j, and what may be wrong in it; the root is the last column."""
    product = weights[m, h] * weights[j, k]
    if product == 0.0:
        return 0.0, 0.0
    power = powers[m, h] + powers[j, k]
    both = narrowed(
        product * lifts[m, h] * lifts[j, k], power + lift_powers[m, h] + lift_powers[j, k]
    )
    x, largest_x, x_power = _difference(lifts, lift_powers, m, k, j)
    y, largest_y, y_power = _difference(lifts, lift_powers, j, h, m)
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
    powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
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
            powers,
            lifts,
            lift_powers,
            n if h == 0 else h - 1,
            first[row, 1] - 1,
            n if k == 0 else k - 1,
            second[row, 1] - 1,
        )


@subkernel()
def _crossed(
    weights: Floats,
    powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
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
        y, size, exponent = _difference(lifts, lift_powers, j, h, m)
        exponent += powers[m, h]
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
    powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
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
    heads, chances = np.empty((n, n + 1), np.int64), np.empty((n, n + 1))
    counts = np.zeros(n, np.int64)
    for m in range(n):
        errors[m] = 0.0
        for h in range(n + 1):
            chance = marginals[0 if h == n else h + 1, m + 1]
            if chance > negligible:
                heads[m, counts[m]], chances[m, counts[m]] = h, chance
                counts[m] += 1
    x, y = np.empty(n + 1), np.empty(n + 1)
    for m in range(n):
        ours = heads[m, : counts[m]]
        for j in range(m + 1, n):
            theirs = heads[j, : counts[j]]
            # Of x and y one may be huge and the other tiny: x is scaled to about 1.
            _, shift = _crossed(weights, powers, lifts, lift_powers, j, m, theirs, 0, x)
            size, power = _crossed(weights, powers, lifts, lift_powers, j, m, theirs, shift, x)
            other, other_power = _crossed(
                weights, powers, lifts, lift_powers, m, j, ours, -shift, y
            )
            lost = 1.0 + narrowed(size * other, power + other_power)
            errors[m] = max(errors[m], _UNIT * (_FEW + n) * lost)
            total = 0.0
            for i in range(ours.shape[0]):
                ratio, part = y[i] / chances[m, i], 0.0
                for k in range(theirs.shape[0]):
                    part += chances[j, k] * _divergence(ratio * (x[k] / chances[j, k]))
                total += chances[m, i] * part
            out[m, j] = out[j, m] = total
