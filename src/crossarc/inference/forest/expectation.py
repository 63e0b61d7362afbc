"""Expected values, entropy and divergence of derivations, from the leaves up.

A derivation is a sequence of choices: at item v, instance e with probability

    p(e | v) = w(e) inside(left) inside(right) / inside(v)

So what a derivation adds up has at each item the expectation (the expectation semiring of Eisner
2002, normalised)

    E(v) = sum over e of  p(e | v) (value(e) + E(left) + E(right))

With value(e) = -log p(e | v) that is the entropy, and with log p(e | v) - log q(e | v) the
divergence from another distribution over the same derivations. Both are sums of numbers that are
not negative: nothing cancels, however large the scores behind the probabilities.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import log_of, narrowed, normalised
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import instance_weights, most_instances, weights_within
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["choice", "divergence", "entropy", "expectation", "mean_below", "means_within"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def mean_below(values: Floats, left: int, right: int) -> float:
    """E(left) + E(right)."""
    below = values[left] if left >= 0 else 0.0
    return below + values[right] if right >= 0 else below


@subkernel()
def choice(
    forest: Forest, inside: Floats, powers: Ints, v: int, chances: Floats, exponents: Ints
) -> int:
    """p(e | v) of the instances of an item, as mantissas and exponents; returns their number."""
    count = instance_weights(forest, inside, powers, v, chances, exponents)
    for i in range(count):
        chances[i], exponents[i] = normalised(chances[i] / inside[v], exponents[i] - powers[v])
    return count


@subkernel()
def means_within(forest: Forest, values: Floats, inside: Floats, powers: Ints) -> Floats:
    """E(v) of every item, with value(e) that of the instance's part."""
    items, most = inside.shape[0], most_instances(forest)
    means, chances, exponents = np.zeros(items), np.empty(most), np.empty(most, np.int64)
    lefts, rights = forest.left, forest.right
    for v in range(items):
        begin = forest.first[v]
        for i in range(choice(forest, inside, powers, v, chances, exponents)):
            part = forest.part[begin + i]
            value = values[part] if part >= 0 else 0.0
            chance = narrowed(chances[i], exponents[i])
            if chance > 0.0:
                below = mean_below(means, lefts[begin + i], rights[begin + i])
                means[v] += chance * (value + below)
    return means


@kernel(types.float64(FOREST, READ_FLOAT))
def expectation(forest: Forest, values: Floats) -> float:
    """The expected sum of the values of a derivation's parts; NaN where scores are too large."""
    inside, powers = weights_within(forest)
    if inside.shape[0] == 0 or np.isnan(inside[-1]):
        return np.nan
    return float(means_within(forest, values, inside, powers)[-1])


@subkernel()
def _surprise(chances: Floats, exponents: Ints, count: int) -> float:
    """The entropy of one choice; that of the likeliest instance by what it leaves to the others."""
    likeliest = 0
    for i in range(count):
        if exponents[i] > exponents[likeliest] or (
            exponents[i] == exponents[likeliest] and chances[i] > chances[likeliest]
        ):
            likeliest = i
    total, others = 0.0, 0.0
    for i in range(count):
        if i != likeliest:
            chance = narrowed(chances[i], exponents[i])
            others += chance
            total -= chance * log_of(chances[i], exponents[i])[0]
    return total - (1.0 - others) * math.log1p(-others)


@kernel(types.float64(FOREST))
def entropy(forest: Forest) -> float:
    """The entropy of derivations in nats; NaN where scores are too large."""
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    if items == 0 or np.isnan(inside[-1]):
        return np.nan
    entropies, chances, exponents = np.zeros(items), np.empty(most), np.empty(most, np.int64)
    lefts, rights = forest.left, forest.right
    for v in range(items):
        begin = forest.first[v]
        count = choice(forest, inside, powers, v, chances, exponents)
        if count > 1:
            entropies[v] = _surprise(chances, exponents, count)
        for i in range(count):
            chance = narrowed(chances[i], exponents[i])
            entropies[v] += chance * mean_below(entropies, lefts[begin + i], rights[begin + i])
    return float(entropies[-1])


@subkernel()
def _gain(p: float, p_power: int, q: float, q_power: int) -> float:
    """p log(p / q) - p + q, which is never negative."""
    chance = narrowed(p, p_power)
    other = narrowed(q, q_power)
    if chance == 0.0:
        return other
    change = narrowed(q / p, q_power - p_power) - 1.0
    if abs(change) < 0.5:
        return chance * (change - math.log1p(change))
    return chance * log_of(p / q, p_power - q_power)[0] - chance + other


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
        count = choice(forest, inside, powers, v, p, p_powers)
        choice(other, other_inside, other_powers, v, q, q_powers)
        for i in range(count):
            below = mean_below(gains, lefts[begin + i], rights[begin + i])
            gains[v] += narrowed(p[i], p_powers[i]) * below
            if count > 1:
                gains[v] += _gain(p[i], p_powers[i], q[i], q_powers[i])
    return float(gains[-1])
