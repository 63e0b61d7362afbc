"""Scores of given trees, and the best label of each arc: the same for all kinds of trees."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import exact_sum, two_sum
from crossarc.kernels import READ_FLOAT, READ_INT, kernel

__all__ = ["best_labels", "score_trees", "tree_score"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_INT = types.int64
_FLOATS = types.float64[::1]
_READ_LABELLED = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, READ_INT, _FLOATS, _INT, _INT))
def score_trees(
    flat_scores: Floats,
    sizes: Ints,
    offsets: Ints,
    heads: Ints,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """The score of each sentence's tree, heads as from `best_heads_batch`; NaN without a tree.

    What rounding takes from the sum is added up beside it (Neumaier 1974), as good as exact.
    """
    place = sizes[:begin].sum()
    for i in range(begin, end):
        n = sizes[i]
        total, lost = 0.0, 0.0
        for m in range(n):
            if heads[place + m] < 0:
                total = np.nan
                break
            x = flat_scores[offsets[i] + heads[place + m] * (n + 1) + m + 1]
            total, error = two_sum(total, x)
            lost += error
        place += n
        out[i] = total + lost


@kernel(types.Tuple((types.float64[:, ::1], types.int64[:, ::1]))(_READ_LABELLED))
def best_labels(scores: Floats) -> tuple[Floats, Ints]:
    """The best score and label of each arc, O(labels n^2); ties take the smallest label.

    Entries that no tree can use score -inf.
    """
    width = scores.shape[0]
    best = np.full((width, width), -np.inf)
    label = np.zeros((width, width), np.int64)
    for h in range(width):
        for m in range(1, width):
            for k in range(scores.shape[2]):
                if scores[h, m, k] > best[h, m] and h != m:
                    best[h, m] = scores[h, m, k]
                    label[h, m] = k
    return best, label


def tree_score(scores: Floats, heads: Ints, labels: Ints | None = None) -> float:
    """The exact sum of a tree's scores, rounded once; infinite when it overflows."""
    words = np.arange(1, heads.shape[0] + 1)
    arcs = (scores[heads, words] if labels is None else scores[heads, words, labels]).tolist()
    return exact_sum(arcs)
