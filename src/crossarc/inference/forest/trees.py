"""Distributions over the trees that a deduction system derives.

A sub-class of `ForestTrees` emits the forest of a sentence; every method of `TreeDistribution` is
then answered on it. Sums and best trees are asked of a `Solver`, by default `ForestSolver`: a model
with kernels provides them as its solver. Modules of kernels are loaded when first needed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import LimitError
from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.distribution import Root, TreeDistribution
from crossarc.inference.factors import Factor, FactorScores, weighted
from crossarc.inference.forest.arrays import Arrays, Forest, Numbering, numbered
from crossarc.inference.forest.solver import ForestSolver, Solver
from crossarc.inference.questions.information import has_several_roots
from crossarc.inference.questions.likelihood import log_prob_under
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.typed import Size, per_sentence
from crossarc.limits import require
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["ForestTrees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Measured where all arcs are allowed: 6.3 bytes for n^3 = 1, first order. Shorter ones fit.
_INSTANCE_BYTES, _SHORT = 7.0, 300
# Instances, items and parts are numbered in 32 bits.
_MOST_PARTS = 1 << 31
# So many instances of the forests of a batch are kept, 24 MB or a little more, or one forest.
_MOST_KEPT = 2_000_000


class ForestTrees(TreeDistribution[Size]):
    """Trees that a deduction system derives, by packed forests.

    A sub-class overrides `_emit`. If it has factors, its constructor accepts each as a keyword
    argument of that name beside those of this one, and puts its checked scores into `_factors`.

    *Ambiguity.* If one tree may have several derivations, the sub-class sets `ambiguous`. The
    probability of a tree is then the sum of its derivations' probabilities, and

    - log_partition, marginals, log_prob, sample (also without replacement), given, joint,
      conditional, entropy_drop, mutual_information, hessian_product, covariance, variance,
      expected_attachment and min_risk() are about trees, and exact;
    - argmax, kbest, within and max_marginals rank trees by their best derivation, whose score is
      `tree.score`; each tree is listed once;
    - entropy, cross_entropy, kl and entropy_gradient are those of derivations, and at least those
      of trees.
    """

    ambiguous: ClassVar[bool] = False
    #: Longer sentences are refused: n^3 rule instances must be numbered in 32 bits.
    max_words: ClassVar[int] = 1200

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(scores, root=root, lengths=lengths, threads=threads)
        #: By name, in the order in which their parts are numbered.
        self._factors: dict[str, FactorScores] = {}
        self._forests: dict[int, Forest] = {}
        self._kept_instances = 0

    @abstractmethod
    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        """The arrays of a sentence's forest.

        Args:
            scores: (n+1, n+1, labels), labels being 1 for scores without; -inf forbids an arc. The
                first parts are its entries, in C order.
            numbering: the numbers of the parts of each factor that is scored.
        """

    @per_sentence
    def marginals(self, part: str = "arc") -> Floats:
        """Probability of each part; read-only.

        Args:
            part: "arc", in the shape of the scores, or the name of a factor, in the shape of that:
                the dense array, or for `Parts` one number for each.
        """
        return self._part_marginals(part, False)

    @per_sentence
    def log_marginals(self, part: str = "arc") -> Floats:
        """Log-probability of each part, also where the probability itself would be 0; read-only."""
        return self._part_marginals(part, True)

    @per_sentence
    def max_marginals(self, part: str = "arc") -> Floats:
        """For each part the score of the best tree that has it, -inf without one; read-only."""
        self._check_part(part)
        tables = self._answers.once(
            ("max", part), lambda index: self._max_part_marginals(index, part)
        )
        return self._each(lambda index: self._feasible(index, tables[index]))

    # The forest of a sentence.

    def _forest(self, index: int) -> Forest:
        """All derivations of a sentence; the last ones are kept while they are small."""
        forest = self._forests.get(index)
        if forest is None:
            scores, ranges = self._batch.scores(index), self._part_ranges(index)
            numbering = {
                name: numbered(first, factor.part_numbers(index, first))
                for name, factor in self._factors.items()
                for first in [ranges[name].start]
            }
            factors = [factor.scores(index) for factor in self._factors.values()]
            forest = self._packed(index, numbering, [scores.reshape(-1), *factors])
            self._kept_instances += len(forest.left)
            if self._kept_instances > _MOST_KEPT:
                self._forests, self._kept_instances = {}, len(forest.left)
            self._forests[index] = forest
        return forest

    def _part_ranges(self, index: int) -> dict[str, slice]:
        """The numbers that arcs and the parts of each factor have in the forest."""
        end = self._batch.scores(index).size
        ranges = {"arc": slice(0, end)}
        for name, factor in self._factors.items():
            begin, end = end, end + factor.count(index)
            ranges[name] = slice(begin, end)
        return ranges

    def _packed(
        self, index: int, numbering: Mapping[str, Numbering], values: Sequence[Floats]
    ) -> Forest:
        scores = self._batch.scores(index)
        parts = sum(map(len, values))
        n = len(scores) - 1
        if n > self.max_words or parts >= _MOST_PARTS:
            raise LimitError(
                f"{self._batch.name(index)}scores of shape {scores.shape} are too large for a "
                f"packed forest, which holds {self.max_words} words: split the sentence"
            )
        # Each arc that is allowed can be split at each of n words, and instances take 12 bytes.
        if n > _SHORT:
            allowed = np.count_nonzero(scores > -np.inf) / max(1, scores.size) * n * n
            what = f"{self._batch.name(index)}a packed forest of {n:,} words"
            require(_INSTANCE_BYTES * allowed * n, 1.4e-8 * allowed * n, what)
        labelled = scores.reshape(*scores.shape[:2], -1)
        arrays = self._emit(index, labelled, numbering)
        whole = np.concatenate(values) if len(values) > 1 else values[0].view()
        if any(own.min(initial=0.0) == -np.inf for own in values[1:]):
            from crossarc.inference.forest.forbidden import without_forbidden

            arrays = without_forbidden(*arrays, whole)
        for array in (*arrays, whole):
            array.flags.writeable = False
        return Forest(*arrays, whole)

    def _compared(self, index: int, other: Self) -> tuple[Forest, Floats]:
        """The forest of this distribution, and what the other scores its parts."""
        ours, theirs = self._batch.scores(index), other._batch.scores(index)
        names = [*self._factors, *(name for name in other._factors if name not in self._factors)]
        if not names:
            return self._forest(index), theirs.reshape(-1)
        values, others = [ours.reshape(-1)], [theirs.reshape(-1)]
        numbering, number = {}, ours.size
        for name in names:
            pair = self._factors.get(name), other._factors.get(name)
            factor = next(one for one in pair if one is not None).factor
            for one, target in zip(pair, (values, others), strict=True):
                target.append(self._aligned(index, names, factor, one))
            numbering[name] = numbered(number)
            number += len(values[-1])
        scores = np.concatenate(others)
        scores.flags.writeable = False
        return self._packed(index, numbering, values), scores

    def _aligned(
        self, index: int, names: Sequence[str], factor: Factor, held: FactorScores | None
    ) -> Floats:
        """The scores of a factor, None for 0, as the forest for all `names` numbers its parts."""
        if held is None:
            return np.zeros(math.prod(factor.shape(self._batch.width(index))))
        return held.dense(index).reshape(-1)

    def _shaped(self, index: int, part: str, table: Floats, missing: float) -> Floats:
        """The entries of one kind of parts, in the shape that was given."""
        own = table[self._part_ranges(index)[part]].copy()
        if part == "arc":
            own = own.reshape(self._batch.scores(index).shape)
        else:
            own = self._factors[part].shaped(index, own, missing)
        own.flags.writeable = False
        return own

    def _tree(self, index: int, forest: Forest, parts: Shorts) -> Tree:
        """The tree of a derivation, with the derivation's score."""
        shape = self._batch.scores(index).shape
        arcs = np.unravel_index(parts[parts < math.prod(shape)], shape)
        heads, labels = np.empty(shape[0] - 1, np.int64), None
        heads[arcs[1] - 1] = arcs[0]
        heads.flags.writeable = False
        if len(shape) == 3:
            labels = np.empty_like(heads)
            labels[arcs[1] - 1] = arcs[2]
            labels.flags.writeable = False
        tree = Tree._trusted(heads, labels)
        tree.score = exact_sum(forest.score[parts].tolist())
        return tree

    def _check_part(self, part: str) -> None:
        known = ["arc", *self._factors]
        if part not in known:
            raise ValueError(f"part must be one of {known}: got {part!r}")

    # Sums and best trees: by a solver.

    @once
    def _solver(self) -> Solver:
        return ForestSolver(self)

    @once
    def _totals(self) -> Floats:
        return self._fitting(self._solver.totals)

    def _flat_marginals(self, logs: bool) -> Floats:
        return self._solver.flat_marginals(logs)

    def _marginals(self, index: int, logs: bool) -> Floats:
        return self._solver.marginals(index, "arc", logs)

    def _part_marginals(self, part: str, logs: bool) -> Floats:
        self._check_part(part)
        if part == "arc":
            return self._all_marginals(logs)

        def table(index: int) -> Floats:
            own = self._solver.marginals(index, part, logs)
            self._feasible_total(index)
            return own

        return self._each(table)

    @property
    def _best_trees(self) -> tuple[Ints, list[float]] | None:
        return self._solver.trees

    def _best(self, index: int) -> Tree | None:
        return self._solver.best(index)

    def _best_under(self, index: int, scores: Floats, factor_weight: float = 0.0) -> Tree | None:
        return self._solver.best_under(index, scores, factor_weight)

    # All else: by forests.

    def _tree_log_prob(self, index: int, tree: Tree) -> float:
        heads = dict(enumerate(tree.heads.tolist(), 1))
        labels = None
        if self._batch.labelled and tree.labels is not None:
            labels = dict(enumerate(np.asarray(tree.labels).tolist(), 1))
        return log_prob_under(self, index, heads, labels)

    def _factor_scores(self, index: int, tree: Tree) -> list[float]:
        return [
            score
            for factor in self._factors.values()
            for score in factor.of_tree(index, tree.heads)
        ]

    def _factor_arguments(self, index: int) -> dict[str, Any]:
        return {name: factor.given(index) for name, factor in self._factors.items()}

    def _max_marginals(self, index: int) -> Floats | None:
        return self._max_part_marginals(index, "arc")

    def _max_part_marginals(self, index: int, part: str) -> Floats | None:
        from crossarc.inference.forest.viterbi import max_marginals

        forest = self._forest(index)
        table = np.empty(len(forest.score))
        max_marginals(forest, table)
        return self._shaped(index, part, table, -np.inf) if forest.items else None

    def _distinct(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Each tree once, where it is first derived."""
        if not self.ambiguous:
            yield from trees
            return
        seen: set[tuple[bytes, bytes | None]] = set()
        for tree in trees:
            labels = None if tree.labels is None else np.asarray(tree.labels).tobytes()
            key = tree.heads.tobytes(), labels
            if key not in seen:
                seen.add(key)
                yield tree

    def _ranked(self, index: int, margin: float = math.inf) -> Iterator[Tree]:
        from crossarc.inference.forest.kbest import ranked, ranked_within

        forest = self._forest(index)
        found = ranked(forest) if margin == math.inf else ranked_within(forest, margin)
        return self._distinct(self._tree(index, forest, parts) for parts in found)

    def _sample(
        self, index: int, k: int, source: np.random.SeedSequence, replace: bool
    ) -> list[Tree]:
        from crossarc.inference.forest.sampling import sample, sample_distinct

        rng = np.random.Generator(np.random.PCG64(source))
        forest = self._forest(index)
        if replace:
            return [self._tree(index, forest, parts) for parts in sample(forest, k, rng)]
        # A tree's largest perturbed log-probability is that of its derivations: a Gumbel variable
        # at the log of their summed probability. So first occurrences are draws of trees.
        drawn = (self._tree(index, forest, parts) for parts in sample_distinct(forest, rng))
        return list(islice(self._distinct(drawn), k))

    def _hessian_product(self, index: int, direction: Floats, factor_weight: float) -> Floats:
        from crossarc.inference.forest.expectation import hessian_product

        forest = self._forest(index)
        factors = weighted(forest.score[direction.size :], factor_weight)
        table = np.empty(len(forest.score))
        hessian_product(forest, np.concatenate([direction.reshape(-1), factors]), table)
        return table[: direction.size].reshape(direction.shape).copy()

    def _entropy(self, index: int) -> float:
        def entropy_of(sentence: int) -> float:
            from crossarc.inference.forest.expectation import entropy

            self._feasible_total(sentence)
            found = self._solver.entropy(sentence)
            return float(entropy(self._forest(sentence))) if found is None else found

        self._feasible_total(index)
        return self._answers.once("entropy", entropy_of)[index]

    def _divergence(self, index: int, other: Self) -> float:
        """KL(p || q), on the derivations of p.

        The choices of p are compared with those of q given that its tree is one of p's. That q has
        other trees as well adds minus the log of the probability that it gives to p's.
        """
        from crossarc.inference.forest.expectation import divergence
        from crossarc.inference.forest.inside import log_total

        self._feasible_total(index)
        theirs = other._feasible_total(index)
        if other.root != self.root and has_several_roots(self, index):
            return math.inf
        forest, scores = self._compared(index, other)
        if (scores[forest.part[forest.part >= 0]] == -np.inf).any():
            return math.inf
        shared = log_total(forest.rescored(scores))
        missing = max(0.0, math.fsum([*theirs, -shared[0], -shared[1]]))
        return float(divergence(forest, scores)) + missing

    def _cross_entropy(self, index: int, other: Self) -> float:
        return self._entropy(index) + self._divergence(index, other)
