"""What a kind of distribution over trees provides, and what all questions have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ScoreError
from crossarc.inference.questions import dependence, information, likelihood
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.arguments import one_each
from crossarc.inference.runtime.batch import Batch, Scores
from crossarc.inference.typed import Root, check_root
from crossarc.limits import require
from crossarc.once import once
from crossarc.parallel import thread_count
from crossarc.trees import Tree

__all__ = ["TreeHooks", "require_room", "require_words"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")


# Sentences that fit any machine.
_SHORT = 500


def require_words(kind: type[Any], n: int, labels: int, name: str) -> None:
    """Refuse a sentence of n words for which sums and best trees take too much.

    Args:
        kind: has `arc_bytes` and `cubic_seconds`.

    Raises:
        LimitError: as `crossarc.limits.require`.
    """
    memory = (kind.arc_bytes + 24.0 * (labels if labels > 1 else 0)) * n * n
    require(memory, kind.cubic_seconds * n**3, f"{kind.__name__} for {name}")


def require_room(kind: type[Any], scores: Scores) -> None:
    """Refuse a sentence that is too long for the machine, before anything is copied.

    Raises:
        LimitError: it is.
    """
    if isinstance(scores, list | tuple):
        if _are_short(scores):
            return
        given = scores
    else:
        given = [scores]
    for index, one in enumerate(given):
        shape = np.shape(one)
        n = max(0, shape[-1 if len(shape) < 3 else 1] - 1) if shape else 0
        if n > _SHORT:
            name = f"sentence {index} of {n:,} words" if len(given) > 1 else f"{n:,} words"
            require_words(kind, n, math.prod(shape[3 if len(shape) > 3 else 2 :]), name)


def _are_short(scores: Sequence[Any]) -> bool:
    """Whether all of these are arrays of short sentences: a quick look, which may miss it."""
    try:
        return max(map(len, scores)) <= _SHORT
    except (TypeError, ValueError):
        return False


class TreeHooks(ABC):
    """The base of `TreeDistribution`: hooks for sub-classes, and helpers for questions."""

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        check_root(root)
        if threads is not None:
            thread_count(threads)
        self.root: Root = root
        require_room(type(self), scores)
        self._batch = Batch(scores, lengths)
        self._threads = threads

    #: Of sums over trees and best trees: bytes for each arc, and seconds of a core for n^3 = 1.
    arc_bytes: ClassVar[float] = 250.0
    cubic_seconds: ClassVar[float] = 0.6e-9

    # Hooks that a sub-class must provide, for all sentences or for sentence `index`.

    @property
    @abstractmethod
    def _totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats, (-inf, 0) when there is no tree."""

    @abstractmethod
    def _marginals(self, index: int, logs: bool) -> Floats:
        """Marginals of arcs in the shape of the scores, or their logarithms; read-only.

        0 or -inf when there is no tree.
        """

    @abstractmethod
    def _max_marginals(self, index: int) -> Floats | None:
        """What `max_marginals` returns; None when there is no tree."""

    @abstractmethod
    def _best(self, index: int) -> Tree | None:
        """The best tree with its score; None when there is none."""

    @abstractmethod
    def _best_under(self, index: int, scores: Floats, factor_weight: float = 0.0) -> Tree | None:
        """The tree that is best under other scores of arcs, with its score under the model's.

        Factors beyond arcs, where there are any, count `factor_weight` times their scores. The same
        arcs are forbidden.
        """

    @abstractmethod
    def _ranked(self, index: int, margin: float = math.inf) -> Iterator[Tree]:
        """All trees, best first, that score at most `margin` less than the best."""

    @abstractmethod
    def _sample(
        self, index: int, k: int, source: np.random.SeedSequence, replace: bool
    ) -> list[Tree]:
        """k random trees of a sentence that has some, or all of them if they must differ."""

    @abstractmethod
    def _hessian_product(self, index: int, direction: Floats, factor_weight: float) -> Floats:
        """The derivative of a sentence's marginals along a direction, 0 for forbidden arcs.

        Factors beyond arcs, where there are any, have `factor_weight` times their scores as their
        direction.
        """

    # Hooks with a default: what factors and limits to some trees add; what may have a shorter way.

    def _in_support(self, tree: Tree) -> bool:
        """Whether the distribution is over trees like this one, apart from root and scores."""
        return True

    def _factor_scores(self, index: int, tree: Tree) -> list[float]:
        """The scores of a tree's parts beyond arcs."""
        return []

    def _factor_arguments(self, index: int) -> dict[str, Any]:
        """The factors of one sentence, as arguments of the constructor."""
        return {}

    def _flat_marginals(self, logs: bool) -> Floats:
        """Marginals of arcs or their logarithms, labels summed over, flat as the batch is."""
        flat = np.empty(len(self._batch.arcs))
        for index in range(len(self._batch)):
            table = self._marginals(index, logs)
            if table.ndim == 3:
                table = np.logaddexp.reduce(table, axis=2) if logs else table.sum(axis=2)
            self._batch.square(index, flat)[:] = table
        return flat

    @property
    def _best_trees(self) -> tuple[Ints, list[float]] | None:
        """Heads of all best trees, end to end, and their scores, NaN when there is none.

        None where trees are found one by one. Not asked for labelled scores.
        """
        return None

    def _tree_log_prob(self, index: int, tree: Tree) -> float:
        """The log-probability of a tree."""
        return likelihood.log_prob_by_parts(self, index, tree)

    def _entropy(self, index: int) -> float:
        """In nats; here for models of arcs only, as the two below."""
        return max(0.0, information.expected_surprise(self, index, self))

    def _is_comparable(self, other: object) -> bool:
        """Whether the two below can be asked of another distribution, sizes aside."""
        return type(other) is type(self)

    def _cross_entropy(self, index: int, other: Self) -> float:
        """-E log p_other; infinite where other forbids what this one allows."""
        return information.expected_surprise(self, index, other)

    def _divergence(self, index: int, other: Self) -> float:
        """KL(self || other)."""
        surprise = information.expected_surprise
        return max(0.0, surprise(self, index, other) - surprise(self, index, self))

    def _joint_heads(self, index: int, left: Ints, right: Ints) -> Floats:
        """The probability of each pair of arcs of two words, rows (h, m)."""
        return dependence.joint_by_constraints(self, index, left, right)

    def _mutual_information(self, index: int, negligible: float) -> Floats:
        """Of the heads of each two words, (n, n), as `mutual_information` returns it."""
        return dependence.mutual_information_by_constraints(self, index, negligible)

    # What questions have in common.

    @property
    def _is_single(self) -> bool:
        return self.root == "single"

    @once
    def _answers(self) -> Answers:
        return Answers((self._batch.sizes**3 + 1000).tolist(), self._threads)

    def _each(self, answer: Callable[[int], T]) -> T:
        """The answer for the sentence, or the list of answers for a batch: see `per_sentence`."""
        return self._listed([answer(index) for index in range(len(self._batch))])

    def _listed(self, answers: list[T]) -> T:
        """The answer for the sentence, or the list."""
        return cast(T, answers) if self._batch.is_batch else answers[0]

    def _in_parallel(self, answer: Callable[[int], T]) -> T:
        """The same over threads; marginals, which all such answers need, come first."""
        self._each(lambda index: self._feasible_marginals(index, False))
        return self._listed(self._answers.all(answer))

    def _head_probabilities(self, index: int) -> Floats:
        """Marginals [h, m], labels summed over."""
        table = self._feasible_marginals(index, False)
        return table if table.ndim == 2 else table.sum(axis=2)

    def _log_total(self, index: int) -> tuple[float, float]:
        high, low = self._totals[:, index].tolist()
        return high, low

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
        return self._feasible(index, marginals if self._totals[0, index] > -math.inf else None)

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
        """One value for each sentence, checked."""
        return one_each(self._batch, values, kind)

    def _with_scores(self, scores: Any, sentences: Sequence[int], threads: int | None) -> Self:
        """The same kind of distribution over other scores, with the factors of some sentences."""
        factors = [self._factor_arguments(index) for index in sentences]
        batched = isinstance(scores, list)
        named = {
            name: [own[name] for own in factors] if batched else factors[0][name]
            for name in (factors[0] if factors else {})
        }
        kind = cast(Callable[..., Self], type(self))
        return kind(scores, root=self.root, threads=threads, **named)
