"""The k best trees, by branching on the best ones (Lawler 1972; Murty 1968).

Once the best tree of a set is known, the other trees of the set are those that differ from it first
at word 1, at word 2, ...: disjoint sets, each of which fixes some arcs and forbids one.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.higher.branching import Solution, solve
from crossarc.inference.higher.problem import Problem

__all__ = ["ranked"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Set = tuple[float, int, Solution, Floats, int]


def ranked(problem: Problem, scores: Floats) -> Iterator[tuple[Ints, Floats, float]]:
    """Trees, best first: heads, the scores [h, m(, l)] under which they have the best labels, and
    an upper bound on this and all later trees.

    Args:
        scores: of arcs, labelled or not; each set of trees is one in which some are -inf.
    """
    numbers = itertools.count()
    waiting: list[Set] = []
    # Bounds of sets in which no tree was found, but may be.
    unsettled = [-math.inf]

    def add(own: Floats, fixed: int) -> None:
        found = _solve(problem, own)
        if found.heads is not None:
            heapq.heappush(waiting, (-found.score, next(numbers), found, own, fixed))
        else:
            unsettled.append(found.bound)

    add(scores, 0)
    while waiting:
        bound = max(*unsettled, *(one[2].bound for one in waiting))
        _, _, found, own, fixed = heapq.heappop(waiting)
        assert found.heads is not None
        yield found.heads, own, bound
        heads, labels = found.heads, _labels(own, found.heads)
        for m in range(fixed + 1, len(heads) + 1):
            rest = own.copy()
            for word in range(fixed + 1, m):
                _keep(rest, word, int(heads[word - 1]), labels[word - 1])
            rest[(heads[m - 1], m, *labels[m - 1])] = -np.inf
            if (rest[:, m] > -np.inf).any():
                add(rest, m - 1)


def _labels(scores: Floats, heads: Ints) -> list[tuple[int, ...]]:
    """The best label of each arc of a tree, as the end of an index; nothing without labels."""
    if scores.ndim == 2:
        return [()] * len(heads)
    return [(int(scores[h, m].argmax()),) for m, h in enumerate(heads.tolist(), 1)]


def _keep(scores: Floats, m: int, h: int, label: tuple[int, ...]) -> None:
    """Forbid all arcs into a word but one."""
    value = scores[(h, m, *label)]
    scores[:, m] = -np.inf
    scores[(h, m, *label)] = value


def _solve(problem: Problem, scores: Floats) -> Solution:
    arcs = scores.max(axis=2) if scores.ndim == 3 else scores
    own = arcs[problem.head, problem.modifier]
    allowed = (own > -math.inf).astype(np.int64)
    return solve(problem._replace(score=np.where(allowed == 1, own, 0.0)), allowed)
