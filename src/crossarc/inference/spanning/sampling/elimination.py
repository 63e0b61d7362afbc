"""Elimination node by node, one sentence, in wide numbers, for what draws trees.

The sums of `matrix_tree` go by blocks; who undoes the elimination needs each step of it. A block
holds a graph: row m has the weights w[h, m] of the arcs into word m, with words counted from 0 and
the root in the column behind the last word. A single root is a root with weights scaled by
2^ROOT_SCALE (`matrix_tree.weights`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_difference
from crossarc.inference.arithmetic.wide import (
    ZERO,
    add_product,
    exp_parts_wide,
    normalised,
    plus,
    power_of_two,
)
from crossarc.inference.spanning.matrix_tree.weights import ROOT_SCALE
from crossarc.kernels import subkernel

__all__ = ["eliminate", "find_weights", "substitute"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _find_column_max(scores: Floats, n: int, single: bool, column_max: Floats) -> None:
    """The best score into each word; the root's own scores only where they are the only ones."""
    for m in range(1, n + 1):
        column_max[m] = -np.inf if single else scores[0, m]
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            column_max[m] = max(column_max[m], scores[h, m])
    for m in range(1, n + 1):
        if column_max[m] == -np.inf:
            column_max[m] = scores[0, m]


@subkernel()
def find_weights(
    scores: Floats, label_sums: Floats, single: bool, mantissas: Floats, exponents: Ints
) -> None:
    """Weights w[m, h] relative to their column's maximum, the root's in column n."""
    n = scores.shape[0] - 1
    column_max = np.empty(n + 1)
    _find_column_max(scores, n, single, column_max)
    for h in range(n + 1):
        column = n if h == 0 else h - 1
        for m in range(n):
            if scores[h, m + 1] == -np.inf:
                mantissas[m, column], exponents[m, column] = 0.0, ZERO
                continue
            x, tail = two_difference(scores[h, m + 1], column_max[m + 1])
            mantissa, exponent = exp_parts_wide(x, tail)
            if label_sums.shape[0] > 0:
                mantissa *= label_sums[h, m + 1]
            if h == 0 and single:
                exponent += ROOT_SCALE
            mantissas[m, column], exponents[m, column] = normalised(mantissa, exponent)


@subkernel(reorder=True)
def _find_shares(block: Floats, powers: Ints, k: int, shares: Floats, share_powers: Ints) -> None:
    """w[h, k] / d_k, with d_k the sum over the nodes before k and the root."""
    size = block.shape[0]
    highest = ZERO
    for h in range(k + 1):
        column = size if h == k else h
        block[k, column], powers[k, column] = normalised(block[k, column], powers[k, column])
        highest = max(highest, powers[k, column])
    d = block[k, size] * power_of_two(powers[k, size] - highest)
    for h in range(k):
        d += block[k, h] * power_of_two(powers[k, h] - highest)
    inverse = 1.0 / d
    for h in range(k + 1):
        column = size if h == k else h
        shares[k, column], share_powers[k, column] = normalised(
            block[k, column] * inverse, powers[k, column] - highest
        )


@subkernel()
def eliminate(block: Floats, powers: Ints, shares: Floats, share_powers: Ints) -> None:
    """Eliminate all nodes but node 0, the last first; fills their shares.

    There is a way from every node to the root or to node 0.
    """
    size = block.shape[0]
    for k in range(size - 1, 0, -1):
        _find_shares(block, powers, k, shares, share_powers)
        for m in range(k):
            block[m, k], powers[m, k] = normalised(block[m, k], powers[m, k])
            factor, factor_power = block[m, k], powers[m, k]
            if factor == 0.0:
                continue
            # w[h, m] += w[k, m] w[h, k] / d_k, and the same for the root
            for first, end in ((0, k), (size, size + 1)):
                add_product(
                    block[m, first:end],
                    powers[m, first:end],
                    shares[k, first:end],
                    share_powers[k, first:end],
                    factor,
                    factor_power,
                )


@subkernel()
def substitute(escapes: Floats, escape_powers: Ints, shares: Floats, share_powers: Ints) -> None:
    """E[k, 0] = share_k(0) + sum over x of share_k(x) E[x, 0], x the nodes from 1 to k - 1."""
    size = shares.shape[0]
    escapes[0], escape_powers[0] = 0.0, ZERO
    for k in range(1, size):
        total, power = shares[k, size], share_powers[k, size]
        for x in range(1, k):
            total, power = plus(
                total, power, shares[k, x] * escapes[x], share_powers[k, x] + escape_powers[x]
            )
        escapes[k], escape_powers[k] = normalised(total, power)
