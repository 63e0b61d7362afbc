"""The best derivation, and for each part the best derivation that has it.

Sums of scores in float64, wrong by at most n eps times the summed sizes of what is compared. Where
sums might overflow, all scores are multiplied by a power of two. Where instances tie, the first one
wins: the result is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.kernels import kernel, subkernel

__all__ = ["best_parts", "best_scores", "max_marginals", "scale_of"]

Floats = NDArray[np.float64]
Shorts = NDArray[np.int32]

_F1, _S1 = types.float64[::1], types.int32[::1]

# A derivation has fewer than 2^32 parts.
_SAFE = 2.0**990
_SHRINK = 2.0**-64


@subkernel()
def scale_of(forest: Forest) -> float:
    """What scores are multiplied by so that they can be added up: 1 unless they are enormous."""
    largest = 0.0
    for e in range(forest.part.shape[0]):
        if forest.part[e] >= 0:
            largest = max(largest, abs(forest.score[forest.part[e]]))
    return 1.0 if largest < _SAFE else _SHRINK


@subkernel()
def best_scores(forest: Forest, scale: float) -> tuple[Floats, Shorts]:
    """The score of each item's best derivation, and its instance there."""
    items = forest.first.shape[0] - 1
    lefts, rights, parts, scores = forest.left, forest.right, forest.part, forest.score
    best, choice = np.empty(items), np.empty(items, np.int32)
    for v in range(items):
        highest, chosen = -np.inf, forest.first[v]
        for e in range(forest.first[v], forest.first[v + 1]):
            part, left, right = parts[e], lefts[e], rights[e]
            total = scores[part] * scale if part >= 0 else 0.0
            if left >= 0:
                total += best[left]
            if right >= 0:
                total += best[right]
            if total > highest:
                highest, chosen = total, e
        best[v], choice[v] = highest, chosen
    return best, choice


@kernel(_S1(FOREST))
def best_parts(forest: Forest) -> Shorts:
    """The parts of the best derivation; none when there is no derivation."""
    items = forest.first.shape[0] - 1
    _, choice = best_scores(forest, scale_of(forest))
    sizes = np.zeros(items + 1, np.int64)
    for v in range(items):
        # A tail of -1 reads the last entry, which stays 0.
        sizes[v] = 1 + sizes[forest.left[choice[v]]] + sizes[forest.right[choice[v]]]
    size = sizes[items - 1] if items > 0 else 0
    agenda, parts = np.empty(size + 1, np.int32), np.empty(size, np.int32)
    waiting, found = 0, 0
    if items > 0:
        agenda[0], waiting = items - 1, 1
    while waiting > 0:
        waiting -= 1
        e = choice[agenda[waiting]]
        if forest.part[e] >= 0:
            parts[found] = forest.part[e]
            found += 1
        if forest.right[e] >= 0:
            agenda[waiting] = forest.right[e]
            waiting += 1
        if forest.left[e] >= 0:
            agenda[waiting] = forest.left[e]
            waiting += 1
    return parts[:found]


@kernel(types.void(FOREST, _F1))
def max_marginals(forest: Forest, out: Floats) -> None:
    """Fill `out` with the score of the best derivation that has each part; -inf without one."""
    out[:] = -np.inf
    items = forest.first.shape[0] - 1
    scale = scale_of(forest)
    best, _ = best_scores(forest, scale)
    above = np.full(items, -np.inf)
    above[items - 1 :] = 0.0
    for v in range(items - 1, -1, -1):
        for e in range(forest.first[v], forest.first[v + 1]):
            part, left, right = forest.part[e], forest.left[e], forest.right[e]
            # What is outside of the instance, with its part: added up without its tails.
            outer = above[v] + (forest.score[part] * scale if part >= 0 else 0.0)
            inner_left = best[left] if left >= 0 else 0.0
            inner_right = best[right] if right >= 0 else 0.0
            if left >= 0:
                above[left] = max(above[left], outer + inner_right)
            if right >= 0:
                above[right] = max(above[right], outer + inner_left)
            if part >= 0:
                out[part] = max(out[part], outer + inner_left + inner_right)
    if scale != 1.0:
        for part in range(out.shape[0]):
            out[part] /= scale
