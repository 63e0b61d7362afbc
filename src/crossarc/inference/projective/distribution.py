"""Distributions over projective trees."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.factors import Factor, FactorScores, Given, Parts
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.solver import MixedSolver, Solver
from crossarc.inference.forest.trees import ForestTrees
from crossarc.inference.projective.automata.model import HeadAutomata
from crossarc.inference.projective.first_order.rules import FirstOrder
from crossarc.inference.projective.model import Model, model_for, read_limits
from crossarc.inference.projective.sibling.rules import Sibling
from crossarc.inference.questions.information import expected_surprise
from crossarc.inference.questions.likelihood import log_prob_by_parts
from crossarc.inference.runtime.batch import Batch, Scores
from crossarc.inference.typed import Many, One, Options, Root, Size
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["ProjectiveTrees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_model_for = cache(model_for)


class ProjectiveOptions(Options, total=False):
    """Keyword arguments of `ProjectiveTrees`, besides scores and lengths."""

    sibling: Given | Sequence[Given] | None
    grandchild: Given | Sequence[Given] | None
    grand_sibling: Given | Sequence[Given] | None
    tri_sibling: Given | Sequence[Given] | None
    max_modifiers: Any


class ProjectiveTrees(ForestTrees[Size]):
    """All projective dependency trees over a sentence.

    Sums, best trees and marginals in O(n^3), also with sibling factors; labels add O(labels n^2).
    With grandchild, grand-sibling or tri-sibling factors O(n^4), with tri-siblings beside one of
    the others O(n^5), where all arcs are allowed; far less where most are forbidden. Accurate to
    the last digits at any scale of the scores (docs/numerics.md). Where trees tie, the result is
    the same on every machine and for any number of threads.

    Args:
        scores: `scores[h, m]` or `scores[h, m, l]`, natural logarithms; a list of such arrays
            is a batch, and methods then return lists. -inf forbids an arc; column 0 and the
            diagonal are never read.
        root: "single" for trees with exactly one word at the root, "multi" for one or more.
        sibling: `sibling[h, s, m]`, one part for every arc h -> m: s is the modifier of h nearest
            to m between h and m, or s = h when there is none. An array (n+1, n+1, n+1), or
            `Parts`; for a batch a list of them. -inf forbids a part: no tree has it.
        grandchild: `grandchild[g, h, m]`, one part for every arc h -> m with h != 0: g is the head
            of h. Likewise an array or `Parts`.
        grand_sibling: `grand_sibling[g, h, s, m]`, one part for every arc h -> m with h != 0: g and
            s as above.
        tri_sibling: `tri_sibling[h, t, s, m]`, one part for every three modifiers of h that follow
            each other on one side, t the innermost.
        max_modifiers: the most modifiers that a node may have: one number for all of them, the
            root included, or n + 1 of them, index 0 the root; for a batch one number or a list.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
    """

    #: All models; the one with fewest factors that scores all given ones is used.
    models: ClassVar[tuple[Model, ...]] = (FirstOrder(), Sibling(), HeadAutomata())

    @overload
    def __init__(
        self: ProjectiveTrees[One],
        scores: NDArray[Any],
        *,
        lengths: None = None,
        **options: Unpack[ProjectiveOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: ProjectiveTrees[Many],
        scores: NDArray[Any] | Sequence[NDArray[Any]],
        *,
        lengths: Sequence[int],
        **options: Unpack[ProjectiveOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: ProjectiveTrees[Many],
        scores: Sequence[NDArray[Any]],
        **options: Unpack[ProjectiveOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: ProjectiveTrees[Any],
        scores: Scores,
        *,
        lengths: Sequence[int] | None = None,
        **options: Unpack[ProjectiveOptions],
    ) -> None: ...

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        sibling: Given | Sequence[Given] | None = None,
        grandchild: Given | Sequence[Given] | None = None,
        grand_sibling: Given | Sequence[Given] | None = None,
        tri_sibling: Given | Sequence[Given] | None = None,
        max_modifiers: int | Sequence[Any] | NDArray[np.integer[Any]] | None = None,
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(scores, root=root, lengths=lengths, threads=threads)
        if max_modifiers is not None:
            self._limits = read_limits(max_modifiers, self._batch)
        self._set_factors(
            {
                "sibling": sibling,
                "grandchild": grandchild,
                "grand_sibling": grand_sibling,
                "tri_sibling": tri_sibling,
            }
        )

    #: Of `max_modifiers`, for each sentence.
    _limits: list[Ints] | None = None

    def _set_factors(self, given: Mapping[str, Any]) -> None:
        """Choose the model of these factors, None being none, and check and copy them."""
        some = {name: one for name, one in given.items() if one is not None}
        self._model = self._model_for(some)
        limits = self._all_limits() if some else []
        self._factors = {
            factor.name: self._model.hold(factor, some[factor.name], self._batch, limits)
            for factor in self._model.factors
            if factor.name in some
        }

    def _model_for(self, names: Collection[str]) -> Model:
        return _model_for(self.models, frozenset(names), self._limits is not None)

    def _all_limits(self) -> list[Ints]:
        """`_node_limits` of all sentences; those of one length may share them."""
        if self._limits is not None:
            return [self._node_limits(index) for index in range(len(self._batch))]
        sizes: list[int] = self._batch.sizes.tolist()
        some = {n: index for index, n in enumerate(sizes)}
        of_size = {n: self._node_limits(index) for n, index in some.items()}
        return [of_size[n] for n in sizes]

    def _node_limits(self, index: int) -> Ints:
        """The most modifiers of each node; 1 for a single root."""
        n = self._batch.width(index) - 1
        limits = np.full(n + 1, n) if self._limits is None else self._limits[index].copy()
        if self._is_single:
            limits[0] = min(1, limits[0])
        return limits

    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        try:
            return self._model_for(numbering).emit(scores, self._node_limits(index), numbering)
        except ScoreError as error:
            raise ScoreError(f"{self._batch.name(index)}{error}") from None

    def _aligned(
        self, index: int, names: Sequence[str], factor: Factor, held: FactorScores | None
    ) -> Floats:
        model = self._model_for(names)
        if not model.is_packed:
            return super()._aligned(index, names, factor, held)
        none = Parts(np.empty((0, len(factor.axes)), np.int32), np.empty(0))
        given = none if held is None else held.given(index)
        limits = [self._node_limits(index)]
        return model.hold(factor, given, Batch(self._batch.scores(index)), limits).scores(0)

    def _factor_arguments(self, index: int) -> dict[str, Any]:
        factors = super()._factor_arguments(index)
        return factors if self._limits is None else factors | {"max_modifiers": self._limits[index]}

    @once
    def _solver(self) -> Solver:
        kernels = self._model.kernels(self._batch, self._factors, self._is_single, self._threads)
        restricted = set().union(*(held.restricted for held in self._factors.values()))
        if kernels is None or len(restricted) == len(self._batch):
            return super()._solver
        return MixedSolver(self, kernels, sorted(restricted)) if restricted else kernels

    def _in_support(self, tree: Tree) -> bool:
        return tree.is_projective

    def _tree_log_prob(self, index: int, tree: Tree) -> float:
        log_prob = log_prob_by_parts(self, index, tree)
        return log_prob if log_prob == -math.inf or self._is_within(index, tree) else -math.inf

    def _is_within(self, index: int, tree: Tree) -> bool:
        """Whether no node of the tree has more modifiers than it may."""
        if self._limits is None:
            return True
        counts = np.bincount(tree.heads, minlength=len(tree) + 1)
        return bool((counts <= self._limits[index]).all())

    def _is_comparable(self, other: object) -> bool:
        from crossarc.inference.spanning.trees import SpanningTrees

        # All projective trees are spanning trees.
        return type(other) is type(self) or isinstance(other, SpanningTrees)

    def _cross_entropy(self, index: int, other: Any) -> float:
        if isinstance(other, ProjectiveTrees):
            return super()._cross_entropy(index, other)
        return expected_surprise(self, index, other)

    def _divergence(self, index: int, other: Any) -> float:
        if not isinstance(other, ProjectiveTrees):
            return max(0.0, self._cross_entropy(index, other) - self._entropy(index))
        if self._limits is not None or other._limits is not None:
            ours, theirs = self._node_limits(index), other._node_limits(index)
            for h in np.flatnonzero(theirs < ours).tolist():
                if self._most_modifiers(index, h) > theirs[h]:
                    return math.inf
        return super()._divergence(index, other)

    def _most_modifiers(self, index: int, h: int) -> int:
        """The most modifiers that a node has in a tree."""
        counts = np.where(self._batch.scores(index) > -np.inf, 0.0, -np.inf)
        counts[h] += 1.0
        best = self._feasible(index, self._best_under(index, counts))
        return int((best.heads == h).sum())
