"""Slopes of the marginals of spanning trees along a direction of the scores, in O(n^3).

The elimination in wide numbers, each with its slope: sums, products and quotients of positive
numbers have slopes that are right to a few rounding units of the numbers themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.spanning.wide import walk_wide
from crossarc.inference.spanning.wide_slopes import column_slopes
from crossarc.inference.spanning.wide_steps import column_tops, wide_weights
from crossarc.kernels import kernel

__all__ = ["arc_slopes", "fold_labels", "unfold_labels"]

Floats = NDArray[np.float64]

_F2, _F3 = types.float64[:, ::1], types.float64[:, :, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ3 = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.void(_READ2, _READ2, types.boolean, _READ2, _F2))
def arc_slopes(
    scores: Floats, label_sums: Floats, single: bool, direction: Floats, out: Floats
) -> None:
    """Fill `out`; there is a tree, and the scores are small enough to be summed over.

    Args:
        label_sums: of labelled arcs, the weight of all labels over that of the best; else empty.
        direction: of the logarithms of the arcs' weights.
    """
    n = scores.shape[0] - 1
    column_max = np.empty(n + 1)
    column_tops(scores, n, single, column_max)
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    wide_weights(scores, label_sums, n, single, column_max, weights, powers)
    slopes = np.empty((n, n + 1))
    for m in range(n):
        for h in range(n + 1):
            slopes[m, h] = weights[m, h] * direction[0 if h == n else h + 1, m + 1]
    reach, reach_powers = np.empty((n, n)), np.empty((n, n), np.int64)
    reach_slopes = np.empty((n, n))
    pivots, pivot_powers = np.empty(n), np.empty(n, np.int64)
    walk_wide(weights, powers, n, reach, reach_powers, pivots, pivot_powers, slopes, reach_slopes)
    out[:] = 0.0
    for m in range(n):
        column_slopes(weights, powers, slopes, reach, reach_powers, reach_slopes, n, m, out)


@kernel(types.void(_READ3, _READ2, _READ2, _READ3, _F2))
def fold_labels(
    scores: Floats, column_max: Floats, label_sums: Floats, direction: Floats, out: Floats
) -> None:
    """The slope of the logarithm of each arc's weight: the mean of its labels' directions."""
    width, labels = scores.shape[0], scores.shape[2]
    for h in range(width):
        for m in range(width):
            out[h, m] = 0.0
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    share = math.exp(scores[h, m, k] - column_max[h, m]) / label_sums[h, m]
                    out[h, m] += share * direction[h, m, k]


@kernel(types.void(_READ3, _READ2, _READ2, _READ3, _READ2, _READ2, _READ3, _F3))
def unfold_labels(
    scores: Floats,
    column_max: Floats,
    label_sums: Floats,
    marginals: Floats,
    slopes: Floats,
    folded: Floats,
    direction: Floats,
    out: Floats,
) -> None:
    """mu(a, l) = mu(a) share(l | a), so its slope is share mu'(a) + mu(a, l) (v(l) - mean of v)."""
    width, labels = scores.shape[0], scores.shape[2]
    for h in range(width):
        for m in range(width):
            for k in range(labels):
                out[h, m, k] = 0.0
                if scores[h, m, k] > -np.inf:
                    share = math.exp(scores[h, m, k] - column_max[h, m]) / label_sums[h, m]
                    change = direction[h, m, k] - folded[h, m]
                    out[h, m, k] = share * slopes[h, m] + marginals[h, m, k] * change
