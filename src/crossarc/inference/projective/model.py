"""What a model of projective trees provides: its factors, its deduction system, maybe kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.factors import Factor, FactorScores, Given
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.solver import Solver
from crossarc.inference.runtime.batch import Batch

__all__ = ["Model", "model_for"]

Floats = NDArray[np.float64]


class Model(ABC):
    """A deduction system for projective trees, and the factors that it scores."""

    factors: ClassVar[tuple[Factor, ...]] = ()

    @abstractmethod
    def emit(self, scores: Floats, single: bool, numbering: Mapping[str, Numbering]) -> Arrays:
        """The forest of a sentence; arguments as for `ForestTrees._emit`.

        A factor of the model that is not in `numbering` scores 0 everywhere.
        """

    def hold(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, single: bool
    ) -> FactorScores:
        """The checked scores of a factor; kernels may need them in a form of their own."""
        return FactorScores(factor, given, batch, single)

    def kernels(
        self,
        batch: Batch,
        factors: Mapping[str, FactorScores],
        single: bool,
        threads: int | None,
    ) -> Solver | None:
        """What sums over trees and finds the best ones faster than forests; None without."""
        return None


def model_for(models: Sequence[Model], names: Collection[str]) -> Model:
    """The model with fewest factors that scores all of these.

    Raises:
        ScoreError: there is none.
    """
    able = [one for one in models if set(names) <= {factor.name for factor in one.factors}]
    if not able:
        raise ScoreError(f"no model scores these factors together: {', '.join(sorted(names))}")
    return min(able, key=lambda one: len(one.factors))
