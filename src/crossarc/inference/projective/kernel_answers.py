"""What kernels answer about the projective trees of a batch: log Z, marginals, best heads.

The rest is asked of packed forests. Kernels are loaded when they are first needed, and each answer
is found once for the whole batch, over threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.projective.sibling_factor import SiblingFactor
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.packing import spread_labels
from crossarc.inference.runtime.quantities import LOG_MARGINALS, LOG_PARTITION, MARGINALS
from crossarc.once import once

__all__ = ["KernelAnswers", "best_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class KernelAnswers:
    """Answers for all sentences of a batch.

    Args:
        sibling: the factor, or None.
        single: whether the root takes one modifier.
    """

    def __init__(
        self, batch: Batch, sibling: SiblingFactor | None, single: bool, threads: int | None
    ) -> None:
        self._batch, self._sibling, self._single = batch, sibling, single
        self._threads = threads
        self._totals: Floats | None = None
        self._starts: list[int] = [0, *np.cumsum(batch.sizes).tolist()]
        self._arcs: dict[bool, Floats] = {}
        self._parts: dict[bool, Floats] = {}

    @property
    def totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats; NaN where scores are too large."""
        if self._totals is None:
            self._sum(LOG_PARTITION, np.empty(0), np.empty(0))
        assert self._totals is not None
        return self._totals

    def arcs(self, logs: bool) -> Floats:
        """Marginals of arcs, labels summed over, flat."""
        if logs not in self._arcs:
            out = np.full(self._batch.arcs.shape[0], -np.inf if logs else 0.0)
            self._sum(LOG_MARGINALS if logs else MARGINALS, out, np.empty(0))
            out.flags.writeable = False
            self._arcs[logs] = out
        return self._arcs[logs]

    def arc_marginals(self, index: int, logs: bool) -> Floats:
        """In the shape of the scores."""
        batch = self._batch
        arcs = batch.square(index, self.arcs(logs))
        if not batch.labelled:
            return arcs
        out = np.empty(batch.labelled[index].shape)
        spread_labels(
            batch.labelled[index], batch.square(index), batch.label_sum(index), arcs, logs, out
        )
        out.flags.writeable = False
        return out

    def part_marginals(self, index: int, logs: bool) -> Floats:
        """In the shape of the sibling factor."""
        factor, none = self._sibling, -np.inf if logs else 0.0
        assert factor is not None
        if logs not in self._parts:
            parts, out = np.empty_like(factor.rows), np.full(self._batch.arcs.shape[0], none)
            self._sum(LOG_MARGINALS if logs else MARGINALS, out, parts)
            self._parts[logs] = parts
            out.flags.writeable = False
            self._arcs.setdefault(logs, out)  # an answer once given stays
        table, listed = factor.unpacked(index, self._parts[logs], none), factor.listed[index]
        if listed is None:
            return table
        return np.where(listed[1] >= 0, table.reshape(-1)[listed[1]], none)

    @once
    def trees(self) -> tuple[Ints, Ints, list[float]]:
        """The best trees of all sentences, end to end; what `best` says about one."""
        return self._best()

    def best(self, index: int) -> tuple[Ints, Ints, float]:
        """The best tree: heads, all -1 when there is none, siblings, the sum of its scores.

        The sum, parts included, is right where it is finite and arcs have no labels. Siblings are
        those of the factor's parts; without a factor they mean nothing.
        """
        heads, siblings, scores = self.trees
        words = slice(self._starts[index], self._starts[index + 1])
        return heads[words], siblings[words], scores[index]

    def _sum(self, quantity: int, out: Floats, parts: Floats) -> None:
        batch = self._batch
        if self._sibling is not None:
            from crossarc.inference.projective.sibling.sums import sum_over_trees

            arrays = (batch, self._sibling, self._single, quantity, out, parts)
            totals = sum_over_trees(*arrays, self._threads)
        else:
            from crossarc.inference.projective.first_order.sums import sum_over_trees as sum_arcs

            totals = sum_arcs(batch, self._single, quantity, out, self._threads)
        if self._totals is None:
            self._totals = totals

    def _best(self) -> tuple[Ints, Ints, list[float]]:
        batch = self._batch
        if self._sibling is not None:
            from crossarc.inference.projective.sibling.sums import best_trees

            everybody = np.arange(len(batch))
            arrays = (batch, self._sibling, self._single, everybody)
            heads, siblings, scores = best_trees(*arrays, self._threads)
        else:
            from crossarc.inference.projective.first_order.sums import best_trees as best_arcs

            heads, scores = best_arcs(batch, self._single, self._threads)
            siblings = heads
        heads.flags.writeable = False
        return heads, siblings, scores.tolist()


def best_tree(scores: Floats, single: bool, factor: Floats | None = None) -> tuple[Ints, Ints]:
    """Heads and siblings of the best tree of one sentence; all -1 when there is none.

    Args:
        scores: (n + 1)^2, -inf on the diagonal and in column 0.
        factor: `sibling[h, s, m]`; without it the siblings mean nothing.
    """
    batch = Batch(scores)
    own = None if factor is None else SiblingFactor(factor, batch, single)
    heads, siblings, _ = KernelAnswers(batch, own, single, 1).best(0)
    return heads, siblings
