"""Projective trees by a deduction system with spurious ambiguity, and their derivations listed.

Items [i, h, j] are subtrees with head h over i..j. A word takes its modifiers from the inside out
on each side, but left and right ones in any order, as in arc-standard parsing:

    [i, h, k]  [k+1, m, j]  =>  [i, h, j]     arc h -> m
    [i, m, k]  [k+1, h, j]  =>  [i, h, j]     arc h -> m

A word with l left and r right modifiers takes them in C(l + r, l) orders, all with one score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import (
    Arrays,
    Numbering,
    add,
    close,
    emitter,
    open_chart,
    trimmed,
)
from crossarc.inference.forest.trees import ForestTrees
from crossarc.kernels import kernel
from support.brute_force import BruteForce, Heads, ScoredTree

Floats = NDArray[np.float64]


@kernel(emitter())
def _emit_ambiguous(scores: Floats, single: bool) -> Arrays:
    width, labels = scores.shape[0], scores.shape[2]
    chart = open_chart(width**3 + 1, width**5 * labels + 1)
    items = np.full((width, width, width), -1, np.int32)
    add(chart, -1, -1, -1)
    axiom = close(chart)
    for i in range(width):
        items[i, i, i] = axiom
    for length in range(1, width):
        for i in range(width - length):
            j = i + length
            for h in range(i, j + 1 if i > 0 else 1):
                for k in range(i, 1 if h == 0 and single else j):
                    for m in range(k + 1 if h <= k else i, j + 1 if h <= k else k + 1):
                        first = items[i, h if h <= k else m, k]
                        second = items[k + 1, m if h <= k else h, j]
                        if first >= 0 and second >= 0:
                            for label in range(labels):
                                if scores[h, m, label] > -np.inf:
                                    part = (h * width + m) * labels + label
                                    add(chart, first, second, part)
                items[i, h, j] = close(chart)
    return trimmed(chart, items[0, 0, width - 1])


class AmbiguousTrees(ForestTrees):
    ambiguous = True

    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        return _emit_ambiguous(scores, self._is_single)


def orders(heads: Heads) -> int:
    """In how many orders the words of a tree can take their modifiers."""
    count = 1
    for h in range(1, len(heads) + 1):
        left = sum(heads[m - 1] == h for m in range(1, h))
        right = sum(heads[m - 1] == h for m in range(h + 1, len(heads) + 1))
        count *= math.comb(left + right, left)
    return count


class Derivations(BruteForce):
    """Every projective tree, as often as it has derivations."""

    @cached_property
    def trees(self) -> tuple[ScoredTree, ...]:
        return tuple(tree for tree in super().trees for _ in range(orders(tree.heads)))
