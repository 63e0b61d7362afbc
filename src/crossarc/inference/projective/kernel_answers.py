"""What kernels answer about the projective trees of a batch: log Z, marginals, best heads.

The rest is asked of packed forests. Kernels are loaded when they are first needed, and each answer
is found once for the whole batch, over threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.batch import Batch
from crossarc.inference.factors import SiblingFactor
from crossarc.inference.packing import spread_labels
from crossarc.inference.spanning.wanted import LOG_MARGINALS, MARGINALS, TOTAL
from crossarc.parallel import over_ranges

__all__ = ["KernelAnswers", "best_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_START = np.zeros(1, np.int64)
_START.flags.writeable = False


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
        self._trees: tuple[Ints, Ints, list[float]] | None = None
        self._arcs: dict[bool, Floats] = {}
        self._parts: dict[bool, list[Floats]] = {}

    @property
    def totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats; NaN where scores are too large."""
        if self._totals is None:
            self._sum(TOTAL, np.empty(0), None)
        assert self._totals is not None
        return self._totals

    def arcs(self, logs: bool) -> Floats:
        """Marginals of arcs, labels summed over, flat."""
        if logs not in self._arcs:
            out = np.full(self._batch.arcs.shape[0], -np.inf if logs else 0.0)
            self._sum(LOG_MARGINALS if logs else MARGINALS, out, None)
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
            batch.labelled[index], batch.square(index), batch.mass(index), arcs, logs, out
        )
        return out

    def part_marginals(self, index: int, logs: bool) -> Floats:
        """In the shape of the sibling factor."""
        if logs not in self._parts:
            empty = -np.inf if logs else 0.0
            widths = (self._batch.sizes + 1).tolist()
            parts = [np.full((width,) * 3, empty) for width in widths]
            out = np.full(self._batch.arcs.shape[0], empty)
            self._sum(LOG_MARGINALS if logs else MARGINALS, out, parts)
            self._arcs[logs], self._parts[logs] = out, parts
        assert self._sibling is not None
        table, places = self._parts[logs][index], self._sibling.places[index]
        if places is None:
            return table
        none = -np.inf if logs else 0.0
        return np.where(places >= 0, table.reshape(-1)[places], none)

    def best(self, index: int) -> tuple[Ints, Ints, float]:
        """The best tree: heads, all -1 when there is none, siblings, the sum of its arcs' scores.

        The sum is right where it is finite and arcs have no labels. Siblings are those of the
        factor's parts; without a factor they mean nothing.
        """
        if self._trees is None:
            self._trees = self._best()
        heads, siblings, scores = self._trees
        words = slice(self._starts[index], self._starts[index + 1])
        return heads[words], siblings[words], scores[index]

    def _sum(self, wanted: int, out: Floats, parts: list[Floats] | None) -> None:
        batch = self._batch
        totals = np.empty((2, len(batch)))

        def first_order(begin: int, end: int) -> None:
            from crossarc.inference.projective.eisner_sums import infer

            arrays = (batch.arcs, batch.masses, batch.sizes, batch.offsets)
            infer(*arrays, self._single, wanted, out, totals, begin, end)

        def second_order(begin: int, end: int) -> None:
            from crossarc.inference.projective.sibling_sums import infer_sibling

            space = _space(batch.sizes[begin:end])
            for index in range(begin, end):
                arcs, masses, size, factor = self._alone(index)
                at = int(batch.offsets[index])
                own = out[at : at + len(arcs)] if wanted != TOTAL else out
                cube = np.empty(0) if parts is None else parts[index].reshape(-1)
                found = np.empty((2, 1))
                infer_sibling(
                    arcs,
                    masses,
                    size,
                    _START,
                    factor,
                    _START,
                    self._single,
                    wanted,
                    own,
                    cube,
                    found,
                    0,
                    1,
                    space,
                )
                totals[:, index] = found[:, 0]

        work = first_order if self._sibling is None else second_order
        over_ranges(work, (batch.sizes**3 + 1000).tolist(), self._threads)
        if self._totals is None:
            self._totals = totals

    def _alone(self, index: int) -> tuple[Floats, Floats, Ints, Floats]:
        """Scores, masses, size and factor of one sentence, flat."""
        assert self._sibling is not None
        batch = self._batch
        masses = batch.mass(index).reshape(-1) if batch.labelled else batch.masses
        size = batch.sizes[index : index + 1]
        return (
            batch.square(index).reshape(-1),
            masses,
            size,
            self._sibling.dense(index).reshape(-1),
        )

    def _best(self) -> tuple[Ints, Ints, list[float]]:
        from crossarc.inference.spanning.argmax import score_trees

        batch = self._batch
        heads, siblings = np.empty((2, self._starts[-1]), np.int64)

        def first_order(begin: int, end: int) -> None:
            from crossarc.inference.projective.eisner_best import best_heads_batch

            best_heads_batch(
                batch.arcs, batch.sizes, batch.offsets, self._single, heads, begin, end
            )

        def second_order(begin: int, end: int) -> None:
            space = _space(batch.sizes[begin:end])
            for index in range(begin, end):
                arcs, _, _, factor = self._alone(index)
                words = slice(self._starts[index], self._starts[index + 1])
                heads[words], siblings[words] = best_tree(arcs, self._single, factor, space)

        work = first_order if self._sibling is None else second_order
        over_ranges(work, (batch.sizes**3 + 1000).tolist(), self._threads)
        scores = np.empty(len(batch))
        score_trees(batch.arcs, batch.sizes, batch.offsets, heads, scores, 0, len(batch))
        heads.flags.writeable = False
        return heads, siblings, scores.tolist()


def _space(sizes: Ints) -> Floats:
    """What the kernels of the sibling model work in."""
    from crossarc.inference.projective.sibling_charts import sibling_room

    return np.empty(sibling_room(int(sizes.max(initial=0))))


def best_tree(
    scores: Floats, single: bool, factor: Floats | None = None, space: Floats | None = None
) -> tuple[Ints, Ints]:
    """Heads and siblings of the best tree of one sentence; all -1 when there is none.

    Args:
        scores: (n + 1)^2 or flat; -inf on the diagonal and in column 0.
        factor: `sibling[h, s, m]`, flat; without it the siblings mean nothing.
    """
    flat: Any = np.ascontiguousarray(scores).reshape(-1)
    words = round(len(flat) ** 0.5) - 1
    heads, nearest = np.empty((2, words), np.int64)
    size = _START + words
    if factor is None:
        from crossarc.inference.projective.eisner_best import best_heads_batch

        best_heads_batch(flat, size, _START, single, heads, 0, 1)
    else:
        from crossarc.inference.projective.sibling_best import best_sibling_batch

        space = _space(size) if space is None else space
        best_sibling_batch(flat, size, _START, factor, _START, single, heads, nearest, space, 0, 1)
    return heads, nearest
