"""The second best tree of a subproblem: the kernels of `kbest`, which says why they are right."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.spanning.contraction import (
    CHILD,
    FIELDS,
    HEAD,
    MULTI,
    OTHERS,
    PAIRS,
    PARENT,
    SIBLING,
    STATE,
    VALUE,
    WORD,
    contract,
    enter,
    expand,
    fill_row,
)
from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = ["REQUIRED", "second_best"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_INT = types.int64
_INTS = types.int64[::1]
_READ_INTS = types.Array(types.int64, 2, "C", readonly=True)
_READ_SCORES = types.Array(types.float64, 2, "C", readonly=True)
_READ_LABELLED = types.Array(types.float64, 3, "C", readonly=True)

# A split is a row of three: the subproblem that was split, an arc as h * (n + 1) + m, and REQUIRED
# or the label that is left to the arc, -1 for none. Subproblem 0, all trees, has none.
REQUIRED = -2


@subkernel()
def _next_label(scores: Floats, h: int, m: int, label: int) -> int:
    """The label after `label` on h -> m, by falling score and then by number; -1 after the last."""
    bound = scores[h, m, label]
    best = -np.inf
    later = -1
    for k in range(scores.shape[2]):
        score = scores[h, m, k]
        if score > best and (score < bound or (score == bound and k > label)):
            best = score
            later = k
    return later


@subkernel()
def _restrict(
    scores: Floats, splits: Ints, problem: int, best: Floats, label: Ints, free: Ints
) -> None:
    """Apply the splits that lead to a subproblem to the best score and label of each arc.

    Of the splits at one arc the last one leaves the lowest label, so their order does not matter.
    """
    width = scores.shape[0]
    while problem > 0:
        arc = splits[problem, 1]
        left = splits[problem, 2]
        h, m = arc // width, arc % width
        if left == REQUIRED:
            free[m] = 0
            for other in range(width):
                if other != h:
                    best[other * width + m] = -np.inf
        elif left < 0:
            best[arc] = -np.inf
        else:
            score = scores[h, m, left]
            if score < best[arc] or (score == best[arc] and left > label[arc]):
                best[arc] = score
                label[arc] = left
        problem = splits[problem, 0]


@subkernel()
def _intervals(heads: Ints) -> tuple[Ints, Ints]:
    """Preorder numbers: h is m or below m iff first[m] <= first[h] < after[m]. O(n)."""
    width = heads.shape[0] + 1
    order = np.zeros(width, np.int64)  # heads first
    first = np.full(width, -1, np.int64)
    first[0] = 0
    placed = 1
    for m in range(1, width):
        up = m
        while first[up] < 0:
            first[up] = 0
            placed += 1
            up = heads[up - 1]
        place = placed
        below = m
        while below != up:
            place -= 1
            order[place] = below
            below = heads[below - 1]
    size = np.ones(width, np.int64)
    for j in range(width - 1, 0, -1):
        size[heads[order[j] - 1]] += size[order[j]]
    number = np.ones(width, np.int64)  # of the next modifier to come
    for j in range(1, width):
        m = order[j]
        h = heads[m - 1]
        first[m] = number[h]
        number[m] = first[m] + 1
        number[h] += size[m]
    return first, first + size


@subkernel()
def _beside(v: int, node: Ints, real: Floats, rows: Floats) -> tuple[float, int]:
    """The second best arc into node v from the head of its best: its value, and where it enters."""
    h = node[HEAD, v]
    x = node[WORD, v]
    best = -np.inf
    inner = 0
    while x != v:
        best += real[OTHERS, x]  # from the worth of x, entered so, to that of the cycle around x
        y = node[CHILD, node[PARENT, x]]
        while y > 0:
            if y != x and rows[y, h] + real[OTHERS, y] > best:
                best = rows[y, h] + real[OTHERS, y]
                inner = y
            y = node[SIBLING, y]
        x = node[PARENT, x]
    return best, inner


@subkernel()
def _swap(
    heads: Ints, end: int, single: bool, loss: float, node: Ints, real: Floats, rows: Floats
) -> int:
    """Change the arc of one node so as to lose least; returns the word whose arc it was. O(n^2).

    No change, and 0, when all of them lose `loss` or more.
    """
    first, after = _intervals(heads)
    best = head = inner = 0
    for v in range(1, end):
        if node[STATE, v] != 0:
            continue
        row = rows[v]
        m = node[WORD, v]
        value = real[VALUE, v]
        # loss = value(b(v)) - max { value(f) : f into v, f != b(v), head of f not below v in A }
        for h in range(1 if single else 0, heads.shape[0] + 1):
            if value - row[h] < loss and h != node[HEAD, v]:
                below = first[m] <= first[h] < after[m]
                if not below:
                    loss = value - row[h]
                    best, head, inner = v, h, v
        second, where = _beside(v, node, real, rows)
        if value - second < loss:
            loss = value - second
            best, head, inner = v, node[HEAD, v], where
    if best == 0:
        return 0
    lost: int = node[WORD, best]
    node[HEAD, best] = head
    node[WORD, best] = enter(inner, head, node, real, rows)
    expand(end, best, heads, node, real, rows)
    return lost


@subkernel()
def _relabel(
    scores: Floats, best: Floats, label: Ints, free: Ints, heads: Ints
) -> tuple[float, int]:
    """What the best change of one label loses, and at which word; 0 when there is none."""
    loss = np.inf
    word = 0
    for m in range(1, heads.shape[0] + 1):
        h = heads[m - 1]
        arc = h * (heads.shape[0] + 1) + m
        later = _next_label(scores, h, m, label[arc]) if free[m] else -1
        if later >= 0 and best[arc] - scores[h, m, later] < loss:
            loss = best[arc] - scores[h, m, later]
            word = m
    return loss, word


@kernel(
    types.UniTuple(_INTS, 3)(
        _READ_LABELLED, _READ_SCORES, _READ_INTS, _READ_INTS, _INT, types.boolean, READ_INT
    )
)
def second_best(
    scores: Floats,
    best_scores: Floats,
    best_label: Ints,
    splits: Ints,
    problem: int,
    single_root: bool,
    given: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Heads and labels of a best tree of a subproblem other than its best tree, `given`.

    Third, where they part: an arc of `given` that the tree lacks, and the arc's next label. Without
    another tree there are no heads.
    """
    n = given.shape[0]
    best = best_scores.copy().reshape((n + 1) * (n + 1))
    label = best_label.copy().reshape((n + 1) * (n + 1))
    free = np.ones(n + 1, np.int64)
    _restrict(scores, splits, problem, best, label, free)
    node = np.empty((FIELDS, 2 * n + 1), np.int64)
    real = np.empty((2, 2 * n + 1))
    rows = np.empty((2 * n + 1, n + 1))
    heads = np.empty(n, np.int64)
    labels = np.empty(n, np.int64)
    split = np.zeros(2, np.int64)
    end = contract(best, n, PAIRS if single_root else MULTI, node, real, rows)
    expand(end, 0, heads, node, real, rows)

    lost = 0  # the word whose arc in `given` is not in the result
    for m in range(n, 0, -1):
        fill_row(best, n, m, rows)
        if heads[m - 1] != given[m - 1]:
            lost = m
    relabelled = 0
    if lost == 0:
        loss, relabelled = _relabel(scores, best, label, free, heads)
        lost = _swap(heads, end, single_root, loss, node, real, rows)
        if lost > 0:
            relabelled = 0
        elif relabelled > 0:
            lost = relabelled
        else:
            return heads[:0], labels, split
    for m in range(1, n + 1):
        labels[m - 1] = label[heads[m - 1] * (n + 1) + m]
    split[0] = given[lost - 1] * (n + 1) + lost
    split[1] = _next_label(scores, given[lost - 1], lost, label[split[0]])
    if relabelled > 0:
        labels[lost - 1] = split[1]
    return heads, labels, split
