"""ProjectiveTrees whose sums and best trees come from packed forests: the oracle of the kernels."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc import ProjectiveTrees, Tree
from crossarc.inference.forest.inside import log_total, marginals
from crossarc.inference.forest.viterbi import best_parts

Floats = NDArray[np.float64]


class ForestTrees(ProjectiveTrees):
    def _log_total(self, index: int) -> tuple[float, float]:
        return log_total(self._forest(index))

    def _part_marginals(self, index: int, part: Literal["arc", "sibling"], logs: bool) -> Floats:
        forest = self._forest(index)
        table = np.empty(len(forest.score))
        marginals(forest, logs, table)
        return self._shaped(index, part, table)

    def _best(self, index: int) -> Tree | None:
        forest = self._forest(index)
        return self._proven(index, forest, best_parts(forest)) if forest.items else None
