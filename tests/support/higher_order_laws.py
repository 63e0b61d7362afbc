"""The laws for projective trees with factors of all orders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc import ProjectiveTrees
from support.brute_force import BruteForce
from support.factor_laws import FactorLaws
from support.higher_order import PARTS, enumerated, mirrored_factors
from support.score_strategies import Scores
from support.sibling_cases import as_parts

__all__ = ["HigherOrder", "HigherOrderLaws"]

Floats = NDArray[np.float64]


class HigherOrder:
    """Every length of sentence has its factors, as arrays for odd lengths, else as Parts."""

    names: tuple[str, ...] = tuple(PARTS)
    #: The most modifiers of a node.
    limit: int | None = None
    permutable = False

    def factor(self, name: str, n: int) -> Floats:
        """As an array."""
        return mirrored_factors(n)[name]

    def _given(self, name: str, n: int) -> Any:
        factor = self.factor(name, n)
        return factor if n % 2 else as_parts(factor)

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> ProjectiveTrees:
        lengths = options.get("lengths")
        if isinstance(scores, list):
            lengths = [len(one) - 1 for one in scores]
        factors: dict[str, Any] = {}
        for name in self.names:
            if lengths is None:
                factors[name] = self._given(name, len(scores) - 1)
            else:
                factors[name] = [self._given(name, n) for n in lengths]
        return ProjectiveTrees(scores, root=root, max_modifiers=self.limit, **factors, **options)

    def enumerate(self, scores: Scores, root: str) -> BruteForce:
        factors = {name: self.factor(name, len(scores) - 1) for name in self.names}
        return enumerated(scores, root, factors, self.limit and np.full(len(scores), self.limit))


class HigherOrderLaws(HigherOrder, FactorLaws):
    """All laws."""

    def all_alike(self, zeros: Scores, root: str) -> ProjectiveTrees:
        factors = mirrored_factors(len(zeros) - 1)
        return ProjectiveTrees(
            zeros, root=root, **{name: 0.0 * one for name, one in factors.items()}
        )

    def parts_of_010(self) -> float:
        return sum(
            self.factor(name, 3)[part] for name in self.names for part in PARTS[name]((0, 1, 0))
        )
