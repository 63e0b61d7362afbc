"""Covington's order of pairs: each word with all words before it, the nearest first.

for i = 1 up to n
    for j = i - 1 down to 1
        LINK(i, j)  if  PERMISSIBLE(i, j)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import (
    HEAD,
    MARGIN,
    ROWS,
    begin_forest,
    begin_word,
    degree_of_pair,
    end_word,
    link_left,
    link_right,
    reach_pair,
    top_of,
)
from crossarc.kernels import subkernel

__all__ = ["scan_incrementally"]

Ints = NDArray[np.int64]


@subkernel()
def scan_incrementally(gold: Ints, bound: int, found: Ints, histogram: Ints) -> tuple[int, int]:
    """Link every gold arc of at most `bound` pieces; O(n^2) for a sentence with few crossings.

    Args:
        gold: heads, word 1 first.
        found: filled with the heads that were found, 0 for none.
        histogram: entry p is raised by the number of pairs that acyclicity permits and that have
            p pieces; the last entry takes the rest.

    Returns:
        the number of pairs that single-headedness permits, and the most pieces of a linked pair.
    """
    n = gold.shape[0]
    last = histogram.shape[0] - 1
    forest = np.empty((ROWS, n + MARGIN), np.int64)
    begin_forest(forest)
    head = forest[HEAD]
    single_headed, most = 0, 0
    for i in range(1, n + 1):
        begin_word(forest)
        for j in range(i - 1, 0, -1):
            reach_pair(forest, i, j)
            if head[i] > 0 and head[j] > 0:
                continue
            single_headed += 1
            if top_of(forest, i) == top_of(forest, j):
                continue
            degree = degree_of_pair(forest, i, j)
            histogram[min(degree, last)] += 1
            if degree > bound:
                continue
            if gold[i - 1] == j:
                most = max(most, degree)
                link_right(forest, i, j, degree)
            elif gold[j - 1] == i:
                most = max(most, degree)
                link_left(forest, i, j)
        end_word(forest, i)
    for m in range(n):
        found[m] = head[m + 1]
    return single_headed, most
