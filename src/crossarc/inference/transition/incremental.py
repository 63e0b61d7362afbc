"""Covington's order of pairs: each word with all words before it, the nearest first.

    for i = 1 up to n
        for j = i - 1 down to 1
            LINK(i, j)  if  PERMISSIBLE(i, j)

At the pair (i, j) the pieces of an arc between i and j are the connected components strictly
between them whose root neither i nor j dominates (with the arc, its head dominates both). This is
the degree that the arc would have, in either direction: Nivre 2006, Definition 3. All earlier arcs
keep or lower their degree when an arc is added, because a new arc lies inside none of them; so the
graph plus the arc obeys a bound iff the arc does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["scan_incrementally"]

Ints = NDArray[np.int64]


@subkernel()
def scan_incrementally(gold: Ints, bound: int, found: Ints, histogram: Ints) -> tuple[int, int]:
    """Link every gold arc of at most `bound` pieces; O(n^2) for a sentence with few crossings.

    While j runs down, a word r is the root of an undominated component from j = r - 1 on, for good
    if it has no head, else until j meets its head. `change[j]` sums what begins and ends at j, and
    its running sum is the number of pieces. Two things can take r out: i comes to dominate it, or
    j is an ancestor of r that its arc passes over, which `_passed_over` counts apart.

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
    head = np.zeros(n + 1, np.int64)
    top = np.arange(n + 1)
    base, change = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    passed = np.zeros(n + 1, np.int64)
    below = np.zeros(n + 1, np.bool_)
    crossing = np.empty(n, np.int64)
    crossings = 0
    single_headed, most = 0, 0
    for i in range(1, n + 1):
        change[:i] = base[:i]
        below[:i] = False
        _passed_over(head, below, crossing[:crossings], passed[:i])
        pieces = 0
        for j in range(i - 1, 0, -1):
            pieces += change[j]
            if head[i] > 0 and head[j] > 0:
                continue
            single_headed += 1
            if top[i] == top[j]:
                continue
            degree = pieces - passed[j]
            histogram[min(degree, last)] += 1
            if degree > bound:
                continue
            if gold[i - 1] == j:
                most = max(most, degree)
                head[i] = j
                _join(top, i, top[j], i)
                if degree > 0:
                    crossing[crossings] = i
                    crossings += 1
            elif gold[j - 1] == i:
                most = max(most, degree)
                pieces -= _take_below(head, top, below, change, j, i)
                head[j] = i
                base[j - 1] -= 1
                _join(top, j, top[i], i)
                if crossings > 0:
                    _passed_over(head, below, crossing[:crossings], passed[:i])
        base[i - 1] += 1
        base[head[i]] -= 1
    for m in range(n):
        found[m] = head[m + 1]
    return single_headed, most


@subkernel()
def _join(top: Ints, old: int, new: int, last: int) -> None:
    """Hang the tree of `old` into that of `new`."""
    for r in range(1, last + 1):
        if top[r] == old:
            top[r] = new


@subkernel()
def _take_below(
    head: Ints, top: Ints, below: NDArray[np.bool_], change: Ints, j: int, i: int
) -> int:
    """Word i comes to dominate the tree of j: its words are no pieces any more.

    Returns:
        by how much the running sum at j goes down.
    """
    fewer = 0
    for r in range(1, i):
        if top[r] != j:
            continue
        below[r] = True
        if head[r] < r:
            change[r - 1] -= 1
            change[head[r]] += 1
            fewer += (r - 1 >= j) - (head[r] >= j)
    return fewer


@subkernel()
def _passed_over(head: Ints, below: NDArray[np.bool_], crossing: Ints, passed: Ints) -> None:
    """For each word before i, how many arcs of its descendants pass over it to the right.

    Such an arc covers a word that is not below its head, so it had a piece when it was made:
    only those in `crossing` need a look.
    """
    passed[:] = 0
    for r in crossing:
        if r >= passed.shape[0] or below[r]:
            continue
        ancestor = head[head[r]]
        while ancestor > 0:
            if head[r] < ancestor < r:
                passed[ancestor] += 1
            ancestor = head[ancestor]
