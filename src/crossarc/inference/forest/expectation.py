"""Expected values, entropy and divergence of derivations, and Hessian products.

A derivation is a sequence of choices: at item v, instance e with probability

    p(e | v) = w(e) inside(left) inside(right) / inside(v)

So what a derivation adds up has at each item the expectation (the expectation semiring of Eisner
2002, normalised)

    E(v) = sum over e of  p(e | v) (value(e) + E(left) + E(right))

With value(e) = -log p(e | v) that is the entropy, and with log p(e | v) - log q(e | v) the
divergence from another distribution over the same derivations. Both are sums of numbers that are
not negative: nothing cancels, however large the scores behind the probabilities.

The derivative of mu(part) along a direction of the scores of parts is the sum over its instances e
of  P(e) (E[V | e] - E[V]),  where V adds up the direction's values over a derivation (second-order
expectations, Li & Eisner 2009). With E(v) as above, below item v, and above it, from the goal down,

    A(l) = sum over the instances e with tail l of  p(e | l) (A(head) + value(e) + E(other tail))

E[V | e] = A(head) + value(e) + E(left) + E(right). All are means of what may occur, so none is
wrong by more than a few rounding units of the values that carry the probability.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import (
    ZERO,
    log_of,
    narrowed,
    normalised,
    normalised_along,
    power_of_two,
)
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import instance_weights, most_instances, weights_within
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["divergence", "entropy", "expectation", "hessian_product"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _mean_below(values: Floats, left: int, right: int) -> float:
    """E(left) + E(right)."""
    below = values[left] if left >= 0 else 0.0
    return below + values[right] if right >= 0 else below


@subkernel()
def _choice(
    forest: Forest, inside: Floats, powers: Ints, v: int, mantissas: Floats, exponents: Ints
) -> int:
    """p(e | v) of the instances of an item, as mantissas and exponents; returns their number."""
    count = instance_weights(forest, inside, powers, v, mantissas, exponents)
    for i in range(count):
        mantissas[i], exponents[i] = normalised(mantissas[i] / inside[v], exponents[i] - powers[v])
    return count


@subkernel()
def _means_within(forest: Forest, values: Floats, inside: Floats, powers: Ints) -> Floats:
    """E(v) of every item, with value(e) that of the instance's part."""
    items, most = inside.shape[0], most_instances(forest)
    means, mantissas, exponents = np.zeros(items), np.empty(most), np.empty(most, np.int64)
    lefts, rights = forest.left, forest.right
    for v in range(items):
        begin = forest.first[v]
        for i in range(_choice(forest, inside, powers, v, mantissas, exponents)):
            part = forest.part[begin + i]
            value = values[part] if part >= 0 else 0.0
            probability = narrowed(mantissas[i], exponents[i])
            if probability > 0.0:
                below = _mean_below(means, lefts[begin + i], rights[begin + i])
                means[v] += probability * (value + below)
    return means


@kernel(types.float64(FOREST, READ_FLOAT))
def expectation(forest: Forest, values: Floats) -> float:
    """The expected sum of the values of a derivation's parts; NaN where scores are too large."""
    inside, powers = weights_within(forest)
    if inside.shape[0] == 0 or np.isnan(inside[-1]):
        return np.nan
    return float(_means_within(forest, values, inside, powers)[-1])


@subkernel()
def _surprise(mantissas: Floats, exponents: Ints, count: int) -> float:
    """The entropy of one choice; the term of the likeliest instance by log1p of the others."""
    likeliest = 0
    for i in range(count):
        if exponents[i] > exponents[likeliest] or (
            exponents[i] == exponents[likeliest] and mantissas[i] > mantissas[likeliest]
        ):
            likeliest = i
    total, others = 0.0, 0.0
    for i in range(count):
        if i != likeliest:
            probability = narrowed(mantissas[i], exponents[i])
            others += probability
            total -= probability * log_of(mantissas[i], exponents[i])[0]
    return total - (1.0 - others) * math.log1p(-others)


@kernel(types.float64(FOREST))
def entropy(forest: Forest) -> float:
    """The entropy of derivations in nats; NaN where scores are too large."""
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    if items == 0 or np.isnan(inside[-1]):
        return np.nan
    entropies, mantissas, exponents = np.zeros(items), np.empty(most), np.empty(most, np.int64)
    lefts, rights = forest.left, forest.right
    for v in range(items):
        begin = forest.first[v]
        count = _choice(forest, inside, powers, v, mantissas, exponents)
        if count > 1:
            entropies[v] = _surprise(mantissas, exponents, count)
        for i in range(count):
            probability = narrowed(mantissas[i], exponents[i])
            entropies[v] += probability * _mean_below(
                entropies, lefts[begin + i], rights[begin + i]
            )
    return float(entropies[-1])


@subkernel()
def _gain(p: float, p_power: int, q: float, q_power: int) -> float:
    """p log(p / q) - p + q, which is never negative."""
    probability = narrowed(p, p_power)
    other = narrowed(q, q_power)
    if probability == 0.0:
        return other
    change = narrowed(q / p, q_power - p_power) - 1.0
    if abs(change) < 0.5:
        return probability * (change - math.log1p(change))
    return probability * log_of(p / q, p_power - q_power)[0] - probability + other


@kernel(types.float64(FOREST, READ_FLOAT))
def divergence(forest: Forest, scores: Floats) -> float:
    """KL divergence from the distribution over the same derivations that other scores give.

    Args:
        scores: another score for each part, finite where the forest has it.
    """
    other = Forest(forest.first, forest.left, forest.right, forest.part, scores)
    inside, powers = weights_within(forest)
    other_inside, other_powers = weights_within(other)
    items, most = inside.shape[0], most_instances(forest)
    if items == 0 or np.isnan(inside[-1]) or np.isnan(other_inside[-1]):
        return np.nan
    gains, p, p_powers = np.zeros(items), np.empty(most), np.empty(most, np.int64)
    q, q_powers = np.empty(most), np.empty(most, np.int64)
    lefts, rights = forest.left, forest.right
    for v in range(items):
        begin = forest.first[v]
        count = _choice(forest, inside, powers, v, p, p_powers)
        _choice(other, other_inside, other_powers, v, q, q_powers)
        for i in range(count):
            below = _mean_below(gains, lefts[begin + i], rights[begin + i])
            gains[v] += narrowed(p[i], p_powers[i]) * below
            if count > 1:
                gains[v] += _gain(p[i], p_powers[i], q[i], q_powers[i])
    return float(gains[-1])


@subkernel()
def _add(
    mantissas: Floats,
    sums: Floats,
    powers: Ints,
    item: int,
    mantissa: float,
    mean: float,
    power: int,
) -> None:
    """Add to P(item), and to P(item) A(item), which has the same exponent."""
    change = power - powers[item]
    up = max(change, 0)
    old, new = power_of_two(-up), power_of_two(change - up)
    mantissas[item] = mantissas[item] * old + mantissa * new
    sums[item] = sums[item] * old + mantissa * mean * new
    powers[item] += up


@kernel(types.void(FOREST, READ_FLOAT, types.float64[::1]))
def hessian_product(forest: Forest, values: Floats, out: Floats) -> None:
    """Fill `out` with the derivative of each part's marginal along `values`.

    The goal can be built.
    """
    out[:] = 0.0
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    means = _means_within(forest, values, inside, powers)
    choices, exponents = np.empty(most), np.empty(most, np.int64)
    lefts, rights, parts = forest.left, forest.right, forest.part
    # P(v), the probability of an item, and P(v) A(v).
    items_p, sums, item_powers = np.zeros(items), np.zeros(items), np.full(items, ZERO, np.int64)
    items_p[-1], item_powers[-1] = 1.0, 0
    for v in range(items - 1, -1, -1):
        own, total, power = normalised_along(items_p[v], sums[v], item_powers[v])
        above, begin = total / own, forest.first[v]
        for i in range(_choice(forest, inside, powers, v, choices, exponents)):
            left, right, part = lefts[begin + i], rights[begin + i], parts[begin + i]
            value = values[part] if part >= 0 else 0.0
            here = above + value
            p, p_power = own * choices[i], power + exponents[i]
            if left >= 0:
                other = _mean_below(means, right, -1)
                _add(items_p, sums, item_powers, left, p, here + other, p_power)
            if right >= 0:
                other = _mean_below(means, left, -1)
                _add(items_p, sums, item_powers, right, p, here + other, p_power)
            if part >= 0:
                whole = here + _mean_below(means, left, right)
                out[part] += narrowed(p, p_power) * (whole - means[-1])
