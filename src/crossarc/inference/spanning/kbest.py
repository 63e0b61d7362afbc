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
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK
from crossarc.inference.runtime.scoring import best_labels, tree_score
from crossarc.inference.spanning.argmax import best_heads
from crossarc.inference.spanning.second_best import REQUIRED, second_best

__all__ = ["kbest", "within"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Ranked = tuple[Ints, Ints | None, float]


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
        heads, labels, split = second_best(
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
        """The number of the subproblem in which `arc` is REQUIRED or has lost a label."""
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
            self.add(self.split(part.problem, arc, REQUIRED), part.given)


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
