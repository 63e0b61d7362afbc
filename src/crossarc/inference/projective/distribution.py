"""Distributions over projective trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import Given
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.solver import Solver
from crossarc.inference.forest.trees import ForestTrees
from crossarc.inference.projective.first_order.rules import FirstOrder
from crossarc.inference.projective.model import Model, model_for
from crossarc.inference.projective.sibling.rules import Sibling
from crossarc.inference.questions.likelihood import log_prob_by_parts
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.typed import Many, One, Options, Root, Size
from crossarc.once import once
from crossarc.trees import Tree

__all__ = ["ProjectiveTrees"]

Floats = NDArray[np.float64]


class ProjectiveOptions(Options, total=False):
    """Keyword arguments of `ProjectiveTrees`, besides scores and lengths."""

    sibling: Given | Sequence[Given] | None


class ProjectiveTrees(ForestTrees[Size]):
    """All projective dependency trees over a sentence.

    Sums, best trees and marginals in O(n^3), also with sibling factors; labels add O(labels n^2).
    Accurate to the last digits at any scale of the scores (docs/numerics.md). Where trees tie, the
    result is the same on every machine and for any number of threads.

    Args:
        scores: `scores[h, m]` or `scores[h, m, l]`, natural logarithms; a list of such arrays
            is a batch, and methods then return lists. -inf forbids an arc; column 0 and the
            diagonal are never read.
        root: "single" for trees with exactly one word at the root, "multi" for one or more.
        sibling: `sibling[h, s, m]`, one part for every arc h -> m: s is the modifier of h nearest
            to m between h and m, or s = h when there is none. An array (n+1, n+1, n+1), or
            `Parts`; for a batch a list of them. Finite numbers where a tree has the part.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity; a factor that is not finite.
    """

    #: All models; the one with fewest factors that scores all given ones is used.
    models: ClassVar[tuple[Model, ...]] = (FirstOrder(), Sibling())

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
        self,
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
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(scores, root=root, lengths=lengths, threads=threads)
        self._set_factors({"sibling": sibling})

    def _set_factors(self, given: Mapping[str, Any]) -> None:
        """Choose the model of these factors, None being none, and check and copy them."""
        some = {name: one for name, one in given.items() if one is not None}
        self._model = model_for(self.models, some)
        self._factors = {
            factor.name: self._model.hold(factor, some[factor.name], self._batch, self._is_single)
            for factor in self._model.factors
            if factor.name in some
        }

    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        return model_for(self.models, numbering).emit(scores, self._is_single, numbering)

    @once
    def _solver(self) -> Solver:
        kernels = self._model.kernels(self._batch, self._factors, self._is_single, self._threads)
        return super()._solver if kernels is None else kernels

    def _in_support(self, tree: Tree) -> bool:
        return tree.is_projective

    def _tree_log_prob(self, index: int, tree: Tree) -> float:
        return log_prob_by_parts(self, index, tree)
