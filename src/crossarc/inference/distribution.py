"""What every distribution over trees answers, given its log Z, marginals and best trees."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ScoreError
from crossarc.inference.answers import Answers
from crossarc.inference.batch import Batch, Scores
from crossarc.inference.chance import stream
from crossarc.inference.constraints import constrain
from crossarc.inference.dependence import Dependence
from crossarc.inference.information import Information
from crossarc.inference.moments import Moments
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["Root", "TreeDistribution", "certified"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Root = Literal["single", "multi"]
T = TypeVar("T")


_TIE = 1e-9


def certified(tree: Tree, score: float, best: float | None = None) -> Tree:
    """The tree with its score and that of the best tree, by default its own."""
    tree.score, tree.bound = score, score if best is None else best
    tree.is_optimal = tree.bound - score <= _TIE * max(1.0, abs(score))
    return tree


class TreeDistribution(Information, Dependence, Moments):
    """Trees with probability proportional to the exponential of their score.

    A sub-class says how to sum over its trees and how to find the best ones; scores, batches,
    errors and everything that follows from sums are here. Results are computed once and kept.
    """

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        if root not in ("single", "multi"):
            raise ValueError(f'root must be "single" or "multi": got {root!r}')
        self.root: Root = root
        self._batch = Batch(scores, lengths)
        self._threads = threads

    # What a sub-class provides for all sentences of the batch, and for sentence `index`.

    @property
    @abstractmethod
    def _totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats, (-inf, 0) when there is no tree."""

    @property
    @abstractmethod
    def _arc_marginals(self) -> Floats:
        """Marginals of arcs, labels summed over, flat as the batch is; 0 when there is no tree."""

    @abstractmethod
    def _log_total(self, index: int) -> tuple[float, float]:
        """log Z as an unevaluated sum of two floats; (-inf, 0) when there is no tree."""

    @abstractmethod
    def _marginals(self, index: int, logs: bool) -> Floats:
        """Marginals of arcs in the shape of the scores, or their logarithms."""

    @abstractmethod
    def _ranked(self, index: int, margin: float = math.inf) -> Iterator[Tree]:
        """All trees, best first, that score at most `margin` less than the best."""

    @abstractmethod
    def _best(self, index: int) -> Tree | None:
        """The best tree; None when there is none."""

    @abstractmethod
    def _max_marginals(self, index: int) -> Floats | None:
        """What `max_marginals` returns; None when there is no tree."""

    @abstractmethod
    def _best_under(self, index: int, scores: Floats, factor_weight: float = 0.0) -> Tree | None:
        """The tree that is best under other scores of arcs, with its score under the model's.

        Factors beyond arcs, where there are any, count `factor_weight` times their scores.
        """

    @abstractmethod
    def _drawn(
        self, index: int, k: int, source: np.random.SeedSequence, replace: bool
    ) -> list[Tree]:
        """k random trees of a sentence that has some, or all of them if they must differ."""

    # What a sub-class with factors beyond arcs provides as well.

    def _factor_scores(self, index: int, tree: Tree) -> list[float]:
        """The scores of the tree's parts, arcs apart."""
        return []

    def _factors(self, index: int) -> dict[str, Any]:
        """The factors of one sentence, as arguments of the constructor."""
        return {}

    def log_partition(self) -> Any:
        """Log of the summed weight of all trees; -inf when there is none."""
        return self._each(self._sum_total)

    def marginals(self) -> Any:
        """Probability of each arc, in the shape of the scores; read-only."""
        return self._tables(False)

    def log_marginals(self) -> Any:
        """Log-probability of each arc, also where the probability itself would be 0; read-only."""
        return self._tables(True)

    def max_marginals(self) -> Any:
        """For each arc the score of the best tree that has it, -inf without one; read-only."""
        tables = self._answers.once("max", self._max_marginals)
        return self._each(lambda index: self._feasible(index, tables[index]))

    def argmax(self) -> Any:
        """The tree with the highest score."""
        return self._each(lambda index: self._feasible(index, self._best(index)))

    def kbest(self, k: int) -> Any:
        """The k best trees, best first; fewer when there are fewer. One sentence: an iterator."""
        if k < 1:
            raise ValueError(f"k must be at least 1: got {k}")
        return self._lists(lambda index: islice(self._ranked(index), k))

    def within(self, margin: float) -> Any:
        """All trees whose score is at most `margin` below the best, best first."""
        if not margin >= 0:
            raise ValueError(f"margin must not be negative: got {margin}")
        return self._lists(lambda index: self._ranked(index, margin))

    def sample(self, k: int, *, seed: int | None = None, replace: bool = True) -> Any:
        """k trees drawn at random: a list, for a batch a list of lists.

        Args:
            seed: the same seed gives the same trees on every machine; None gives others each
                time. Each sentence of a batch has a stream of its own.
            replace: if False, the trees are different: each is drawn from those that are left,
                in proportion to their probabilities. Fewer than k when there are fewer.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1: got {k}")
        source = np.random.SeedSequence(seed)
        for index in range(len(self._batch)):
            self._feasible_total(index)

        def drawn(index: int) -> list[Tree]:
            return self._drawn(index, k, stream(source, index), replace)

        samples = self._answers.all(drawn)
        return samples if self._batch.is_batch else samples[0]

    def log_prob(self, tree: Any = None, *, heads: Any = None) -> Any:
        """Log-probability of a tree, or that some heads hold together.

        Args:
            tree: a Tree (for a batch a list of them); without labels under labelled scores, the
                probabilities of all labels are summed.
            heads: {m: h} (for a batch a list of them), in place of a tree.
        """
        if (tree is None) == (heads is None):
            raise ValueError("give either a tree or heads=")
        if heads is not None:
            given = self._given(heads, Mapping)
            return self._each(lambda index: self._log_prob_heads(index, given[index]))
        trees = self._given(tree, Tree)
        return self._each(lambda index: self._log_prob_tree(index, trees[index]))

    def min_risk(self, score_weight: float = 0.0) -> Any:
        """The tree with the highest expected number of right arcs (and labels).

        McDonald & Satta (2007), section 4.2, by marginals in place of unnormalised expectations.

        Args:
            score_weight: from 0 to 1; maximises (1 - score_weight) * marginal +
                score_weight * score, summed over arcs, and score_weight * score of other parts.
        """
        if not 0.0 <= score_weight <= 1.0:
            raise ValueError(f"score_weight must be from 0 to 1: got {score_weight}")

        def safest(index: int) -> Tree:
            scores = self._batch.scores(index)
            allowed = scores > -np.inf
            mixed = (1.0 - score_weight) * self._feasible_marginals(index, False)
            mixed[allowed] += score_weight * scores[allowed]
            mixed[~allowed] = -np.inf
            tree = self._feasible(index, self._best_under(index, mixed, score_weight))
            best = self._feasible(index, self._best(index))
            return certified(tree, cast(float, tree.score), best.score)

        return self._each(safest)

    def expected_attachment(self, tree: Any) -> Any:
        """Expected share of the tree's words that have the right head (and label)."""
        trees = self._given(tree, Tree)

        def share(index: int) -> float:
            probabilities = self._feasible_marginals(index, False)
            # Summed over labels, a probability may be rounded to more than 1.
            return min(1.0, float(np.mean(self._arcs_of(index, trees[index], probabilities))))

        return self._each(share)

    # How the answers are made.

    @once
    def _answers(self) -> Answers:
        return Answers((self._batch.sizes**3 + 1000).tolist(), self._threads)

    def _tables(self, logs: bool) -> Any:
        """Marginals, or their logarithms."""
        return self._each(lambda index: self._feasible_marginals(index, logs))

    def _sum_total(self, index: int) -> float:
        high, low = self._log_total(index)
        return high + low

    def _each(self, answer: Callable[[int], T]) -> T | list[T]:
        """The answer for the sentence, or the list of answers for a batch."""
        answers = [answer(index) for index in range(len(self._batch))]
        return answers if self._batch.is_batch else answers[0]

    def _lists(self, ranked: Callable[[int], Iterator[Tree]]) -> Iterator[Tree] | list[list[Tree]]:
        """Trees, best first: an iterator, or for a batch a list of lists."""

        def trees(index: int) -> Iterator[Tree]:
            some = ranked(index)
            first = self._feasible(index, next(some, None))
            best = cast(float, first.score)
            return chain([first], (certified(one, cast(float, one.score), best) for one in some))

        if not self._batch.is_batch:
            return trees(0)
        return cast(list[list[Tree]], self._each(lambda index: list(trees(index))))

    def _feasible(self, index: int, answer: T | None) -> T:
        """The answer, unless there is none because there is no tree."""
        if answer is None:
            raise InfeasibleError(
                f"{self._batch.name(index)}no tree is possible: too many arcs are forbidden, or "
                "constraints contradict each other"
            )
        return answer

    def _feasible_total(self, index: int) -> tuple[float, float]:
        high, low = self._log_total(index)
        return self._feasible(index, (high, low) if high > -math.inf else None)

    def _feasible_marginals(self, index: int, logs: bool) -> Floats:
        marginals = self._marginals(index, logs)
        return self._feasible(index, marginals if self._sum_total(index) > -math.inf else None)

    def _fitting(self, totals: Floats) -> Floats:
        """log Z of all sentences, as sums of two floats, unless some scores are too large."""
        if np.isnan(totals[0]).any():
            index = int(np.isnan(totals[0]).argmax())
            raise ScoreError(
                f"{self._batch.name(index)}scores beyond 1e12 cannot be summed over: scale them "
                "down, or use -inf to forbid an arc"
            )
        return totals

    def _given(self, values: Any, kind: type[Any]) -> list[Any]:
        listed = list(values) if self._batch.is_batch else [values]
        if len(listed) != len(self._batch) or not all(isinstance(one, kind) for one in listed):
            what = f"a list of {len(self._batch)}" if self._batch.is_batch else "one"
            raise ValueError(f"expected {what} {kind.__name__}, as there are sentences")
        return listed

    def _arcs_of(self, index: int, tree: Tree, table: Floats) -> Floats:
        """The table's entries for the tree's arcs; labels summed over if the tree has none."""
        if len(tree) != self._batch.sizes[index]:
            raise ScoreError(
                f"{self._batch.name(index)}the tree has {len(tree)} words, the scores "
                f"{self._batch.sizes[index]}"
            )
        words = np.arange(1, len(tree) + 1)
        picked: Floats = table[tree.heads, words]
        if picked.ndim == 1:
            return picked
        if tree.labels is None:
            return cast(Floats, picked.sum(axis=1))
        labels = np.asarray(tree.labels)
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= picked.shape[1]:
            raise ScoreError(f"labels of the tree must be numbers from 0 to {picked.shape[1] - 1}")
        return cast(Floats, picked[words - 1, labels])

    def _log_prob_tree(self, index: int, tree: Tree) -> float:
        batch = self._batch
        high, low = self._feasible_total(index)
        if self.root == "single" and not tree.is_single_root:
            return -math.inf
        if not self._in_support(tree):
            return -math.inf
        if batch.labelled and tree.labels is None:
            tops = self._arcs_of(index, tree, batch.square(index))
            masses = self._arcs_of(index, tree, batch.mass(index))
            terms = [*tops.tolist(), *np.log(masses).tolist()]
        else:
            terms = self._arcs_of(index, tree, batch.scores(index)).tolist()
        if -math.inf in terms:
            return -math.inf
        terms += self._factor_scores(index, tree)
        return min(0.0, math.fsum([*terms, -high, -low]))

    def _in_support(self, tree: Tree) -> bool:
        """Whether the distribution is over trees like this one."""
        return True

    def _log_prob_heads(self, index: int, heads: Mapping[int, int]) -> float:
        ours = self._feasible_total(index)
        fixed = self._over(constrain(self._batch.scores(index), heads=heads), [index], 1)
        high, low = fixed._log_total(0)
        if high == -math.inf:
            return -math.inf
        return min(0.0, math.fsum([high, low, -ours[0], -ours[1]]))
