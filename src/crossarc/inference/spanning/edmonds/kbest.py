"""The k best spanning trees, exactly, best first, in O(n^2) time a tree.

Camerini, Fratta & Maffioli (1980), in the spirit of Zmigrod, Vieira & Cotterell (2021), over a
multigraph: labelled arcs h -> m stand side by side, and only the best one left is in a best tree.

*Second best.* Let A be the tree that `contract` and `expand` give. Each node v of the contraction,
a word or a shrunk cycle, chose an arc b(v). For each v with b(v) in A, let f be the best other arc
into v whose head is not below v in A. Then to choose f instead of b(v), at the v where
value(b(v)) - value(f) is smallest, makes a best tree other than A:

    Take a tree T != A. If T enters a cycle C by one arc and keeps C's other arcs, T is a tree of
    the graph with C shrunk, of the same worth, and we look there. Otherwise give the nodes of C
    their chosen arcs back, all but the one by which T first enters C: the result is a tree no worse
    than T, and unless it is A it serves in T's place. If it is A, give back all but the one lowest
    in A: nothing below it has changed, so its new head is not below it, and the result is a
    tree no worse than T that differs from A by one choice. With no cycle left the same argument
    holds for all nodes at once.

Other arcs are also those from the same head to another word of v, or with another label. Nothing
but the order of weights was used, so it holds for the pairs (root arcs, score) of a single root.

*Partition* (Lawler 1972). A subproblem is a set of trees, some arcs required and some forbidden,
with its best tree A. Once its second best tree, which lacks e = b(v), has been returned, it is
split into the trees with e, whose best is A, and those without, whose best is the second best. So a
tree costs two contractions. One of them may find another tree as good as A; that is the second
best then. Hence ties and rounding can change the order of trees, but never repeat or lose one.

Memory: O(n^2), O(n) for each tree returned, and three integers for each split.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK
from crossarc.inference.runtime.scoring import best_labels, tree_score
from crossarc.inference.spanning.edmonds.argmax import (
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
    best_heads,
    contract,
    enter,
    expand,
    fill_row,
)
from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = ["kbest", "within"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Ranked = tuple[Ints, Ints | None, float]

_INT = types.int64
_INTS = types.int64[::1]
_READ_INTS = types.Array(types.int64, 2, "C", readonly=True)
_READ_SCORES = types.Array(types.float64, 2, "C", readonly=True)
_READ_LABELLED = types.Array(types.float64, 3, "C", readonly=True)

# A split is a row of three: the subproblem that was split, an arc as h * (n + 1) + m, and _REQUIRED
# or the label that is left to the arc, -1 for none. Subproblem 0, all trees, has none.
_REQUIRED = -2


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
        if left == _REQUIRED:
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
        i = placed
        below = m
        while below != up:
            i -= 1
            order[i] = below
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
def _second_best(
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


@dataclass(frozen=True, slots=True)
class _Part:
    """A subproblem, its best tree, and its second best tree with the arc that this one lacks."""

    problem: int
    given: Ints
    heads: Ints
    labels: Ints | None
    split: Ints


class _Search:
    """The subproblems of one sentence, in a queue by the score of their second best tree."""

    def __init__(self, scores: Floats, single_root: bool) -> None:
        self.model_scores = scores
        self.labelled = scores.ndim == 3
        scores = scores if self.labelled else scores[:, :, None]
        best, labels = best_labels(scores)
        finite = np.abs(best[np.isfinite(best)])
        if finite.max(initial=0.0) >= SAFE_SUM / len(best):
            scores, best = scores * SHRINK, best * SHRINK
        self.arrays = scores, best, labels
        self.single_root = single_root
        self.splits = np.zeros((64, 3), np.int64)
        self.problems = 1
        self.queue: list[tuple[float, int, _Part]] = []
        self.found = 0

    def add(self, problem: int, given: Ints) -> None:
        """Queue a subproblem by its best tree other than `given`, if it has one."""
        heads, labels, split = _second_best(
            *self.arrays, self.splits, problem, self.single_root, given
        )
        if heads.size == 0:
            return
        heads.flags.writeable = labels.flags.writeable = False
        part = _Part(problem, given, heads, labels if self.labelled else None, split)
        score = tree_score(self.model_scores, heads, part.labels)
        heapq.heappush(self.queue, (-score, self.found, part))
        self.found += 1

    def split(self, problem: int, arc: int, left: int) -> int:
        """The number of the subproblem in which `arc` is _REQUIRED or has lost a label."""
        if self.problems == len(self.splits):
            self.splits = np.concatenate((self.splits, np.zeros_like(self.splits)))
        self.splits[self.problems] = problem, arc, left
        self.problems += 1
        return self.problems - 1

    def __iter__(self) -> Iterator[Ranked]:
        _, best, labels = self.arrays
        heads = best_heads(best, self.single_root)
        if heads[0] < 0:
            return
        chosen = labels[heads, np.arange(1, len(best))]
        heads.flags.writeable = chosen.flags.writeable = False
        tree = heads, chosen if self.labelled else None
        yield *tree, tree_score(self.model_scores, *tree)
        self.add(0, heads)
        while self.queue:
            loss, _, part = heapq.heappop(self.queue)
            yield part.heads, part.labels, -loss
            arc, left = part.split
            self.add(self.split(part.problem, arc, left), part.heads)
            self.add(self.split(part.problem, arc, _REQUIRED), part.given)


def kbest(scores: Floats, single_root: bool) -> Iterator[Ranked]:
    """All trees, best first: heads, labels (None for an (n+1, n+1) array) and score.

    The first is the tree of `best_heads`; each further one is found when it is asked for, O(n^2),
    after O(labels n^2) once. Nothing comes when there is no tree. Labelled trees differ by heads or
    labels. A score is the exact sum of the tree's scores, rounded once. Scores fall, up to what
    float64 sums as large as those of a better tree are wrong by; sums of whole numbers are exact.
    Trees of equal score come in the order in which the search finds them: the same in every run,
    otherwise unspecified.
    """
    return iter(_Search(scores, single_root))


def within(scores: Floats, single_root: bool, margin: float) -> Iterator[Ranked]:
    """The trees of `kbest` that score at least the best score less `margin`.

    The search runs a little past the margin, by what sums in float64 may be wrong by.
    """
    limit = end = -np.inf
    for rank, (heads, labels, score) in enumerate(kbest(scores, single_root)):
        if rank == 0:
            size = tree_score(np.abs(scores), heads, labels) + abs(margin)
            limit = score - margin
            end = limit - len(scores) * np.finfo(np.float64).eps * size
        if score < end:
            return
        if score >= limit:
            yield heads, labels, score
