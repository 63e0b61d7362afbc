"""Sums over derivations: log Z, inside and outside weights, marginals of parts.

    inside(v)  = sum over the instances e of v of  w(e) inside(left) inside(right)
    outside(l) = sum over the instances e with tail l of  outside(head) w(e) inside(other tail)
    mu(part)   = sum over its instances e of  outside(head) w(e) inside(left) inside(right)

with outside(goal) = 1 / Z. Only products and sums of positive numbers, each a float64 with an int64
exponent: nothing over- or underflows, nothing cancels, and a marginal is good to a few rounding
units for each level of its derivation, whatever the scores.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import (
    LARGEST_SCORE,
    ZERO,
    add_at,
    exp_parts_wide,
    log_of,
    narrowed,
    normalised,
    plus,
)
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.kernels import kernel, subkernel

__all__ = [
    "inside_weights",
    "instance_weights",
    "log_total",
    "marginals",
    "most_instances",
    "weights_within",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _I1 = types.float64[::1], types.int64[::1]
_PAIR = types.UniTuple(types.float64, 2)


@subkernel()
def instance_weights(
    forest: Forest, inside: Floats, powers: Ints, v: int, weights: Floats, exponents: Ints
) -> int:
    """w(e) inside(left) inside(right) of the instances of an item; returns how many there are."""
    lefts, rights, parts, scores = forest.left, forest.right, forest.part, forest.score
    begin, end = forest.first[v], forest.first[v + 1]
    for e in range(begin, end):
        mantissa, exponent = 1.0, 0
        part, left, right = parts[e], lefts[e], rights[e]
        if part >= 0:
            mantissa, exponent = exp_parts_wide(scores[part], 0.0)
        if left >= 0:
            mantissa *= inside[left]
            exponent += powers[left]
        if right >= 0:
            mantissa *= inside[right]
            exponent += powers[right]
        weights[e - begin], exponents[e - begin] = mantissa, exponent
    return int(end - begin)


@subkernel()
def most_instances(forest: Forest) -> int:
    """The largest number of instances that one item has."""
    most = 0
    for v in range(forest.first.shape[0] - 1):
        most = max(most, forest.first[v + 1] - forest.first[v])
    return most


@subkernel()
def weights_within(forest: Forest) -> tuple[Floats, Ints]:
    """inside(v) of every item; NaN where a score is too large to be summed over."""
    items, most = forest.first.shape[0] - 1, most_instances(forest)
    inside, powers = np.zeros(items), np.full(items, ZERO, np.int64)
    for e in range(forest.part.shape[0]):
        part = forest.part[e]
        if part >= 0 and abs(forest.score[part]) > LARGEST_SCORE:
            inside[:] = np.nan
            return inside, powers
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    for v in range(items):
        total, power = 0.0, ZERO
        for i in range(instance_weights(forest, inside, powers, v, weights, exponents)):
            total, power = plus(total, power, weights[i], exponents[i])
        inside[v], powers[v] = normalised(total, power)
    return inside, powers


@subkernel()
def _log_goal(inside: Floats, powers: Ints) -> tuple[float, float]:
    if inside.shape[0] == 0:
        return -np.inf, 0.0
    if np.isnan(inside[-1]):
        return np.nan, np.nan
    return log_of(inside[-1], powers[-1])


@kernel(types.Tuple((_F1, _I1))(FOREST))
def inside_weights(forest: Forest) -> tuple[Floats, Ints]:
    """inside(v) of every item, as mantissas and exponents; NaN as in `log_total`."""
    return weights_within(forest)


@kernel(_PAIR(FOREST))
def log_total(forest: Forest) -> tuple[float, float]:
    """log Z as a sum of two floats; -inf without a derivation, NaN where scores are too large."""
    inside, powers = weights_within(forest)
    return _log_goal(inside, powers)


@subkernel()
def _outside(
    forest: Forest, inside: Floats, powers: Ints, shares: Floats, share_powers: Ints
) -> None:
    """One pass from the goal down; adds up the marginals of parts in `shares`."""
    items = inside.shape[0]
    lefts, rights, parts, scores = forest.left, forest.right, forest.part, forest.score
    outside, out_powers = np.zeros(items), np.full(items, ZERO, np.int64)
    outside[-1], out_powers[-1] = 1.0 / inside[-1], -powers[-1]
    for v in range(items - 1, -1, -1):
        above, above_power = normalised(outside[v], out_powers[v])
        for e in range(forest.first[v], forest.first[v + 1]):
            mantissa, exponent = above, above_power
            left, right, part = lefts[e], rights[e], parts[e]
            if part >= 0:
                weight, power = exp_parts_wide(scores[part], 0.0)
                mantissa *= weight
                exponent += power
            inner, inner_power = 1.0, 0
            if left >= 0:
                inner, inner_power = inside[left], powers[left]
            if right >= 0:
                add_at(outside, out_powers, right, mantissa * inner, exponent + inner_power)
                mantissa *= inside[right]
                exponent += powers[right]
            if left >= 0:
                add_at(outside, out_powers, left, mantissa, exponent)
            if part >= 0:
                add_at(shares, share_powers, part, mantissa * inner, exponent + inner_power)


@kernel(_PAIR(FOREST, types.boolean, _F1))
def marginals(forest: Forest, logs: bool, out: Floats) -> tuple[float, float]:
    """Fill `out` with the probability of each part, or its logarithm; returns `log_total`."""
    out[:] = -np.inf if logs else 0.0
    inside, powers = weights_within(forest)
    high, low = _log_goal(inside, powers)
    if not high > -np.inf:
        return high, low
    shares, share_powers = np.zeros(out.shape[0]), np.full(out.shape[0], ZERO, np.int64)
    _outside(forest, inside, powers, shares, share_powers)
    for part in range(out.shape[0]):
        if shares[part] > 0.0:
            mantissa, exponent = normalised(shares[part], share_powers[part])
            if logs:
                out[part] = min(0.0, log_of(mantissa, exponent)[0])
            else:
                out[part] = min(1.0, narrowed(mantissa, exponent))
    return high, low
