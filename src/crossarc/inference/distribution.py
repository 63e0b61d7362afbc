"""What every distribution over trees answers, given its log Z, marginals and best trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.inference.arithmetic.rng import stream
from crossarc.inference.face import ELSEWHERE, html, line
from crossarc.inference.hooks import TreeHooks
from crossarc.inference.questions import dependence, information, likelihood, moments
from crossarc.inference.typed import Many, One, Root, Size, counting, per_sentence
from crossarc.limits import require
from crossarc.trees import Tree

__all__ = ["Root", "TreeDistribution", "certified"]

Floats = NDArray[np.float64]
#: An arc: head, modifier, and label where there are labels.
Arc = tuple[int, int] | tuple[int, int, int]
#: Heads (or labels) of some words; for a batch a list of them.
Heads = Mapping[int, int] | Sequence[Mapping[int, int]]
#: A number for each arc, in the shape of the scores; for a batch a list of them.
Function = ArrayLike | Sequence[ArrayLike]

_TIE = 1e-9
# Of one core for n^4 = 1, measured at 100 words.
_QUARTIC_SECONDS = 3e-8


def certified(tree: Tree, score: float, best: float | None = None) -> Tree:
    """The tree with its score and that of the best tree, by default its own."""
    tree.score, tree.bound = score, score if best is None else best
    tree.is_optimal = best is None or best - score <= _TIE * max(1.0, abs(score))
    return tree


class TreeDistribution(TreeHooks, Generic[Size]):
    """Trees with probability proportional to the exponential of their score.

    A sub-class sums over its trees and finds the best ones: it overrides the abstract hooks of
    `TreeHooks`, and others where it knows a shorter way. Results are computed once and kept.
    """

    #: log Z of each sentence, once it has been asked for.
    _known_totals: list[float] | None = None

    def __repr__(self) -> str:
        return line(self)

    def _repr_html_(self) -> str:
        return html(self)

    # Type checkers would take every name for an attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            used = f": use {ELSEWHERE[name]}" if name in ELSEWHERE else ""
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}{used}", name=name, obj=self
            )

    # Sums over trees.

    @per_sentence
    def log_partition(self) -> float:
        """Log of the summed weight of all trees; -inf when there is none."""
        values: list[float] = (self._totals[0] + self._totals[1]).tolist()
        self._known_totals = values
        return self._listed(values)

    @per_sentence
    def marginals(self) -> Floats:
        """Probability of each arc, in the shape of the scores; read-only."""
        return self._all_marginals(False)

    @per_sentence
    def log_marginals(self) -> Floats:
        """Log-probability of each arc, also where the probability itself would be 0; read-only."""
        return self._all_marginals(True)

    @per_sentence
    def log_prob(
        self, tree: Tree | Sequence[Tree] | None = None, *, heads: Heads | None = None
    ) -> float:
        """Log-probability of a tree, or that some heads hold together.

        Args:
            tree: a Tree (for a batch a list of them); without labels under labelled scores, the
                probabilities of all labels are summed.
            heads: {m: h} (for a batch a list of them), in place of a tree.
        """
        return likelihood.log_prob(self, tree, heads)

    @per_sentence
    def expected_attachment(self, tree: Tree | Sequence[Tree]) -> float:
        """Expected share of the tree's words that have the right head (and label)."""
        return likelihood.expected_attachment(self, tree)

    # Best and random trees.

    @per_sentence
    def max_marginals(self) -> Floats:
        """For each arc the score of the best tree that has it, -inf without one; read-only."""
        tables = self._answers.once("max", self._max_marginals)
        return self._each(lambda index: self._feasible(index, tables[index]))

    @per_sentence
    def argmax(self) -> Tree:
        """The tree with the highest score."""
        found = self._best_trees if self._batch.is_batch and not self._batch.labelled else None
        if found is not None and all(map(math.isfinite, found[1])):
            pairs = zip(self._batch.rows(found[0]), found[1], strict=True)
            return self._listed([certified(Tree._trusted(own), score) for own, score in pairs])
        return self._each(lambda index: self._feasible(index, self._best(index)))

    @overload
    def kbest(self: TreeDistribution[One], k: int) -> Iterator[Tree]: ...

    @overload
    def kbest(self: TreeDistribution[Many], k: int) -> list[list[Tree]]: ...

    @overload
    def kbest(self, k: int) -> Iterator[Tree] | list[list[Tree]]: ...

    def kbest(self, k: int) -> Iterator[Tree] | list[list[Tree]]:
        """The k best trees, best first; fewer when there are fewer. One sentence: an iterator."""
        k = counting("k", k)
        return self._lists(lambda index: islice(self._ranked(index), k))

    @overload
    def within(self: TreeDistribution[One], margin: float) -> Iterator[Tree]: ...

    @overload
    def within(self: TreeDistribution[Many], margin: float) -> list[list[Tree]]: ...

    @overload
    def within(self, margin: float) -> Iterator[Tree] | list[list[Tree]]: ...

    def within(self, margin: float) -> Iterator[Tree] | list[list[Tree]]:
        """All trees whose score is at most `margin` below the best, best first."""
        if not margin >= 0:
            raise ValueError(f"margin must not be negative: got {margin}")
        return self._lists(lambda index: self._ranked(index, margin))

    @per_sentence
    def sample(
        self, k: int, *, seed: int | np.random.Generator | None = None, replace: bool = True
    ) -> list[Tree]:
        """k trees drawn at random: a list, for a batch a list of lists.

        Args:
            seed: the same seed gives the same trees on every machine; a Generator gives others at
                each call, the same for the same state of it; None gives others each
                time. Each sentence of a batch has a stream of its own.
            replace: if False, the trees are different: each is drawn from those that are left,
                in proportion to their probabilities. Fewer than k when there are fewer.
        """
        k = counting("k", k)
        if isinstance(seed, np.random.Generator):
            seed = int(seed.integers(1 << 63))
        if seed is not None and not (isinstance(seed, int | np.integer) and seed >= 0):
            raise ValueError(
                f"seed must be a whole number from 0 up, a Generator or None: got {seed!r}"
            )
        source = np.random.SeedSequence(None if seed is None else int(seed))
        for index in range(len(self._batch)):
            self._feasible_total(index)

        def drawn(index: int) -> list[Tree]:
            return self._sample(index, k, stream(source, index), replace)

        return self._listed(self._answers.all(drawn))

    @per_sentence
    def min_risk(self, score_weight: float = 0.0) -> Tree:
        """The tree with the highest expected number of right arcs (and labels).

        McDonald & Satta (2007), section 4.2, by marginals in place of unnormalised expectations.

        Args:
            score_weight: from 0 to 1; maximises (1 - score_weight) * marginal +
                score_weight * score, summed over arcs, and score_weight * score of other parts.
        """
        if not 0.0 <= score_weight <= 1.0:
            raise ValueError(f"score_weight must be from 0 to 1: got {score_weight}")

        def least_risk(index: int) -> Tree:
            scores = self._batch.scores(index)
            allowed = scores > -np.inf
            mixed = (1.0 - score_weight) * self._feasible_marginals(index, False)
            mixed[allowed] += score_weight * scores[allowed]
            mixed[~allowed] = -np.inf
            tree = self._feasible(index, self._best_under(index, mixed, score_weight))
            best = self._feasible(index, self._best(index))
            return certified(tree, cast(float, tree.score), best.score)

        return self._each(least_risk)

    # Information.

    @per_sentence
    def entropy(self) -> float:
        """Entropy in nats."""
        return self._each(self._entropy)

    @per_sentence
    def cross_entropy(self, other: TreeDistribution[Any]) -> float:
        """-E log p_other, the expectation under this distribution, in nats."""
        information.check_comparable(self, other)
        return self._each(lambda index: self._cross_entropy(index, other))

    @per_sentence
    def kl(self, other: TreeDistribution[Any]) -> float:
        """KL(self || other) in nats; infinite where other forbids what this one allows."""
        information.check_comparable(self, other)
        if other is self:
            return self._each(lambda index: 0.0 * self._feasible_total(index)[0])
        return self._each(lambda index: self._divergence(index, other))

    # Dependence between the heads of words.

    def given(self, heads: Heads, *, labels: Heads | None = None) -> Self:
        """The distribution over the trees that have these heads (and labels), in proportion.

        Everything can be asked of it: its marginals are conditional probabilities. Without such a
        tree its log_partition() is -inf, and other questions raise InfeasibleError.

        Args:
            heads: {m: h}; for a batch a list of them.
            labels: {m: l}, likewise; labelled scores only.
        """
        return dependence.given(self, heads, labels)

    @overload
    def joint(  # type: ignore[overload-overlap]
        self: TreeDistribution[One], first: Arc, second: Arc
    ) -> float: ...

    @overload
    def joint(self: TreeDistribution[One], first: ArrayLike, second: ArrayLike) -> Floats: ...

    @overload
    def joint(  # type: ignore[overload-overlap]
        self: TreeDistribution[Many], first: Sequence[Arc], second: Sequence[Arc]
    ) -> list[float]: ...

    @overload
    def joint(
        self: TreeDistribution[Many], first: Sequence[ArrayLike], second: Sequence[ArrayLike]
    ) -> list[Floats]: ...

    def joint(self, first: Any, second: Any) -> float | Floats | list[float] | list[Floats]:
        """The probability that a tree has both of two arcs.

        Args:
            first, second: arcs (h, m), or (h, m, l) under labelled scores; or arrays of them,
                whose last axis is an arc, and which are paired as NumPy broadcasts the other axes.
                For a batch, lists of these. Without l, labels are summed over.

        Returns:
            A float, or an array for arrays of arcs.
        """
        return dependence.joint(self, first, second)

    @overload
    def conditional(  # type: ignore[overload-overlap]
        self: TreeDistribution[One], arc: Arc, given: Arc
    ) -> float: ...

    @overload
    def conditional(self: TreeDistribution[One], arc: ArrayLike, given: ArrayLike) -> Floats: ...

    @overload
    def conditional(  # type: ignore[overload-overlap]
        self: TreeDistribution[Many], arc: Sequence[Arc], given: Sequence[Arc]
    ) -> list[float]: ...

    @overload
    def conditional(
        self: TreeDistribution[Many], arc: Sequence[ArrayLike], given: Sequence[ArrayLike]
    ) -> list[Floats]: ...

    def conditional(self, arc: Any, given: Any) -> float | Floats | list[float] | list[Floats]:
        """The probability of an arc in the trees that have another; arguments as for `joint`.

        NaN where the given arc has no probability.
        """
        return dependence.conditional(self, arc, given)

    @per_sentence
    def entropy_drop(self, *, labels: bool = True) -> Floats:
        """By how much the entropy falls, in the mean, when a word's head becomes known.

        An array with one number a word, in nats. This is the entropy of the word's head itself,
        for a tree says all about it (docs/inference.md).

        Args:
            labels: whether labelled words become known with their labels.
        """
        return self._each(lambda index: dependence.entropy_drop(self, index, labels))

    @per_sentence
    def mutual_information(self, *, negligible: float = 1e-14) -> Floats:
        """What each word's head says about each other word's, in nats: an (n, n) array.

        On the diagonal the entropies of single heads. Labels add nothing elsewhere: given its
        arc, a label depends on no other word.

        Args:
            negligible: heads up to this probability are left out. Each takes at most d log(1 / d)
                with it, d being this number; a larger one saves time.
        """
        if not 0.0 <= negligible < 1.0:
            raise ValueError(f"negligible must be from 0 to below 1: got {negligible}")
        longest = int(self._batch.sizes.max(initial=0))
        require(0.0, _QUARTIC_SECONDS * longest**4, f"mutual information of {longest:,} words")
        return self._in_parallel(lambda index: self._mutual_information(index, negligible))

    # Second moments.

    @per_sentence
    def hessian_product(self, direction: Function) -> Floats:
        """The derivative of the marginals along a direction of the scores.

        The Hessian of log Z times the direction: entry a is the covariance of arc a with the sum of
        the direction over a tree's arcs. O(n^3) a sentence.

        Args:
            direction: an array in the shape of the scores (for a batch a list of them), finite
                where an arc is allowed and not read elsewhere.
        """
        given = moments.read_functions(self, direction, "direction")
        return self._in_parallel(
            lambda index: moments.hessian_product(self, index, given[index], "direction")
        )

    @per_sentence
    def covariance(self, f: Function, g: Function) -> float:
        """The covariance of two sums over a tree's arcs, of f[h, m(, l)] and of g[h, m(, l)].

        Args:
            f, g: arrays in the shape of the scores, as for `hessian_product`.
        """
        first, second = (moments.read_functions(self, *one) for one in ((f, "f"), (g, "g")))
        return self._in_parallel(
            lambda index: moments.covariance(self, index, first[index], second[index])
        )

    @per_sentence
    def variance(self, f: Function) -> float:
        """The variance of the sum of f[h, m(, l)] over a tree's arcs; see `covariance`."""
        sums = moments.read_functions(self, f, "f")
        return self._in_parallel(
            lambda index: max(0.0, moments.covariance(self, index, sums[index], sums[index]))
        )

    @per_sentence
    def entropy_gradient(self) -> Floats:
        """The derivative of the entropy in each score, in the shape of the scores.

        Minus the Hessian of log Z times the scores; 0 for forbidden arcs.
        """
        scores = self._batch.scores
        return self._in_parallel(
            lambda index: -moments.hessian_product(self, index, scores(index), "scores", 1.0)
        )

    # How lists are made.

    def _lists(self, ranked: Callable[[int], Iterator[Tree]]) -> Iterator[Tree] | list[list[Tree]]:
        """Trees, best first: an iterator, or for a batch a list of lists."""

        def trees(index: int) -> Iterator[Tree]:
            some = ranked(index)
            first = self._feasible(index, next(some, None))
            best = cast(float, first.score)
            all_trees = chain([first], some)
            return (certified(one, cast(float, one.score), best) for one in all_trees)

        if not self._batch.is_batch:
            return trees(0)
        return cast(list[list[Tree]], self._each(lambda index: list(trees(index))))

    def _all_marginals(self, logs: bool) -> Floats:
        if self._batch.is_batch and not self._batch.labelled:
            arcs = self._flat_marginals(logs)
            if np.isfinite(self._totals[0]).all():
                return self._listed(self._batch.squares(arcs))
        return self._each(lambda index: self._feasible_marginals(index, logs))
