"""The transitions of non-projective Covington parsing with lists (Nivre 2008, section 5.2).

At the pair (i, j), j < i, four transitions are there:

    NO-ARC     go on to (i, j - 1)
    LEFT-ARC   i -> j, then go on to (i, j - 1)
    RIGHT-ARC  j -> i, then go on to (i, j - 1)
    SHIFT      go on to (i + 1, i): no more pairs of i

A pair is active when at least one arc is permissible: single-headed, acyclic, and of a degree
within the bound. Only then is there a choice. Arcs that are given are made whatever their degree,
and no arc is permissible that would be at odds with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import (
    HEAD,
    TOP,
    begin_forest,
    degree_of_pair,
    link_left,
    link_right,
    top_of,
)
from crossarc.kernels import subkernel

__all__ = [
    "ACTIONS",
    "LEFT_ARC",
    "NO_ARC",
    "RIGHT_ARC",
    "SHIFT",
    "begin_given",
    "choices",
    "given_arc",
    "is_pending",
    "link",
]

Ints = NDArray[np.int64]

NO_ARC, LEFT_ARC, RIGHT_ARC, SHIFT = range(4)
ACTIONS = 4


@subkernel()
def begin_given(forest: Ints, given: Ints, leftmost: Ints) -> None:
    """No arc yet, but those that are given can close no cycle any more.

    Args:
        given: heads, that of word 1 at 1; -1 where there is none.
        leftmost: filled with the leftmost word that a given arc joins each word to.
    """
    begin_forest(forest)
    for m in range(1, given.shape[0]):
        leftmost[m] = m
    for m in range(1, given.shape[0]):
        h = given[m]
        if h > 0:
            forest[TOP, m] = h
            leftmost[max(h, m)] = min(leftmost[max(h, m)], min(h, m))


@subkernel()
def given_arc(given: Ints, i: int, j: int) -> int:
    """The arc that is given between i and j, or NO_ARC."""
    if given[i] == j:
        return RIGHT_ARC
    return LEFT_ARC if given[j] == i else NO_ARC


@subkernel()
def is_pending(leftmost: Ints, i: int, j: int) -> bool:
    """Whether arcs are given that join i to words before j."""
    return bool(leftmost[i] < j)


@subkernel()
def choices(forest: Ints, given: Ints, leftmost: Ints, bound: int, i: int, j: int) -> int:
    """A bit for each transition that the pair allows, or 0 if the pair is not active."""
    left = forest[HEAD, j] == 0 and given[j] < 0
    right = forest[HEAD, i] == 0 and given[i] < 0
    if not (left or right):
        return 0
    # i -> j closes a cycle iff j is the top of i; a top has no head.
    left = left and top_of(forest, i) != j
    right = right and top_of(forest, j) != i
    if not (left or right) or degree_of_pair(forest, i, j) > bound:
        return 0
    shift = not is_pending(leftmost, i, j)
    return (1 << NO_ARC) | left << LEFT_ARC | right << RIGHT_ARC | shift << SHIFT


@subkernel()
def link(forest: Ints, action: int, i: int, j: int) -> None:
    """Make the arc of an action, if it has one."""
    if action == LEFT_ARC:
        link_left(forest, i, j)
    elif action == RIGHT_ARC:
        link_right(forest, i, j, degree_of_pair(forest, i, j))
