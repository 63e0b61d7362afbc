"""Trees that Attardi's degree-2 system derives, under scores of arcs; the computations of a tree.

A tree may have several computations (spurious ambiguity). Under scores of arcs all of them score
alike, so that the best tree is exact, whereas in sums a tree counts once for each computation.
Under scores of transitions the best *tree* is NP-hard (Cohen et al. 2011, section 6), but the
weight of one tree is not: with all other arcs forbidden, the sum is over the tree's computations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.distribution import certified
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.solver import ForestSolver
from crossarc.inference.forest.trees import ForestTrees
from crossarc.inference.transition.attardi.computations import (
    MAX_WORDS,
    Computations,
    TransitionScores,
)
from crossarc.inference.transition.attardi.deduction import deduce
from crossarc.inference.transition.attardi.machine import SHIFT, arc_of
from crossarc.once import once
from crossarc.trees import Tree

__all__ = [
    "AttardiTrees",
    "arc_expectations",
    "arc_transitions",
    "best_heads",
    "computation_count",
    "tree_computations",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Whole numbers below it are exact in float64.
_EXACT = 2.0**53


def arc_transitions(arcs: NDArray[Any]) -> TransitionScores:
    """Scores under which a reduction scores as its arc, `arcs[h, m]`, and a shift 0."""
    rows, columns = arcs.T[:, None, :], arcs[:, None, :]
    shape = (len(arcs),) * 3
    return TransitionScores(
        np.zeros_like(arcs),
        arcs.T,
        arcs,
        np.broadcast_to(rows, shape),
        np.broadcast_to(columns, shape),
    )


def arc_expectations(expected: TransitionScores) -> Floats:
    """Probabilities [h, m] of arcs, from the expected numbers of transitions."""
    left: Floats = expected.la1 + expected.la2.sum(axis=1)
    right: Floats = expected.ra1 + expected.ra2.sum(axis=1)
    return np.add(right, left.T)


def best_heads(arcs: Floats, *, single_root: bool = False, threads: int | None = None) -> Ints:
    """The heads of the best degree-2 tree under scores `arcs[h, m]`, O(n^7).

    Raises:
        InfeasibleError: there is none.
    """
    found = Computations(arc_transitions(arcs), single_root=single_root, threads=threads)
    return found.best().heads


def tree_computations(
    scores: TransitionScores, heads: Sequence[int] | Ints, *, threads: int | None = 1
) -> Computations:
    """The degree-2 computations of one tree: all other arcs are forbidden."""
    words = len(heads)
    arcs = np.zeros((words + 1, words + 1), bool)
    arcs[heads, np.arange(1, words + 1)] = True
    allowed = arc_transitions(arcs)._replace(sh=np.ones_like(arcs))
    pairs = zip(allowed, scores, strict=True)
    masked = TransitionScores(*(np.where(one, table, -math.inf) for one, table in pairs))
    return Computations(masked, threads=threads)


def computation_count(heads: Sequence[int] | Ints, *, degree: int = 2) -> int:
    """How many computations of so high a degree make a tree; 0 if none does.

    Of degree 2 and below 2^53 by the kernel, O(n^7) at most; else by the literal deduction.
    """
    if degree == 2 and len(heads) <= MAX_WORDS:
        scores = arc_transitions(np.zeros((len(heads) + 1,) * 2))
        found = tree_computations(scores, heads).total_weight
        if found < _EXACT:
            return int(found)
    head = [-1, *map(int, heads)]
    last = [0] * len(head)  # the last modifier of each node
    for m, h in enumerate(head[1:], 1):
        last[h] = m

    def parts(code: int, stack: tuple[int, ...], node: int) -> Sequence[int]:
        if code == SHIFT:
            return (-1,)
        h, m = arc_of(code, stack)
        # A word is not removed before its last modifier has been read.
        return (-1,) if head[m] == h and last[m] < node else ()

    first, left, right, _ = deduce(len(head) - 1, parts, degree=degree, context=degree - 1)
    counts = [1] * len(first)  # a tail of -1 reads the last entry
    for item in range(len(first) - 1):
        edges = range(first[item], first[item + 1])
        counts[item] = sum(counts[left[e]] * counts[right[e]] for e in edges)
    return counts[-2] if len(first) > 1 else 0


class _Kernels(ForestSolver):
    """Sums and best trees by the kernels; see `Solver`."""

    _owner: AttardiTrees

    def _computations(self, arcs: Floats) -> Computations:
        single, threads = self._owner._is_single, self._owner._threads_of_one
        return Computations(arc_transitions(arcs), single_root=single, threads=threads)

    def _summed(self, index: int) -> Computations:
        scores = self._owner._batch.scores(index)
        return self._computations(np.logaddexp.reduce(scores, -1) if scores.ndim == 3 else scores)

    @once
    def totals(self) -> Floats:
        """See `Solver`."""
        found = self._owner._answers.all(lambda index: self._summed(index).log_total())
        return np.array([found, np.zeros(len(found))])

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """See `Solver`."""

        def table_of(sentence: int) -> Floats:
            scores = self._owner._batch.scores(sentence)
            summed = self._summed(sentence)
            if summed.log_total() == -math.inf:
                return np.full(scores.shape, -math.inf if logs else 0.0)
            found = arc_expectations(summed.expectations())
            if scores.ndim == 3:
                with np.errstate(invalid="ignore"):
                    share = np.exp(scores - np.logaddexp.reduce(scores, -1)[:, :, None])
                found = np.where(np.isnan(share), 0.0, share) * found[:, :, None]
            with np.errstate(divide="ignore"):
                table = np.log(found) if logs else found
            table.flags.writeable = False
            return table

        return self._owner._answers.once(("marginals", part, logs), table_of)[index]

    def best(self, index: int) -> Tree | None:
        """See `Solver`."""

        def best_of(sentence: int) -> Tree | None:
            return self.best_under(sentence, self._owner._batch.scores(sentence), 0.0)

        found = self._owner._answers.once("best", best_of)[index]
        if found is None:
            return None
        assert found.score is not None
        return certified(Tree._trusted(found.heads, found.labels), found.score)

    def best_under(self, index: int, scores: Floats, factor_weight: float) -> Tree | None:
        """See `Solver`."""
        own = self._owner._batch.scores(index)
        scores = np.where(own > -math.inf, scores, -math.inf)
        computations = self._computations(scores.max(-1) if scores.ndim == 3 else scores)
        if computations.log_total() == -math.inf:
            return None
        heads = computations.best().heads
        arcs: tuple[Ints, ...] = (heads, np.arange(1, len(heads) + 1))
        heads.flags.writeable = False
        labels = None
        if scores.ndim == 3:
            labels = scores[arcs].argmax(-1)
            labels.flags.writeable = False
            arcs = (*arcs, labels)
        tree = Tree._trusted(heads, labels)
        tree.score = math.fsum(own[arcs])
        return tree


class AttardiTrees(ForestTrees):
    """Trees that the degree-2 system derives, weighted by their arcs.

    argmax, kbest, within and max_marginals are exact, and so is everything that is about
    computations: in log_partition, marginals, samples and entropy a tree has the weight of its arcs
    times the number of its computations (`ForestTrees` says what follows for each method). Sums and
    best trees take O(n^7) and up to 100 words; the other methods need the forest of the literal
    O(n^8) deduction, and up to `max_words` words.
    """

    ambiguous = True
    max_words = 16

    @property
    def _threads_of_one(self) -> int | None:
        """Threads within a sentence: a batch has them over its sentences."""
        return 1 if len(self._batch) > 1 else None

    @once
    def _solver(self) -> _Kernels:
        return _Kernels(self)

    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        nodes, _, labels = scores.shape
        allowed = [
            [
                [(h * nodes + m) * labels + label for label in np.flatnonzero(row > -math.inf)]
                for m, row in enumerate(rows)
            ]
            for h, rows in enumerate(scores)
        ]

        def parts(code: int, stack: tuple[int, ...], node: int) -> Sequence[int]:
            if code == SHIFT:
                return (-1,)
            h, m = arc_of(code, stack)
            return allowed[h][m]

        return deduce(nodes - 1, parts, single_root=self._is_single)
