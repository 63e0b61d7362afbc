"""Eisner's algorithm as plainly as can be: the least total cost of a projective tree, O(n^3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

Cost = Callable[[int, int], int]


def least_cost(n: int, cost: Cost, *, single_root: bool) -> int:
    """The least sum of cost(h, m) over the arcs of a projective tree over n words."""

    @cache
    def linked(i: int, j: int) -> int:
        """Two halves between i and j, without the arc that joins their heads."""
        return min(complete(i, k, True) + complete(k + 1, j, False) for k in range(i, j))

    @cache
    def complete(i: int, j: int, head_left: bool) -> int:
        if i == j:
            return 0
        if head_left:
            return min(
                linked(i, k) + cost(i, k) + complete(k, j, True) for k in range(i + 1, j + 1)
            )
        return min(linked(k, j) + cost(j, k) + complete(i, k, False) for k in range(i, j))

    if single_root:
        return min(
            cost(0, r) + complete(1, r, False) + complete(r, n, True) for r in range(1, n + 1)
        )
    return complete(0, n, True)
