"""Pairs by increasing length, the order of Eisner's and other dynamic programmes.

    for length = 1 up to n - 1
        for j = 1 up to n - length
            LINK(j + length, j)  if  PERMISSIBLE(j + length, j)

Nivre 2006, section 4, names this order as another one in which an arc is added only after all that
it covers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["scan_shortest_first"]

Ints = NDArray[np.int64]


@subkernel()
def scan_shortest_first(gold: Ints, bound: int, found: Ints, histogram: Ints) -> tuple[int, int]:
    """The same as `scan_incrementally`, for the other order of pairs.

    Pieces are counted afresh for each permissible pair, up to the last entry of the histogram:
    O(n^3) for a sentence of few crossings.
    """
    n = gold.shape[0]
    last = histogram.shape[0] - 1
    head = np.zeros(n + 1, np.int64)
    top = np.arange(n + 1)
    single_headed, most = 0, 0
    for length in range(1, n):
        for j in range(1, n - length + 1):
            i = j + length
            if head[i] > 0 and head[j] > 0:
                continue
            single_headed += 1
            if top[i] == top[j]:
                continue
            degree = _pieces(head, j, i, last)
            histogram[degree] += 1
            if degree > bound or (gold[i - 1] != j and gold[j - 1] != i):
                continue
            most = max(most, degree)
            m, h = (i, j) if gold[i - 1] == j else (j, i)
            head[m] = h
            for r in range(1, n + 1):
                if top[r] == m:
                    top[r] = top[h]
    for m in range(n):
        found[m] = head[m + 1]
    return single_headed, most


@subkernel()
def _pieces(head: Ints, j: int, i: int, enough: int) -> int:
    """Components strictly between j and i whose root neither dominates, or `enough` of them."""
    count = 0
    for root in range(j + 1, i):
        if j < head[root] < i:
            continue
        u = head[root]
        while u > 0 and u != i and u != j:
            u = head[u]
        if u == 0:
            count += 1
            if count == enough:
                break
    return count
