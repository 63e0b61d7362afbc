"""The dynamic oracle: what each transition costs in gold arcs that can no longer be found.

For Covington's algorithm without a bound on the degree, the loss of a configuration is the number
of gold arcs that are out of reach one by one, plus the number of cycles that the arcs made and
those within reach form together (Gomez-Rodriguez & Fernandez-Gonzalez 2015, section 3): each node
has one head there, so cycles share no node, and each costs one arc. An arc is out of reach if its
pair has been left, if its modifier has another head, or if it would close a cycle with arcs made.

Under a bound, pairs of i are also out of reach behind more words without head than the bound
allows, since these stay pieces of all arcs of i. What is left is an approximation from below: gold
arcs are taken to be permissible when their pair comes, which earlier arcs may prevent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.system import LEFT_ARC, RIGHT_ARC, SHIFT
from crossarc.kernels import subkernel

__all__ = ["cheapest", "loss"]

Ints = NDArray[np.int64]


@subkernel()
def cheapest(head: Ints, gold: Ints, bound: int, allowed: int, i: int, j: int) -> int:
    """Of the transitions allowed at (i, j), a bit each, those that lose the fewest gold arcs."""
    fewest, found = gold.shape[0] + 1, 0
    for action in range(4):
        if not allowed >> action & 1:
            continue
        m = i if action == RIGHT_ARC else j
        if action in (LEFT_ARC, RIGHT_ARC):
            head[m] = i + j - m
        lost = loss(head, gold, bound, i, 0 if action == SHIFT else j - 1)
        if action in (LEFT_ARC, RIGHT_ARC):
            head[m] = 0
        if lost < fewest:
            fewest, found = lost, 0
        if lost == fewest:
            found |= 1 << action
    return found


@subkernel()
def loss(head: Ints, gold: Ints, bound: int, i: int, j: int) -> int:
    """Gold heads that no continuation finds; of i, the pairs from (i, j) on are still to come.

    Args:
        head, gold: that of word 1 at 1; head 0 for none yet, gold -1 where none counts.
    """
    pieces = 0
    for r in range(j + 1, i):
        pieces += head[r] == 0
    if pieces > bound:
        j = 0
    lost, wrong = 0, False
    for m in range(1, i + 1):
        if head[m] > 0 and head[m] != gold[m]:
            lost += gold[m] >= 0
            wrong = True
        elif _is_out_of_reach(head, gold, i, j, m):
            lost += 1
    return lost + _cycles(head, gold, i, j) if wrong else lost


@subkernel()
def _is_out_of_reach(head: Ints, gold: Ints, i: int, j: int, m: int) -> bool:
    """Whether a word without a head can no longer get its gold head; the root is no such head."""
    h = gold[m]
    if head[m] > 0 or h <= 0:
        return False
    later = max(h, m)
    if later < i or (later == i and min(h, m) > j):
        return True
    while h > 0 and h != m:
        h = head[h]
    return bool(h == m)


@subkernel()
def _cycles(head: Ints, gold: Ints, i: int, j: int) -> int:
    """Cycles of arcs made and gold arcs in reach; each has a wrong arc, and the first is counted
    of those that a cycle has."""
    count = 0
    for start in range(1, i + 1):
        if head[start] == 0 or head[start] == gold[start]:
            continue
        m = head[start]
        steps = 0
        while m > 0 and m != start and steps < gold.shape[0]:
            steps += 1
            if head[m] > 0:
                m = 0 if m < start and head[m] != gold[m] else head[m]
            else:
                m = 0 if _is_out_of_reach(head, gold, i, j, m) else gold[m]
        count += m == start
    return count
