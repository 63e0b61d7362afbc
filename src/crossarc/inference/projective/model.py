"""What a model of projective trees provides: its factors, its deduction system, maybe kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.factors import Factor, FactorScores, Given
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.solver import Solver
from crossarc.inference.runtime.batch import Batch

__all__ = ["Model", "has_single_root", "model_for", "read_limits"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Model(ABC):
    """A deduction system for projective trees, and the factors that it scores."""

    factors: ClassVar[tuple[Factor, ...]] = ()
    #: Whether it counts modifiers; if not, it knows only whether the root has one.
    has_limits: ClassVar[bool] = False
    #: Whether forests number the parts of factors as `hold` packs them, and not as dense arrays.
    is_packed: ClassVar[bool] = False

    @abstractmethod
    def emit(self, scores: Floats, limits: Ints, numbering: Mapping[str, Numbering]) -> Arrays:
        """The forest of a sentence; `scores` and `numbering` as for `ForestTrees._emit`.

        A factor of the model that is not in `numbering` scores 0 everywhere.

        Args:
            limits: the most modifiers of each node, 1 for a single root.
        """

    def hold(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, limits: Sequence[Ints]
    ) -> FactorScores:
        """The checked scores of a factor; kernels may need them in a form of their own."""
        return FactorScores(factor, given, batch, has_single_root(limits))

    def kernels(
        self,
        batch: Batch,
        factors: Mapping[str, FactorScores],
        single: bool,
        threads: int | None,
    ) -> Solver | None:
        """What sums over trees and finds the best ones faster than forests; None without.

        It is not asked for sentences with forbidden parts.
        """
        return None


def has_single_root(limits: Sequence[Ints]) -> bool:
    """Whether the root of all sentences has one modifier."""
    return all(own[0] == 1 for own in limits)


def model_for(models: Sequence[Model], names: Collection[str], has_limits: bool = False) -> Model:
    """The model with fewest factors that scores all of these, and limits modifiers if need be.

    Raises:
        ScoreError: there is none.
    """
    able = [
        one
        for one in models
        if set(names) <= {factor.name for factor in one.factors} and one.has_limits >= has_limits
    ]
    if not able:
        within = " within max_modifiers" if has_limits else ""
        listed = ", ".join(sorted(names)) or "none"
        raise ScoreError(f"no model scores these factors together{within}: {listed}")
    return min(able, key=lambda one: len(one.factors))


def read_limits(given: Any, batch: Batch) -> list[Ints]:
    """`max_modifiers` of each sentence, one number a node.

    Raises:
        ScoreError: other than whole numbers from 0 on, one or n + 1 of them for each sentence.
    """
    if not batch.is_batch or not isinstance(given, list | tuple):
        given = [given] * len(batch)
    elif len(given) != len(batch):
        raise ScoreError(
            f"max_modifiers must be one number, or a list of {len(batch)}, as there are sentences"
        )
    return [_node_limits(one, batch, index) for index, one in enumerate(given)]


def _node_limits(given: Any, batch: Batch, index: int) -> Ints:
    limits, width = np.asarray(given), batch.width(index)
    if limits.dtype.kind not in "iu" or limits.shape not in ((), (width,)) or limits.min() < 0:
        raise ScoreError(
            f"{batch.name(index)}max_modifiers must be one whole number from 0 on, or {width} of "
            f"them, the root's first: got {given!r:.60}"
        )
    return np.ascontiguousarray(np.broadcast_to(np.minimum(limits, width), width), np.int64)
