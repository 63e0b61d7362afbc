"""Sums over projective trees and best trees by kernels, where a model has some.

Kernels are loaded when they are first needed, and each answer is found once for the whole batch,
over threads. The rest is asked of packed forests.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.distribution import certified
from crossarc.inference.projective.sibling.factor import SiblingFactor
from crossarc.inference.questions.information import entropy_of_sums
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS
from crossarc.inference.runtime.packing import spread_labels
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["FirstOrderKernels", "SiblingKernels"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Kernels(ABC):
    """A `Solver` over a batch; a sub-class calls the kernels of its model.

    Args:
        single: whether the root has one modifier.
    """

    def __init__(self, batch: Batch, single: bool, threads: int | None) -> None:
        self._batch, self._single, self._threads = batch, single, threads
        self._totals: Floats | None = None
        self._arcs: dict[bool, Floats] = {}

    @abstractmethod
    def _sum(self, quantity: int, arcs: Floats) -> Floats:
        """Fill `arcs` with marginals or their logarithms, flat; returns totals."""

    @abstractmethod
    def _find_best(self) -> tuple[Ints, Floats]:
        """Heads of the best trees, end to end, -1 when there is none, and their scores.

        Scores are right where they are finite and arcs have no labels.
        """

    @abstractmethod
    def _best_heads_under(self, index: int, arcs: Floats, factor_weight: float) -> Ints:
        """Heads of the best tree under other scores [h, m] and weighted factors."""

    def _factor_scores(self, index: int, heads: Ints) -> list[float]:
        """Of the tree with these heads."""
        return []

    @property
    def totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats; NaN where scores are too large."""
        if self._totals is None:
            self._keep(self._sum(LOG_PARTITION, np.empty(0)))
        assert self._totals is not None
        return self._totals

    def _keep(self, totals: Floats) -> None:
        if self._totals is None:  # an answer once given stays
            self._totals = totals

    def flat_marginals(self, logs: bool) -> Floats:
        """Of arcs, labels summed over."""
        if logs not in self._arcs:
            out = self._unfilled(logs)
            self._keep(self._sum(LOG_MARGINALS if logs else MARGINALS, out))
            out.flags.writeable = False
            self._arcs[logs] = out
        return self._arcs[logs]

    def _unfilled(self, logs: bool) -> Floats:
        return np.full(len(self._batch.arcs), -np.inf if logs else 0.0)

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """Of "arc", in the shape of the scores."""
        batch = self._batch
        arcs = batch.square(index, self.flat_marginals(logs))
        if not batch.labelled:
            return arcs
        out = np.empty(batch.labelled[index].shape)
        spread_labels(
            batch.labelled[index], batch.square(index), batch.label_sum(index), arcs, logs, out
        )
        out.flags.writeable = False
        return out

    @once
    def trees(self) -> tuple[Ints, list[float]]:
        """The best trees of all sentences."""
        heads, scores = self._find_best()
        heads.flags.writeable = False
        return heads, scores.tolist()

    @once
    def _rows(self) -> list[Ints]:
        """The heads of each best tree."""
        return self._batch.rows(self.trees[0])

    def best(self, index: int) -> Tree | None:
        """The best tree with its score."""
        heads, score = self._rows[index], self.trees[1][index]
        if math.isfinite(score) and not self._batch.labelled:
            return certified(Tree._trusted(heads, None), score)
        return self._labelled_tree(index, heads, self._batch.scores(index))

    def best_under(self, index: int, scores: Floats, factor_weight: float) -> Tree | None:
        """The best tree under other scores, with its model score."""
        from crossarc.inference.runtime.scoring import best_labels

        arcs = best_labels(scores)[0] if scores.ndim == 3 else scores
        heads = self._best_heads_under(index, arcs, factor_weight)
        return self._labelled_tree(index, heads, scores)

    def _labelled_tree(self, index: int, heads: Ints, scores: Floats) -> Tree | None:
        """The tree with the labels that are best under `scores`, and its model score."""
        from crossarc.inference.runtime.scoring import best_labels

        if heads[0] < 0:
            return None
        model, words = self._batch.scores(index), np.arange(1, len(heads) + 1)
        labels: Ints | None = None
        if scores.ndim == 3:
            labels = best_labels(scores)[1][heads, words]
            labels.flags.writeable = False
        heads.flags.writeable = False
        arcs = model[heads, words] if labels is None else model[heads, words, labels]
        score = exact_sum([*arcs.tolist(), *self._factor_scores(index, heads)])
        return certified(Tree._trusted(heads, labels), score)

    def entropy(self, index: int) -> float | None:
        """From log Z and marginals, where that keeps enough digits."""
        return entropy_of_sums(self.totals[:, index].tolist(), self._scored_parts(index))

    def _scored_parts(self, index: int) -> list[tuple[Floats, Floats]]:
        """Marginals and scores of each kind of parts; axis 1 is the modifier."""
        return [(self.marginals(index, "arc", False), self._batch.scores(index))]


def _first_order_best(batch: Batch, single: bool, threads: int | None) -> tuple[Ints, Floats]:
    from crossarc.inference.projective.first_order.sums import best_trees

    return best_trees(batch, single, threads)


class FirstOrderKernels(_Kernels):
    """Eisner's algorithm (1996)."""

    def _sum(self, quantity: int, arcs: Floats) -> Floats:
        from crossarc.inference.projective.first_order.sums import sum_over_trees

        return sum_over_trees(self._batch, self._single, quantity, arcs, self._threads)

    def _find_best(self) -> tuple[Ints, Floats]:
        return _first_order_best(self._batch, self._single, self._threads)

    def _best_heads_under(self, index: int, arcs: Floats, factor_weight: float) -> Ints:
        return _first_order_best(Batch(arcs), self._single, 1)[0]


class SiblingKernels(_Kernels):
    """The sibling model of Eisner (1996) and McDonald & Pereira (2006).

    Of sentences with forbidden parts it says nothing.
    """

    def __init__(
        self, batch: Batch, factor: SiblingFactor, single: bool, threads: int | None
    ) -> None:
        super().__init__(batch, single, threads)
        self._factor = factor
        self._members = np.flatnonzero([not factor.forbids(i) for i in range(len(batch))])
        self._parts: dict[bool, Floats] = {}

    def _sum(self, quantity: int, arcs: Floats, parts: Floats | None = None) -> Floats:
        from crossarc.inference.projective.sibling.sums import sum_over_trees

        rows = np.empty(0) if parts is None else parts
        arrays = (self._batch, self._factor, self._single)
        return sum_over_trees(*arrays, quantity, self._members, arcs, rows, self._threads)

    def _find_best(self) -> tuple[Ints, Floats]:
        from crossarc.inference.projective.sibling.sums import best_trees

        arrays = (self._batch, self._factor, self._single, self._members)
        heads, _, scores = best_trees(*arrays, self._threads)
        return heads, scores

    def _best_heads_under(self, index: int, arcs: Floats, factor_weight: float) -> Ints:
        batch = Batch(arcs)
        if factor_weight == 0.0:
            return _first_order_best(batch, self._single, 1)[0]
        factor = SiblingFactor(self._factor.dense(index) * factor_weight, batch, self._single)
        return SiblingKernels(batch, factor, self._single, 1)._find_best()[0]

    def _factor_scores(self, index: int, heads: Ints) -> list[float]:
        return self._factor.of_tree(index, heads)

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """Of "arc", or of "sibling" in the shape of the factor."""
        if part == "arc":
            return super().marginals(index, part, logs)
        table, listed = self._dense_marginals(index, logs), self._factor.listed[index]
        if listed is not None:
            missing = -np.inf if logs else 0.0
            table = np.where(listed[1] >= 0, table.reshape(-1)[listed[1]], missing)
        table.flags.writeable = False
        return table

    def _dense_marginals(self, index: int, logs: bool) -> Floats:
        """Of sibling parts, [h, s, m]."""
        if logs not in self._parts:
            parts, out = np.empty_like(self._factor.rows), self._unfilled(logs)
            self._keep(self._sum(LOG_MARGINALS if logs else MARGINALS, out, parts))
            self._parts[logs] = parts
            out.flags.writeable = False
            self._arcs.setdefault(logs, out)
        return self._factor.unpacked(index, self._parts[logs], -np.inf if logs else 0.0)

    def _scored_parts(self, index: int) -> list[tuple[Floats, Floats]]:
        tables = self._dense_marginals(index, False), self._factor.dense(index)
        marginals, scores = (np.moveaxis(one, 2, 1) for one in tables)
        return [*super()._scored_parts(index), (marginals, scores)]
