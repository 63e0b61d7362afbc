"""Entropy of tree distributions, and how far one is from another."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.batch import Batch
from crossarc.trees import Tree

__all__ = ["Information"]

Floats = NDArray[np.float64]
T = TypeVar("T")


class Information(ABC):
    """The questions about a distribution that compare it with itself or another."""

    root: Any
    _batch: Batch

    @abstractmethod
    def _each(self, answer: Callable[[int], T]) -> T | list[T]: ...

    @abstractmethod
    def _marginals(self, index: int, logs: bool) -> Floats: ...

    @abstractmethod
    def _feasible_marginals(self, index: int, logs: bool) -> Floats: ...

    @abstractmethod
    def _feasible_total(self, index: int) -> tuple[float, float]: ...

    @abstractmethod
    def _best_under(
        self, index: int, scores: Floats, factor_weight: float = 0.0
    ) -> Tree | None: ...

    def entropy(self) -> Any:
        """Entropy in nats."""
        return self._each(self._entropy)

    def cross_entropy(self, other: Self) -> Any:
        """-E log p_other, the expectation under this distribution, in nats."""
        self._check_like(other)
        return self._each(lambda index: self._cross_entropy(index, other))

    def kl(self, other: Self) -> Any:
        """KL(self || other) in nats; infinite where other forbids what this one allows."""
        self._check_like(other)
        return self._each(lambda index: self._divergence(index, other))

    def _check_like(self, other: Self) -> None:
        ours, theirs = self._batch, other._batch
        same = type(other) is type(self) and np.array_equal(ours.sizes, theirs.sizes)
        if not same or any(
            ours.scores(i).shape != theirs.scores(i).shape for i in range(len(ours))
        ):
            raise ScoreError(
                "two distributions can be compared when they are of one kind and over the same "
                "words and labels"
            )

    def _entropy(self, index: int) -> float:
        return max(0.0, self._expected_surprise(index, self))

    def _cross_entropy(self, index: int, other: Self) -> float:
        return self._expected_surprise(index, other)

    def _divergence(self, index: int, other: Self) -> float:
        gain = self._expected_surprise(index, other) - self._expected_surprise(index, self)
        return max(0.0, gain)

    def _exceeds(self, index: int, other: Self) -> bool:
        """Whether the other rules out a tree that is possible here, however improbable."""
        if other.root != self.root and self._has_several_roots(index):
            return True
        impossible = other._batch.scores(index) == -np.inf
        if not (impossible & (self._batch.scores(index) > -np.inf)).any():
            return False
        return bool((self._marginals(index, True)[impossible] > -np.inf).any())

    def _has_several_roots(self, index: int) -> bool:
        """Whether some tree has more than one root, by looking for the one with most."""
        if self.root == "single":
            return False
        counts = np.where(self._batch.scores(index) > -np.inf, 0.0, -np.inf)
        counts[0] += 1.0
        most = self._best_under(index, counts)
        return most is not None and not most.is_single_root

    def _expected_surprise(self, index: int, other: Self) -> float:
        """E[-log p_other] = log Z_other - E[score_other], with little cancellation.

        Scores are taken relative to those of each word's most probable arc. The arcs that carry
        the mass then contribute nothing, and log Z shrinks by the same amount, summed exactly.
        """
        probabilities = self._feasible_marginals(index, False)
        scores = other._batch.scores(index)
        high, low = other._feasible_total(index)
        if self._exceeds(index, other):
            return math.inf
        by_word = np.moveaxis(probabilities, 1, 0)[1:].reshape(len(probabilities) - 1, -1)
        scores_by_word = np.moveaxis(scores, 1, 0)[1:].reshape(len(scores) - 1, -1)
        chosen = by_word.argmax(axis=1)
        reference = scores_by_word[np.arange(len(chosen)), chosen]
        used = by_word > 0.0
        gaps = np.where(used, scores_by_word - reference[:, None], 0.0)
        return math.fsum([high, low, *(-reference).tolist(), *(-(by_word * gaps)[used]).tolist()])
