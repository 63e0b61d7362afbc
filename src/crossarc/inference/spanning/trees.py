"""Distributions over all spanning trees, arcs scored one by one.

The kernels of each question are loaded when it is first asked: whoever wants the best tree does not
wait for the compilation of sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.distribution import TreeDistribution, certified
from crossarc.inference.questions.dependence import head_entropies, information_of_word
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.runtime.labels import labelled_marginals
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS
from crossarc.inference.spanning.matrix_tree.sums import (
    WeightGradients,
    sum_over_trees,
    weight_gradients,
)
from crossarc.inference.typed import Many, One, Options, Root, Size
from crossarc.once import once
from crossarc.parallel import over_ranges
from crossarc.trees import Tree

__all__ = ["SpanningTrees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Pairs whose probability might be wrong by more are summed over anew.
_LARGEST_ERROR = 1e-12


class SpanningTrees(TreeDistribution[Size]):
    """All dependency trees over a sentence, crossing arcs included.

    Sums by the matrix-tree theorem in O(n^3), accurate to the last digits at any scale of the
    scores (docs/numerics.md); the best tree in O(n^2), the k best in O(k n^2). Labels add
    O(labels n^2).

    Args:
        scores: `scores[h, m]` or `scores[h, m, l]`, natural logarithms; a list of such arrays
            is a batch, and methods then return lists. -inf forbids an arc; column 0 and the
            diagonal are never read.
        root: "single" for trees with exactly one word at the root, "multi" for one or more.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
    """

    _sums: Floats | None = None
    # Measured: sums 64 bytes, entropy 140, second moments 200.
    arc_bytes, cubic_seconds = 140.0, 0.5e-9

    @overload
    def __init__(
        self: SpanningTrees[One],
        scores: NDArray[Any],
        *,
        lengths: None = None,
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self: SpanningTrees[Many],
        scores: NDArray[Any] | Sequence[NDArray[Any]],
        *,
        lengths: Sequence[int],
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self: SpanningTrees[Many], scores: Sequence[NDArray[Any]], **options: Unpack[Options]
    ) -> None: ...

    @overload
    def __init__(
        self: SpanningTrees[Any],
        scores: Scores,
        *,
        lengths: Sequence[int] | None = None,
        **options: Unpack[Options],
    ) -> None: ...

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(scores, root=root, lengths=lengths, threads=threads)

    def _sum(self, quantity: int) -> Floats:
        """A quantity of the batch; log Z comes with it."""
        batch = self._batch
        sums, out = sum_over_trees(batch, self._is_single, quantity, self._threads)
        if self._sums is None:
            self._sums = self._fitting(sums)
        out.flags.writeable = False
        return out

    def _flat_marginals(self, logs: bool) -> Floats:
        return self._arc_log_marginals if logs else self._arc_marginals

    @once
    def _arc_marginals(self) -> Floats:
        return self._sum(MARGINALS)

    @once
    def _arc_log_marginals(self) -> Floats:
        return self._sum(LOG_MARGINALS)

    @property
    def _totals(self) -> Floats:
        if self._sums is None:
            self._sum(LOG_PARTITION)
        assert self._sums is not None
        return self._sums

    def _marginals(self, index: int, logs: bool) -> Floats:
        return labelled_marginals(self._batch, index, self._flat_marginals(logs), logs)

    def _hessian_product(self, index: int, direction: Floats, factor_weight: float) -> Floats:
        from crossarc.inference.spanning.matrix_tree import derivatives

        batch, arcs = self._batch, self._summed_arcs(index)
        if not batch.labelled:
            return derivatives.marginal_derivatives(*arcs, self._is_single, direction)
        labelled, folded = batch.labelled[index], np.empty(direction.shape[:2])
        derivatives.fold_direction(labelled, *arcs, direction, folded)
        of_arcs = derivatives.marginal_derivatives(*arcs, self._is_single, folded)
        out = np.empty(direction.shape)
        derivatives.unfold_derivatives(
            labelled, *arcs, self._marginals(index, False), of_arcs, folded, direction, out
        )
        return out

    @once
    def _best_trees(self) -> tuple[Ints, list[float]]:
        from crossarc.inference.runtime.scoring import score_trees
        from crossarc.inference.spanning.edmonds.argmax import best_heads_batch

        batch = self._batch
        heads = np.empty(int(batch.sizes.sum()), np.int64)
        scores = np.empty(len(batch))

        def work(begin: int, end: int) -> None:
            best_heads_batch(
                batch.arcs, batch.sizes, batch.offsets, self._is_single, heads, begin, end
            )
            score_trees(batch.arcs, batch.sizes, batch.offsets, heads, scores, begin, end)

        over_ranges(work, batch.sizes**2 + 100, self._threads)
        heads.flags.writeable = False
        return heads, scores.tolist()

    def _best(self, index: int) -> Tree | None:
        heads, scores = self._best_trees
        own = self._batch.rows(heads)[index]
        if math.isfinite(scores[index]) and not self._batch.labelled:
            return certified(Tree._trusted(own), scores[index])
        return self._finished(index, own, self._batch.scores(index))

    def _best_under(self, index: int, scores: Floats, factor_weight: float = 0.0) -> Tree | None:
        from crossarc.inference.runtime.scoring import best_labels
        from crossarc.inference.spanning.edmonds.argmax import best_heads

        arcs = best_labels(scores)[0] if scores.ndim == 3 else scores
        return self._finished(index, best_heads(arcs, self._is_single), scores)

    def _finished(self, index: int, heads: Ints, scores: Floats) -> Tree | None:
        """The tree with the labels that are best under `scores`, and its model score."""
        from crossarc.inference.runtime.scoring import best_labels, tree_score

        if heads[0] < 0:
            return None
        heads.flags.writeable = False
        labels: Ints | None = None
        if scores.ndim == 3:
            labels = best_labels(scores)[1][heads, np.arange(1, len(heads) + 1)]
            labels.flags.writeable = False
        score = tree_score(self._batch.scores(index), heads, labels)
        return certified(Tree._trusted(heads, labels), score)

    def _ranked(self, index: int, margin: float = math.inf) -> Iterator[Tree]:
        from crossarc.inference.spanning.edmonds.kbest import kbest, within

        scores = self._batch.scores(index)
        trees = (
            kbest(scores, self._is_single)
            if margin == math.inf
            else within(scores, self._is_single, margin)
        )
        for heads, labels, score in trees:
            yield certified(Tree._trusted(heads, labels), score)

    def _sample(
        self, index: int, k: int, source: np.random.SeedSequence, replace: bool
    ) -> list[Tree]:
        from crossarc.inference.spanning.sampling.sampler import Sampler

        labelled = self._batch.labelled[index] if self._batch.labelled else None
        sampler = Sampler(*self._summed_arcs(index), labelled, self._is_single, source)
        return sampler.draw(k) if replace else sampler.draw_distinct(k)

    def _max_marginals(self, index: int) -> Floats | None:
        from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK
        from crossarc.inference.spanning.edmonds.max_marginals import detours

        best = self._best(index)
        if best is None or best.score is None:
            return None
        scores, arcs, words = self._batch.scores(index), self._batch.square(index), len(best)
        finite = np.abs(arcs[np.isfinite(arcs)])
        scale = SHRINK if finite.max() >= SAFE_SUM / (words + 1) else 1.0
        costs = np.empty(arcs.shape)
        detours(arcs * scale, best.heads, self._is_single, costs)
        own = np.full(words + 1, 0.0)
        own[1:] = arcs[best.heads, np.arange(1, words + 1)] * scale
        axes = (slice(None), slice(None), *[None] * (scores.ndim - 2))
        possible = (scores > -np.inf) & (costs < np.inf)[axes]
        losses = np.where(
            possible, own[None, :][axes] - np.where(possible, scores, 0.0) * scale, 0.0
        )
        total = np.maximum(0.0, np.where(possible, costs[axes] + losses, 0.0)) / scale
        table = np.where(possible, best.score - total, -np.inf)
        table.flags.writeable = False
        return table

    # Two arcs at once.

    def _joint_heads(self, index: int, left: Ints, right: Ints) -> Floats:
        from crossarc.inference.spanning.matrix_tree.pairs import joint_arcs

        found, errors = np.empty(len(left)), np.empty(len(left))
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        joint_arcs(*self._kept_gradients(index), left, right, found, errors)
        lost = errors > _LARGEST_ERROR
        if lost.any():
            found[lost] = super()._joint_heads(index, left[lost], right[lost])
        return found

    def _mutual_information(self, index: int, negligible: float) -> Floats:
        from crossarc.inference.spanning.matrix_tree.pairs import pair_information

        probabilities = self._head_probabilities(index)
        table, errors = np.diag(head_entropies(self, index)), np.empty(len(probabilities) - 1)
        pair_information(*self._weight_gradients(index), probabilities, negligible, table, errors)
        for m in np.flatnonzero(errors > _LARGEST_ERROR) + 1:
            rest = information_of_word(self, index, int(m), negligible)[m:]
            table[m - 1, m:] = table[m:, m - 1] = rest
        return table

    def _kept_gradients(self, index: int) -> WeightGradients:
        if index not in self._gradients:
            self._gradients[index] = self._weight_gradients(index)
        return self._gradients[index]

    @once
    def _gradients(self) -> dict[int, WeightGradients]:
        return {}

    def _weight_gradients(self, index: int) -> WeightGradients:
        self._feasible_total(index)
        return weight_gradients(*self._summed_arcs(index), self._is_single)

    def _summed_arcs(self, index: int) -> tuple[Floats, Floats]:
        """Scores of arcs and the label sums, empty without labels, as kernels take them."""
        batch = self._batch
        return batch.square(index), batch.label_sum(index) if batch.labelled else np.empty((0, 0))
