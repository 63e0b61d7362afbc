"""Distributions over projective trees.

log Z, marginals and best trees come from kernels (`kernel_answers`). For all else a deduction
system writes the trees as a packed forest (`inference/forest`). All is loaded when first needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.distribution import Root, TreeDistribution, certified
from crossarc.inference.factors import Given
from crossarc.inference.forest import Forest
from crossarc.inference.projective.charts import first_order_forest, read_tree, sibling_forest
from crossarc.inference.projective.kernel_answers import KernelAnswers, best_tree
from crossarc.inference.projective.sibling_factor import SiblingFactor
from crossarc.inference.runtime.batch import Scores
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["ProjectiveTrees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
PartName = Literal["arc", "sibling"]


class ProjectiveTrees(TreeDistribution):
    """All projective dependency trees over a sentence.

    Sums, best trees and marginals in O(n^3), also with sibling factors; labels add O(labels n^2).
    Accurate to the last digits at any scale of the scores (docs/numerics.md). Where trees tie, the
    result is the same on every machine and for any number of threads.

    Args:
        scores: `scores[h, m]` or `scores[h, m, l]`, natural logarithms; a list of such arrays
            is a batch, and methods then return lists. -inf forbids an arc; column 0 and the
            diagonal are never read.
        root: "single" for trees with exactly one word at the root, "multi" for one or more.
        sibling: `sibling[h, s, m]`, one part for every arc h -> m: s is the modifier of h nearest
            to m between h and m, or s = h when there is none. An array (n+1, n+1, n+1), or
            `Parts`; for a batch a list of them. Finite numbers where a tree has the part.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity; a factor that is not finite.
    """

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        sibling: Given | Sequence[Given] | None = None,
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(scores, root=root, lengths=lengths, threads=threads)
        self._sibling: SiblingFactor | None = None
        if sibling is not None:
            self._sibling = SiblingFactor(sibling, self._batch, self._is_single)
        self._kernels = KernelAnswers(self._batch, self._sibling, self._is_single, threads)
        self._last: tuple[int, Forest] | None = None

    def marginals(self, part: PartName = "arc") -> Any:
        """Probability of each part; read-only.

        Args:
            part: "arc", in the shape of the scores, or "sibling", in the shape of that factor: the
                dense array, or for `Parts` one number for each.
        """
        self._check_part(part)
        return self._tables(False) if part == "arc" else self._part_tables(False)

    def log_marginals(self, part: PartName = "arc") -> Any:
        """Log-probability of each part, also where the probability itself would be 0; read-only."""
        self._check_part(part)
        return self._tables(True) if part == "arc" else self._part_tables(True)

    def max_marginals(self, part: PartName = "arc") -> Any:
        """For each part the score of the best tree that has it, -inf without one; read-only."""
        self._check_part(part)
        tables = self._answers.once(("max", part), lambda index: self._part_maxima(index, part))
        return self._each(lambda index: self._feasible(index, tables[index]))

    # The forest of a sentence, and what is asked of it.

    @property
    def _is_single(self) -> bool:
        return self.root == "single"

    def _check_part(self, part: str) -> None:
        known = ["arc"] if self._sibling is None else ["arc", "sibling"]
        if part not in known:
            raise ValueError(f"part must be one of {known}: got {part!r}")

    def _forest(self, index: int) -> Forest:
        """All trees of a sentence; the one that was asked for last is kept."""
        last = self._last
        if last is None or last[0] != index:
            scores = self._batch.scores(index)
            if self._sibling is None:
                forest = first_order_forest(scores, self._is_single)
            else:
                factor, places = self._sibling.parts(index)
                forest = sibling_forest(scores, self._is_single, factor, places)
            self._last = last = index, forest
        return last[1]

    # Sums.

    @once
    def _totals(self) -> Floats:
        return self._fitting(self._kernels.totals)

    def _arc_tables(self, logs: bool) -> Floats:
        return self._kernels.arcs(logs)

    def _log_total(self, index: int) -> tuple[float, float]:
        high, low = self._totals[:, index].tolist()
        return high, low

    def _marginals(self, index: int, logs: bool) -> Floats:
        return self._kernels.arc_marginals(index, logs)

    def _part_tables(self, logs: bool) -> Any:
        def table(index: int) -> Floats:
            own = self._kernels.part_marginals(index, logs)
            self._feasible_total(index)
            own.flags.writeable = False
            return own

        return self._each(table)

    def _shaped(self, index: int, part: PartName, table: Floats) -> Floats:
        """The entries of one kind of parts, in the shape that was given."""
        scores = self._batch.scores(index)
        if part == "arc":
            own = table[: scores.size].reshape(scores.shape)
            own = own if self._sibling is None else own.copy()
        else:
            assert self._sibling is not None
            own = table[scores.size :]
            if self._sibling.listed[index] is None:
                own = own.reshape((len(scores),) * 3)
        own.flags.writeable = False
        return own

    def _slopes(self, index: int, direction: Floats, factor_weight: float) -> Floats:
        from crossarc.inference.forest.slopes import slopes

        forest = self._forest(index)
        factors = forest.score[direction.size :] * factor_weight
        values = np.concatenate([direction.reshape(-1), factors])
        table = np.empty(len(values))
        slopes(forest, values, table)
        return table[: direction.size].reshape(direction.shape).copy()

    def _entropy(self, index: int) -> float:
        def surprise(at: int) -> float:
            from crossarc.inference.forest.expectation import entropy

            self._feasible_total(at)
            return float(entropy(self._forest(at)))

        self._feasible_total(index)
        return self._answers.once("entropy", surprise)[index]

    def _divergence(self, index: int, other: Self) -> float:
        """KL(p || q), on the derivations of p.

        The choices of p are compared with those of q given that its tree is one of p's. That q has
        other trees as well adds minus the log of the probability that it gives to p's.
        """
        from crossarc.inference.forest.expectation import divergence
        from crossarc.inference.forest.inside import log_total

        self._feasible_total(index)
        theirs = other._feasible_total(index)
        if other.root != self.root and self._has_several_roots(index):
            return math.inf
        forest, scores = self._compared(index, other)
        if (scores[forest.part[forest.part >= 0]] == -np.inf).any():
            return math.inf
        shared = log_total(forest.rescored(scores))
        missed = max(0.0, math.fsum([*theirs, -shared[0], -shared[1]]))
        return float(divergence(forest, scores)) + missed

    def _compared(self, index: int, other: Self) -> tuple[Forest, Floats]:
        """The forest of this distribution, and what the other scores its parts."""
        ours, theirs = self._batch.scores(index), other._batch.scores(index)
        if self._sibling is None and other._sibling is None:
            return self._forest(index), theirs.reshape(-1)
        factors = [
            np.zeros(len(ours) ** 3) if factor is None else factor.dense(index).reshape(-1)
            for factor in (self._sibling, other._sibling)
        ]
        forest = sibling_forest(ours, self._is_single, factors[0], None)
        scores = np.concatenate([theirs.reshape(-1), factors[1]])
        scores.flags.writeable = False
        return forest, scores

    def _cross_entropy(self, index: int, other: Self) -> float:
        return self._entropy(index) + self._divergence(index, other)

    # Best trees.

    @property
    def _best_trees(self) -> tuple[Ints, list[float]]:
        heads, _, scores = self._kernels.trees
        return heads, scores

    def _best(self, index: int) -> Tree | None:
        heads, siblings, score = self._kernels.best(index)
        if math.isfinite(score) and not self._batch.labelled:
            return certified(Tree._trusted(heads, None), score)
        return self._finished(index, heads, siblings, self._batch.scores(index))

    def _max_marginals(self, index: int) -> Floats | None:
        return self._part_maxima(index, "arc")

    def _part_maxima(self, index: int, part: PartName) -> Floats | None:
        from crossarc.inference.forest.viterbi import max_marginals

        forest = self._forest(index)
        table = np.empty(len(forest.score))
        max_marginals(forest, table)
        return self._shaped(index, part, table) if forest.items else None

    def _proven(self, index: int, forest: Forest, parts: Shorts) -> Tree:
        """The tree of a derivation that is the best of those left."""
        tree = read_tree(forest, parts, self._batch.scores(index).shape)
        return certified(tree, cast(float, tree.score))

    def _best_under(self, index: int, scores: Floats, factor_weight: float = 0.0) -> Tree | None:
        from crossarc.inference.runtime.scoring import best_labels

        arcs = best_labels(scores)[0] if scores.ndim == 3 else scores
        if self._sibling is None or factor_weight == 0.0:
            return self._finished(index, best_tree(arcs, self._is_single)[0], None, scores)
        factor = self._sibling.dense(index) * factor_weight
        heads, siblings = best_tree(arcs, self._is_single, factor)
        return self._finished(index, heads, siblings, scores)

    def _finished(
        self, index: int, heads: Ints, siblings: Ints | None, scores: Floats
    ) -> Tree | None:
        """The tree with the labels that are best under `scores`, and its model score."""
        from crossarc.inference.runtime.scoring import best_labels

        if heads[0] < 0:
            return None
        labels: Ints | None = None
        if scores.ndim == 3:
            labels = best_labels(scores)[1][heads, np.arange(1, len(heads) + 1)]
            labels.flags.writeable = False
        heads.flags.writeable = False
        tree = Tree._trusted(heads, labels)
        arcs = self._arcs_of(index, tree, self._batch.scores(index)).tolist()
        if self._sibling is not None:
            arcs += self._sibling.of_tree(index, heads, siblings)
        return certified(tree, exact_sum(arcs))

    def _drawn(
        self, index: int, k: int, source: np.random.SeedSequence, replace: bool
    ) -> list[Tree]:
        from crossarc.inference.forest.distinct import sample_distinct
        from crossarc.inference.forest.sampling import sample

        chance = np.random.Generator(np.random.PCG64(source))
        forest, shape = self._forest(index), self._batch.scores(index).shape
        found = sample(forest, k, chance) if replace else sample_distinct(forest, chance)
        return [read_tree(forest, parts, shape) for parts in islice(found, k)]

    def _ranked(self, index: int, margin: float = math.inf) -> Iterator[Tree]:
        from crossarc.inference.forest.kbest import ranked, ranked_within

        forest = self._forest(index)
        found = ranked(forest) if margin == math.inf else ranked_within(forest, margin)
        for parts in found:
            yield self._proven(index, forest, parts)

    # Factors beyond arcs.

    def _in_support(self, tree: Tree) -> bool:
        return tree.is_projective

    def _factor_scores(self, index: int, tree: Tree) -> list[float]:
        return [] if self._sibling is None else self._sibling.of_tree(index, tree.heads)

    def _factors(self, index: int) -> dict[str, Any]:
        return {} if self._sibling is None else {"sibling": self._sibling.given(index)}
