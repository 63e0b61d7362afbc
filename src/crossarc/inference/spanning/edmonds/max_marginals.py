"""For every arc the best spanning tree that has it, in O(n^3) for all arcs.

A tree has one arc into each word (a partition matroid) and no cycle even if directions are ignored
(a graphic matroid): it is a common basis of both. Let A be a best tree, a_v its arc into word v,
and C(h, v) the arcs of A between h and v, that is, those which the arc h -> v can replace
without leaving a cycle. To bring in h -> m, one of C(h, m) must go, say a_v; if v is not m, then v
needs another arc h' -> v, in whose place one of C(h', v) goes, and so on until a_m is gone:

    loss(e) = score(a_m) - score(e)                        for e = h -> m
    step(v, v') = min of loss(h' -> v) over the h' with a_v' in C(h', v)
    cost(h -> m) = loss(h -> m) + min over a_v in C(h, m) of the shortest way from v to m by steps

and the best tree with h -> m scores cost(h -> m) less than A.

*Why.* No better tree: for a tree B with e = h -> m, the arcs of A and B that differ match up in
both matroids, the two matchings together are cycles of such steps, none of them gains (A is best),
and one of them contains e; so B loses at least cost(e). Such a tree exists: of the cheapest cycles
through e take one with the fewest steps. No other steps match up its arcs, for together with them
cycles could be formed of which one through e is shorter or cheaper; and arcs that match up in one
way only can be exchanged all at once, in both matroids (Schrijver 2003, chapters 39 and 41).

Losses may be negative, but no round of steps is, so shortest ways are found by Floyd's algorithm.
With a single root, losses are pairs (root arcs, score) in this order: a tree that costs a second
root arc is none. Labelled arcs side by side differ in their loss alone.

*Rounding.* Losses are differences within one word; a cost is a sum of up to n of them.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = ["detours", "detours_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_NEVER = 1 << 40


@subkernel()
def _depths(heads: Ints) -> Ints:
    """How far below the root each node is; heads[m] is the head of m, heads[0] unused."""
    width = heads.shape[0]
    depths = np.full(width, -1)
    depths[0] = 0
    for m in range(1, width):
        x, steps = m, 0
        while depths[x] < 0:
            x = heads[x]
            steps += 1
        top = depths[x] + steps
        x = m
        while depths[x] < 0:
            depths[x] = top
            top -= 1
            x = heads[x]
    return depths


@subkernel()
def _between(heads: Ints, depths: Ints, h: int, m: int, found: Ints) -> int:
    """The words whose arcs lie between h and m in the tree; how many there are."""
    count = 0
    while h != m:
        if depths[h] >= depths[m]:
            found[count] = h
            h = heads[h]
        else:
            found[count] = m
            m = heads[m]
        count += 1
    return count


@subkernel()
def _steps(
    scores: Floats, heads: Ints, depths: Ints, single: bool, costs: Floats, roots: Ints
) -> None:
    """The cheapest step from each word to each other."""
    width = scores.shape[0]
    found = np.empty(2 * width, np.int64)
    for v in range(1, width):
        own = scores[heads[v], v]
        for h in range(width):
            if scores[h, v] == -np.inf:
                continue
            loss = own - scores[h, v]
            extra = int(h == 0) - int(heads[v] == 0) if single else 0
            for i in range(_between(heads, depths, h, v, found)):
                x = found[i]
                if extra < roots[v, x] or (extra == roots[v, x] and loss < costs[v, x]):
                    costs[v, x], roots[v, x] = loss, extra
    for v in range(1, width):
        costs[v, v], roots[v, v] = 0.0, 0


@subkernel()
def _shortest(costs: Floats, roots: Ints) -> None:
    """Shortest ways from steps (Floyd 1962), in the order of (root arcs, score)."""
    width = costs.shape[0]
    for k in range(1, width):
        for v in range(1, width):
            if roots[v, k] >= _NEVER or v == k:
                continue
            cost, extra = costs[v, k], roots[v, k]
            for x in range(1, width):
                total, count = cost + costs[k, x], extra + roots[k, x]
                if count < roots[v, x] or (count == roots[v, x] and total < costs[v, x]):
                    costs[v, x], roots[v, x] = total, count


@subkernel()
def detours_of(scores: Floats, best: Ints, single: bool, out: Floats) -> None:
    """What each arc costs in addition to its own loss; infinite where no tree has it.

    Args:
        scores: (n + 1, n + 1), -inf where an arc is forbidden, on the diagonal and in column 0.
        best: heads of a best tree.
    """
    width = scores.shape[0]
    heads = np.zeros(width, np.int64)
    heads[1:] = best
    depths = _depths(heads)
    costs, roots = np.full((width, width), np.inf), np.full((width, width), _NEVER)
    _steps(scores, heads, depths, single, costs, roots)
    _shortest(costs, roots)
    found = np.empty(2 * width, np.int64)
    for h in range(width):
        for m in range(width):
            out[h, m] = np.inf
            if scores[h, m] == -np.inf:
                continue
            least, fewest = np.inf, _NEVER
            for i in range(_between(heads, depths, h, m, found)):
                v = found[i]
                if roots[v, m] < fewest or (roots[v, m] == fewest and costs[v, m] < least):
                    least, fewest = costs[v, m], roots[v, m]
            extra = int(h == 0) - int(heads[m] == 0) if single else 0
            if fewest + extra <= 0:
                out[h, m] = least


@kernel(types.void(_READ2, READ_INT, types.boolean, types.float64[:, ::1]))
def detours(scores: Floats, best: Ints, single: bool, out: Floats) -> None:
    """`detours_of` for callers in Python."""
    detours_of(scores, best, single, out)
