"""How far a tree is from projective: kernels over an array of heads.

All kernels take `heads`, the head of word 1 first, 0 the artificial root at position 0, which must
form a tree. "Subtree" means a node with all its descendants. Memory is O(n) everywhere and nothing
recurses, so long chains and wide stars are safe.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_BOOL, READ_INT, kernel, subkernel

__all__ = ["arc_degrees", "count_crossings", "gap_degrees", "is_well_nested"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_INTS = types.int64[::1]
_BOOLS = types.boolean[::1]


@subkernel()
def _preorder(heads: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Nodes parents first, and each node's depth, preorder number and subtree size, in O(n).

    v lies in the subtree of u iff first[u] <= first[v] < first[u] + size[u].
    """
    nodes = heads.shape[0] + 1
    offset = np.zeros(nodes + 1, np.int64)
    for m in range(1, nodes):
        offset[heads[m - 1] + 1] += 1
    for u in range(nodes):
        offset[u + 1] += offset[u]
    children = np.empty(nodes, np.int64)
    filled = offset.copy()
    for m in range(1, nodes):
        children[filled[heads[m - 1]]] = m
        filled[heads[m - 1]] += 1

    order = np.zeros(nodes, np.int64)
    depth = np.zeros(nodes, np.int64)
    found = 1
    for k in range(nodes):
        u = order[k]
        for c in range(offset[u], offset[u + 1]):
            order[found] = children[c]
            depth[children[c]] = depth[u] + 1
            found += 1

    size = np.ones(nodes, np.int64)
    for k in range(nodes - 1, 0, -1):
        size[heads[order[k] - 1]] += size[order[k]]
    first = np.zeros(nodes, np.int64)
    for k in range(nodes):
        u = order[k]
        number = first[u] + 1
        for c in range(offset[u], offset[u + 1]):
            first[children[c]] = number
            number += size[children[c]]
    return order, depth, first, size


@subkernel()
def _neighbour_ancestors(heads: Ints, order: Ints, depth: Ints, first: Ints, size: Ints) -> Ints:
    """Lowest common ancestor of nodes p - 1 and p, for p = 1..n, in O(n log n).

    Skip pointers (Myers 1983) climb past ancestors in logarithmically many steps with one
    pointer a node.
    """
    nodes = heads.shape[0] + 1
    jump = np.zeros(nodes, np.int64)
    for k in range(1, nodes):
        u = order[k]
        parent = heads[u - 1]
        far = jump[parent]
        if depth[parent] - depth[far] == depth[far] - depth[jump[far]]:
            jump[u] = jump[far]
        else:
            jump[u] = parent

    ancestor = np.zeros(nodes, np.int64)
    for p in range(1, nodes):
        u = p - 1
        while not first[u] <= first[p] < first[u] + size[u]:
            far = jump[u]
            u = heads[u - 1] if first[far] <= first[p] < first[far] + size[far] else far
        ancestor[p] = u
    return ancestor


@kernel(types.Tuple((_INTS, _BOOLS))(READ_INT))
def gap_degrees(heads: Ints) -> tuple[Ints, Bools]:
    """Gap degree of each word, and which arcs are non-projective, in O(n log n).

    A block is a maximal run of neighbouring words of a subtree; the gap degree of a node is the
    number of blocks of its subtree less one (Kuhlmann & Nivre 2006). Two neighbours p - 1, p
    belong to one block of u iff their lowest common ancestor is in the subtree of u, hence

        blocks(u) = size(u) - number of p with ancestor(p) in the subtree of u.

    The arc h -> m is projective iff h and m share a block of h (Nivre 2006, constraint 5). That
    block ends at the nearest p on either side whose ancestor(p) lies above h. The nearest pair
    touching h either does so itself or has h as its ancestor, so "the nearest shallower ancestor
    beyond it" answers the question, and a stack finds those for all p in linear time.
    """
    n = heads.shape[0]
    order, depth, first, size = _preorder(heads)
    ancestor = _neighbour_ancestors(heads, order, depth, first, size)

    joined = np.zeros(n + 1, np.int64)
    for p in range(2, n + 1):
        joined[ancestor[p]] += 1
    for k in range(n, 0, -1):
        joined[heads[order[k] - 1]] += joined[order[k]]
    gaps = size[1:] - joined[1:] - 1

    # before[p], after[p]: the nearest pair on that side with a shallower ancestor than pair p.
    before = np.zeros(n + 2, np.int64)
    after = np.full(n + 2, n + 1, np.int64)
    stack = np.empty(n + 1, np.int64)
    top = 0
    for p in range(1, n + 1):
        while top > 0 and depth[ancestor[stack[top - 1]]] > depth[ancestor[p]]:
            after[stack[top - 1]] = p
            top -= 1
        if top > 0:
            nearest = stack[top - 1]
            tied = depth[ancestor[nearest]] == depth[ancestor[p]]
            before[p] = before[nearest] if tied else nearest
        stack[top] = p
        top += 1

    nonprojective = np.zeros(n, np.bool_)
    for m in range(1, n + 1):
        h = heads[m - 1]
        if h == 0:
            continue
        if m > h:
            last = after[h + 1] - 1 if ancestor[h + 1] == h else h
            nonprojective[m - 1] = m > last
        else:
            start = before[h] if ancestor[h] == h else h
            nonprojective[m - 1] = m < start
    return gaps, nonprojective


@kernel(_INTS(READ_INT, READ_BOOL))
def arc_degrees(heads: Ints, nonprojective: Bools) -> Ints:
    """Degree of each word's arc (Nivre 2006, Definition 3).

    The degree of h -> m is the number of connected components strictly between h and m whose root
    h does not dominate. Such a root is a word between them, not below h, whose own head lies
    outside; h and m themselves cannot be that head, since h dominates both. Projective arcs have
    degree 0, so the cost is O(n) plus the summed length of the non-projective arcs.
    """
    n = heads.shape[0]
    _, _, first, size = _preorder(heads)
    degrees = np.zeros(n, np.int64)
    for m in range(1, n + 1):
        if not nonprojective[m - 1]:
            continue
        h = heads[m - 1]
        low, high = min(h, m), max(h, m)
        begin, end = first[h], first[h] + size[h]
        degree = 0
        # Without a branch, so that the loop becomes vector instructions.
        for r in range(low + 1, high):
            outside = (heads[r - 1] < low) | (heads[r - 1] > high)
            elsewhere = (first[r] < begin) | (first[r] >= end)
            degree += outside & elsewhere
        degrees[m - 1] = degree
    return degrees


@kernel(types.boolean(READ_INT, READ_BOOL))
def is_well_nested(heads: Ints, nonprojective: Bools) -> bool:
    """Whether no two disjoint subtrees interleave (Kuhlmann & Nivre 2006, Definition 8).

    If disjoint subtrees interleave, the paths inside them must cross somewhere above the line, so
    there are crossing arcs whose heads do not dominate each other; conversely the subtrees of such
    heads interleave. Both arcs are non-projective, so with p of those the cost is O(n + p^2).
    """
    n = heads.shape[0]
    _, _, first, size = _preorder(heads)
    low, high = np.empty(n, np.int64), np.empty(n, np.int64)
    begin, end = np.empty(n, np.int64), np.empty(n, np.int64)
    count = 0
    for m in range(1, n + 1):
        if nonprojective[m - 1]:
            h = heads[m - 1]
            low[count], high[count] = min(h, m), max(h, m)
            begin[count], end[count] = first[h], first[h] + size[h]
            count += 1
    for a in range(count):
        found = 0
        for b in range(a):
            right = (low[a] < low[b]) & (low[b] < high[a]) & (high[a] < high[b])
            left = (low[b] < low[a]) & (low[a] < high[b]) & (high[b] < high[a])
            disjoint = (end[a] <= begin[b]) | (end[b] <= begin[a])
            found += (left | right) & disjoint
        if found:
            return False
    return True


@kernel(types.int64(READ_INT))
def count_crossings(heads: Ints) -> int:
    """Pairs of crossing arcs between words; arcs from the root are not drawn. O(n log n).

    Arcs a-c and b-d cross iff a < b < c < d. Left ends are swept in order while a Fenwick tree
    counts the right ends of the arcs opened so far.
    """
    n = heads.shape[0]
    offset = np.zeros(n + 2, np.int64)
    for m in range(1, n + 1):
        if heads[m - 1] > 0:
            offset[min(heads[m - 1], m) + 1] += 1
    for u in range(n + 1):
        offset[u + 1] += offset[u]
    right_ends = np.empty(n, np.int64)
    filled = offset.copy()
    for m in range(1, n + 1):
        if heads[m - 1] > 0:
            left = min(heads[m - 1], m)
            right_ends[filled[left]] = max(heads[m - 1], m)
            filled[left] += 1

    opened = np.zeros(n + 1, np.int64)
    crossings = 0
    for b in range(1, n + 1):
        for k in range(offset[b], offset[b + 1]):
            # right ends c with b < c < d, among arcs whose left end is before b
            c = right_ends[k] - 1
            while c > 0:
                crossings += opened[c]
                c -= c & -c
            c = b
            while c > 0:
                crossings -= opened[c]
                c -= c & -c
        for k in range(offset[b], offset[b + 1]):
            c = right_ends[k]
            while c <= n:
                opened[c] += 1
                c += c & -c
    return crossings
