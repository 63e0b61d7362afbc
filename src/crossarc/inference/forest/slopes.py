"""Slopes of the marginals of parts along a direction of their scores.

The slope of mu(part) is the sum over its instances e of  P(e) (E[V | e] - E[V]),  where V adds up
the direction's values over a derivation (second-order expectations, Li & Eisner 2009). With

    E(v) = sum over the instances e of v of  p(e | v) (value(e) + E(left) + E(right))

the expected value below item v, as in `expectation`, and above it, from the goal down,

    A(l) = sum over the instances e with tail l of  p(e | l) (A(head) + value(e) + E(other tail))

E[V | e] = A(head) + value(e) + E(left) + E(right). All are means of what may occur, so none is
wrong by more than a few rounding units of the values that carry the mass.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO, narrowed, normalised_along, power_of_two
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.expectation import choice, mean_below, means_within
from crossarc.inference.forest.inside import most_instances, weights_within
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["slopes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _add(
    label_sums: Floats, sums: Floats, powers: Ints, item: int, mass: float, mean: float, power: int
) -> None:
    """Another share of an item's mass, and what it adds to the sum of which A is the mean."""
    gain = power - powers[item]
    up = max(gain, 0)
    old, new = power_of_two(-up), power_of_two(gain - up)
    label_sums[item] = label_sums[item] * old + mass * new
    sums[item] = sums[item] * old + mass * mean * new
    powers[item] += up


@kernel(types.void(FOREST, READ_FLOAT, types.float64[::1]))
def slopes(forest: Forest, values: Floats, out: Floats) -> None:
    """Fill `out` with the slope of each part's marginal along `values`; the goal can be built."""
    out[:] = 0.0
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    means = means_within(forest, values, inside, powers)
    chances, exponents = np.empty(most), np.empty(most, np.int64)
    lefts, rights, parts = forest.left, forest.right, forest.part
    # P(v), the probability of an item, and P(v) A(v), which shares its exponent.
    label_sums, sums, mass_powers = np.zeros(items), np.zeros(items), np.full(items, ZERO, np.int64)
    label_sums[-1], mass_powers[-1] = 1.0, 0
    for v in range(items - 1, -1, -1):
        mass, total, power = normalised_along(label_sums[v], sums[v], mass_powers[v])
        above, begin = total / mass, forest.first[v]
        for i in range(choice(forest, inside, powers, v, chances, exponents)):
            left, right, part = lefts[begin + i], rights[begin + i], parts[begin + i]
            value = values[part] if part >= 0 else 0.0
            here = above + value
            share, share_power = mass * chances[i], power + exponents[i]
            if left >= 0:
                beside = mean_below(means, right, -1)
                _add(label_sums, sums, mass_powers, left, share, here + beside, share_power)
            if right >= 0:
                beside = mean_below(means, left, -1)
                _add(label_sums, sums, mass_powers, right, share, here + beside, share_power)
            if part >= 0:
                whole = here + mean_below(means, left, right)
                out[part] += narrowed(share, share_power) * (whole - means[-1])
