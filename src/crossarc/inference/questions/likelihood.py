"""How probable given trees and heads are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.constraints import constrain
from crossarc.inference.runtime.batch import Batch
from crossarc.trees import Tree

__all__ = ["Likelihood"]

Floats = NDArray[np.float64]
T = TypeVar("T")


class Likelihood(ABC):
    """The questions about a distribution that name a tree."""

    root: Any
    _batch: Batch

    @abstractmethod
    def _each(self, answer: Callable[[int], T]) -> T | list[T]: ...

    @abstractmethod
    def _given(self, values: Any, kind: type[Any]) -> list[Any]: ...

    @abstractmethod
    def _over(self, scores: Any, places: Sequence[int], threads: int | None) -> Self: ...

    @abstractmethod
    def _log_total(self, index: int) -> tuple[float, float]: ...

    @abstractmethod
    def _feasible_total(self, index: int) -> tuple[float, float]: ...

    @abstractmethod
    def _feasible_marginals(self, index: int, logs: bool) -> Floats: ...

    def _factor_scores(self, index: int, tree: Tree) -> list[float]:
        """The scores of the tree's parts, arcs apart."""
        return []

    def _in_support(self, tree: Tree) -> bool:
        """Whether the distribution is over trees like this one."""
        return True

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

    def expected_attachment(self, tree: Any) -> Any:
        """Expected share of the tree's words that have the right head (and label)."""
        trees = self._given(tree, Tree)

        def share(index: int) -> float:
            probabilities = self._feasible_marginals(index, False)
            # Summed over labels, a probability may be rounded to more than 1.
            return min(1.0, float(np.mean(self._arcs_of(index, trees[index], probabilities))))

        return self._each(share)

    def _log_prob_tree(self, index: int, tree: Tree) -> float:
        batch = self._batch
        high, low = self._feasible_total(index)
        if self.root == "single" and not tree.is_single_root:
            return -math.inf
        if not self._in_support(tree):
            return -math.inf
        if batch.labelled and tree.labels is None:
            column_max = self._arcs_of(index, tree, batch.square(index))
            label_sums = self._arcs_of(index, tree, batch.label_sum(index))
            terms = [*column_max.tolist(), *np.log(label_sums).tolist()]
        else:
            terms = self._arcs_of(index, tree, batch.scores(index)).tolist()
        if -math.inf in terms:
            return -math.inf
        terms += self._factor_scores(index, tree)
        return min(0.0, math.fsum([*terms, -high, -low]))

    def _log_prob_heads(self, index: int, heads: Mapping[int, int]) -> float:
        ours = self._feasible_total(index)
        fixed = self._over(constrain(self._batch.scores(index), heads=heads), [index], 1)
        high, low = fixed._log_total(0)
        if high == -math.inf:
            return -math.inf
        return min(0.0, math.fsum([high, low, -ours[0], -ours[1]]))

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
