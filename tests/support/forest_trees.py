"""Projective trees from packed forests alone: the oracle of the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import SIBLING, FactorScores
from crossarc.inference.forest.arrays import Arrays, Numbering
from crossarc.inference.forest.trees import ForestTrees
from crossarc.inference.projective.first_order.rules import emit_first_order
from crossarc.inference.projective.sibling.rules import emit_sibling

Floats = NDArray[np.float64]


class ProjectiveForests(ForestTrees):
    """What `ProjectiveTrees` is over, without its kernels and without its knowledge of trees."""

    def __init__(self, scores: Any, *, sibling: Any = None, **options: Any) -> None:
        super().__init__(scores, **options)
        if sibling is not None:
            self._factors["sibling"] = FactorScores(SIBLING, sibling, self._batch, self._is_single)

    def _emit(self, index: int, scores: Floats, numbering: Mapping[str, Numbering]) -> Arrays:
        if "sibling" in numbering:
            return emit_sibling(scores, self._is_single, numbering["sibling"])
        return emit_first_order(scores, self._is_single)
