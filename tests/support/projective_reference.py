"""Sums and maxima over projective trees by their recursive definition, in plain Python.

A subtree of word h over i..j is what h takes on its left and on its right. What h takes on one side
is a sequence of subtrees side by side, modifiers from the inside out; each adds its arc and its
sibling part. No split heads and no chart: about n^6 steps, for sentences of up to a dozen words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def log_sum(values: Iterable[float]) -> float:
    listed = list(values)
    top = max(listed, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in listed))


def highest(values: Iterable[float]) -> float:
    return max(values, default=-math.inf)


def over_trees(
    scores: Array,
    root: str,
    sibling: Array | None = None,
    combine: Callable[[Iterable[float]], float] = log_sum,
) -> float:
    """log Z of all projective trees, or with `highest` the best score."""
    n = len(scores) - 1

    def part(h: int, s: int, m: int) -> float:
        return float(scores[h, m]) + (0.0 if sibling is None else float(sibling[h, s, m]))

    @cache
    def subtree(h: int, i: int, j: int) -> float:
        return before(h, h, i, h - 1) + after(h, h, h + 1, j)

    @cache
    def after(h: int, s: int, i: int, j: int) -> float:
        """Modifiers of h over i..j, to its right; s is the one taken last."""
        if i > j:
            return 0.0
        return combine(
            part(h, s, m) + subtree(m, i, k) + after(h, m, k + 1, j)
            for k in range(i, j + 1)
            for m in range(i, k + 1)
        )

    @cache
    def before(h: int, s: int, i: int, j: int) -> float:
        """The mirror image."""
        if i > j:
            return 0.0
        return combine(
            part(h, s, m) + subtree(m, k, j) + before(h, m, i, k - 1)
            for k in range(i, j + 1)
            for m in range(k, j + 1)
        )

    if root == "multi":
        return after(0, 0, 1, n)
    return combine(part(0, 0, m) + subtree(m, 1, n) for m in range(1, n + 1))
