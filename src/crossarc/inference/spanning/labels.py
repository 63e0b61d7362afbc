"""Labels drawn for the arcs of random trees, and the scores of many trees of one sentence."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_sum
from crossarc.inference.arithmetic.rng import State, below, uniform
from crossarc.kernels import kernel

__all__ = ["draw_labels", "score_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)


@kernel(types.void(_READ3, _READ2_INT, types.uint64[::1], types.int64[:, ::1]))
def draw_labels(scores: Floats, heads: Ints, state: State, out: Ints) -> None:
    """A label for each arc, in proportion to exp(score); heads and labels are rows.

    What is needed of an arc's labels is computed when the arc first comes: O(labels) for each arc,
    then O(log labels) a draw.
    """
    width, labels = scores.shape[0], scores.shape[2]
    sums = np.empty((width, width, labels))
    known = np.zeros((width, width), np.bool_)
    for row in range(heads.shape[0]):
        for word in range(width - 1):
            h, m = heads[row, word], word + 1
            if not known[h, m]:
                top, passed = scores[h, m].max(), 0.0
                for label in range(labels):
                    passed += math.exp(scores[h, m, label] - top)
                    sums[h, m, label] = passed
                known[h, m] = True
            out[row, word] = below(sums[h, m], 0, labels, uniform(state))


@kernel(types.void(_READ3, _READ2_INT, _READ2_INT, types.float64[::1]))
def score_rows(scores: Floats, heads: Ints, labels: Ints, out: Floats) -> None:
    """The score of each tree, one a row; what rounding takes is added up beside it."""
    for row in range(heads.shape[0]):
        total, lost = 0.0, 0.0
        for word in range(heads.shape[1]):
            x = scores[heads[row, word], word + 1, labels[row, word]]
            total, error = two_sum(total, x)
            lost += error
        out[row] = total + lost
