"""Second moments of tree distributions: how arcs vary together.

All come from one product: the Hessian of log Z, whose entries are the covariances of pairs of arcs,
times a direction, in O(n^3) and without the n^4 entries themselves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.batch import Batch

__all__ = ["Moments"]

Floats = NDArray[np.float64]
T = TypeVar("T")


class Moments(ABC):
    """The questions about a distribution that its second moments answer."""

    _batch: Batch
    _threads: int | None

    @abstractmethod
    def _slopes(self, index: int, direction: Floats, factor_weight: float) -> Floats:
        """The derivative of a sentence's marginals along a direction, 0 for forbidden arcs.

        Factors beyond arcs, where there are any, have `factor_weight` times their scores as their
        direction.
        """

    @abstractmethod
    def _feasible_marginals(self, index: int, logs: bool) -> Floats: ...

    def hessian_product(self, direction: Any) -> Any:
        """The derivative of the marginals along a direction of the scores.

        The Hessian of log Z times the direction: entry a is the covariance of arc a with the sum of
        the direction over a tree's arcs. O(n^3) a sentence.

        Args:
            direction: an array in the shape of the scores (for a batch a list of them), finite
                where an arc is allowed and not read elsewhere.
        """
        given = self._functions(direction, "direction")
        return self._apart(lambda index: self._product(index, given[index], "direction"))

    def covariance(self, f: Any, g: Any) -> Any:
        """The covariance of two sums over a tree's arcs, of f[h, m(, l)] and of g[h, m(, l)].

        Args:
            f, g: arrays in the shape of the scores, as for `hessian_product`.
        """
        first, second = self._functions(f, "f"), self._functions(g, "g")

        def together(index: int) -> float:
            slopes = self._product(index, first[index], "f")
            centred, scale = self._centred(index, second[index], "g")
            return float(np.sum(slopes * centred)) / scale

        return self._apart(together)

    def variance(self, f: Any) -> Any:
        """The variance of the sum of f[h, m(, l)] over a tree's arcs; see `covariance`."""
        found = self.covariance(f, f)
        return [max(0.0, one) for one in found] if self._batch.is_batch else max(0.0, found)

    def entropy_gradient(self) -> Any:
        """The derivative of the entropy in each score, in the shape of the scores.

        Minus the Hessian of log Z times the scores; 0 for forbidden arcs.
        """
        scores = self._batch.scores
        return self._apart(lambda index: -self._product(index, scores(index), "scores", 1.0))

    def _product(
        self, index: int, direction: Floats, name: str, factor_weight: float = 0.0
    ) -> Floats:
        from crossarc.inference.questions.centring import balance

        centred, scale = self._centred(index, direction, name)
        slopes = self._slopes(index, centred, scale * factor_weight)
        marginals = self._feasible_marginals(index, False)
        shape = (*slopes.shape[:2], -1)
        balance(marginals.reshape(shape), scale, slopes.reshape(shape))
        return slopes

    def _centred(self, index: int, function: Floats, name: str) -> tuple[Floats, float]:
        """A function of arcs, less each word's mean and scaled to at most 1; and the scale."""
        from crossarc.inference.questions.centring import centre

        scores = self._batch.scores(index)
        marginals = self._feasible_marginals(index, False)
        largest = float(np.abs(function[scores > -np.inf]).max())
        scale = 2.0 ** -min(math.frexp(largest)[1], 1000) if math.isfinite(largest) else 1.0
        out = np.empty(scores.shape)
        shape = (*scores.shape[:2], -1)
        given = function.reshape(shape), scores.reshape(shape), marginals.reshape(shape)
        if not centre(given[0], given[1], given[2], scale, out.reshape(shape)):
            raise ScoreError(
                f"{self._batch.name(index)}{name} must be finite wherever an arc is allowed"
            )
        return out, scale

    def _functions(self, given: Any, name: str) -> list[Floats]:
        batch = self._batch
        listed = list(given) if batch.is_batch else [given]
        if len(listed) != len(batch):
            raise ScoreError(f"{name}: {len(listed)} arrays for {len(batch)} sentences")
        arrays = [np.ascontiguousarray(one, np.float64) for one in listed]
        for index, array in enumerate(arrays):
            expected = batch.scores(index).shape
            if array.shape != expected:
                raise ScoreError(
                    f"{batch.name(index)}{name} must have the shape of the scores, {expected}: "
                    f"got {array.shape}"
                )
        return arrays

    def _apart(self, answer: Callable[[int], T]) -> T | list[T]:
        """The answer for each sentence, over threads."""
        for index in range(len(self._batch)):
            self._feasible_marginals(index, False)
        answers = Answers((self._batch.sizes**3 + 1000.0).tolist(), self._threads).all(answer)
        return answers if self._batch.is_batch else answers[0]
