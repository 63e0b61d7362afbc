"""What finds sums over trees and best trees for `ForestTrees`: by default forests themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.distribution import TreeDistribution, certified
from crossarc.inference.factors import weighted
from crossarc.inference.forest.arrays import Forest
from crossarc.once import once
from crossarc.trees import Tree

if TYPE_CHECKING:
    from crossarc.inference.forest.trees import ForestTrees

__all__ = ["ForestSolver", "MixedSolver", "Solver"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")


class Solver(Protocol):
    """Sums over the trees of a batch, and best trees."""

    @property
    def totals(self) -> Floats:
        """(2, sentences): log Z as the sum of two floats; NaN where scores are too large."""

    @property
    def trees(self) -> tuple[Ints, list[float]] | None:
        """As `TreeDistribution._best_trees`."""

    def flat_marginals(self, logs: bool) -> Floats:
        """Of arcs, labels summed over, flat as the batch is."""

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """Of "arc" or the parts of a factor, in the shape that was given; read-only."""

    def best(self, index: int) -> Tree | None:
        """The best tree with its score."""

    def best_under(self, index: int, scores: Floats, factor_weight: float) -> Tree | None:
        """The best tree under other scores of arcs and weighted factors, with its model score."""

    def entropy(self, index: int) -> float | None:
        """In nats; None where it would lose digits, and is better asked of the forest."""


class ForestSolver:
    """Sums and best trees from forests; see `Solver`.

    Args:
        sentences: those that are asked for, by default all; of the others nothing is found.
    """

    def __init__(self, owner: ForestTrees[Any], sentences: Collection[int] | None = None) -> None:
        self._owner = owner
        self._sentences = range(len(owner._batch)) if sentences is None else sentences
        # log Z and the marginals of all parts, or their logarithms, of each sentence.
        self._tables: dict[bool, list[tuple[tuple[float, float], Floats]]] = {}

    def _only(self, answer: Callable[[int], T], other: T) -> Callable[[int], T]:
        return lambda index: answer(index) if index in self._sentences else other

    @once
    def totals(self) -> Floats:
        """See `Solver`."""
        from crossarc.inference.forest.inside import log_total

        owner = self._owner
        pairs = [pair for pair, _ in next(iter(self._tables.values()), [])]
        if not pairs:
            total = self._only(lambda index: log_total(owner._forest(index)), (0.0, 0.0))
            pairs = owner._answers.all(total)
        return np.ascontiguousarray(np.reshape(pairs, (-1, 2)).T, np.float64)

    #: Trees are found one by one.
    trees = None

    def flat_marginals(self, logs: bool) -> Floats:
        """See `Solver`."""
        return TreeDistribution._flat_marginals(self._owner, logs)

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """See `Solver`; one pass for all kinds of parts."""
        from crossarc.inference.forest.inside import marginals

        owner = self._owner

        def sums_of(sentence: int) -> tuple[tuple[float, float], Floats]:
            forest = owner._forest(sentence)
            table = np.empty(len(forest.score))
            return marginals(forest, logs, table), table

        if logs not in self._tables:
            nothing = (0.0, 0.0), np.empty(0)
            self._tables[logs] = owner._answers.all(self._only(sums_of, nothing))
        missing = -np.inf if logs else 0.0

        def shaped(sentence: int) -> Floats:
            return owner._shaped(sentence, part, self._tables[logs][sentence][1], missing)

        answer = self._only(shaped, np.empty(0))
        return owner._answers.once(("marginals", part, logs), answer)[index]

    def best(self, index: int) -> Tree | None:
        """See `Solver`."""

        def best_of(sentence: int) -> Tree | None:
            forest = self._owner._forest(sentence)
            return self._best_of(sentence, forest, forest)

        found = self._owner._answers.once("best", self._only(best_of, None))[index]
        if found is None:
            return None
        return certified(Tree._trusted(found.heads, found.labels), cast(float, found.score))

    def best_under(self, index: int, scores: Floats, factor_weight: float) -> Tree | None:
        """See `Solver`."""
        forest = self._owner._forest(index)
        values = [scores.reshape(-1), weighted(forest.score[scores.size :], factor_weight)]
        return self._best_of(index, forest.rescored(np.concatenate(values)), forest)

    def _best_of(self, index: int, scored: Forest, forest: Forest) -> Tree | None:
        from crossarc.inference.forest.viterbi import best_parts

        return self._owner._tree(index, forest, best_parts(scored)) if forest.items else None

    def entropy(self, index: int) -> float | None:
        """See `Solver`."""
        return None


class MixedSolver:
    """Forests for some sentences, what a model has in their stead for the others; see `Solver`.

    Args:
        kernels: their answers about `by_forest` are not used.
    """

    #: Trees are found one by one.
    trees = None

    def __init__(
        self, owner: ForestTrees[Any], kernels: Solver, by_forest: Collection[int]
    ) -> None:
        self._owner, self._kernels = owner, kernels
        self._by_forest = frozenset(by_forest)
        self._forests = ForestSolver(owner, self._by_forest)

    def _solver_of(self, index: int) -> Solver:
        return self._forests if index in self._by_forest else self._kernels

    @once
    def totals(self) -> Floats:
        """See `Solver`."""
        found, some = self._kernels.totals.copy(), sorted(self._by_forest)
        found[:, some] = self._forests.totals[:, some]
        return found

    def flat_marginals(self, logs: bool) -> Floats:
        """See `Solver`."""
        return TreeDistribution._flat_marginals(self._owner, logs)

    def marginals(self, index: int, part: str, logs: bool) -> Floats:
        """See `Solver`."""
        return self._solver_of(index).marginals(index, part, logs)

    def best(self, index: int) -> Tree | None:
        """See `Solver`."""
        return self._solver_of(index).best(index)

    def best_under(self, index: int, scores: Floats, factor_weight: float) -> Tree | None:
        """See `Solver`."""
        return self._solver_of(index).best_under(index, scores, factor_weight)

    def entropy(self, index: int) -> float | None:
        """See `Solver`."""
        return self._solver_of(index).entropy(index)
