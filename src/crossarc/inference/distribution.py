"""What every distribution over trees answers, given its log Z, marginals and best trees."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ScoreError
from crossarc.inference.arithmetic.rng import stream
from crossarc.inference.questions.dependence import Dependence
from crossarc.inference.questions.information import Information
from crossarc.inference.questions.likelihood import Likelihood
from crossarc.inference.questions.moments import Moments
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.batch import Batch, Scores
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


class TreeDistribution(Information, Dependence, Moments, Likelihood):
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

    @abstractmethod
    def _arc_tables(self, logs: bool) -> Floats:
        """Marginals of arcs or their logarithms, labels summed over, flat as the batch is.

        0 or -inf when there is no tree. The totals come with them.
        """

    @property
    @abstractmethod
    def _best_trees(self) -> tuple[Ints, list[float]]:
        """Heads of the best trees, end to end, -1 when there is none, and scores.

        Without labels, a score is right where it is finite.
        """

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

    def _factors(self, index: int) -> dict[str, Any]:
        """The factors of one sentence, as arguments of the constructor."""
        return {}

    def log_partition(self) -> Any:
        """Log of the summed weight of all trees; -inf when there is none."""
        values = (self._totals[0] + self._totals[1]).tolist()
        return values if self._batch.is_batch else values[0]

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
        if self._is_plain_batch:
            heads, scores = self._best_trees
            if all(map(math.isfinite, scores)):
                pairs = zip(self._batch.rows(heads), scores, strict=True)
                return [certified(Tree._trusted(own), score) for own, score in pairs]
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

    # How the answers are made.

    @once
    def _answers(self) -> Answers:
        return Answers((self._batch.sizes**3 + 1000).tolist(), self._threads)

    def _tables(self, logs: bool) -> Any:
        """Marginals, or their logarithms."""
        if self._is_plain_batch:
            arcs = self._arc_tables(logs)
            if np.isfinite(self._totals[0]).all():
                return self._batch.squares(arcs)
        return self._each(lambda index: self._feasible_marginals(index, logs))

    @property
    def _is_plain_batch(self) -> bool:
        """Whether frequent questions can be answered without a call a sentence."""
        return self._batch.is_batch and not self._batch.labelled

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
