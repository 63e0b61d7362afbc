"""The laws for projective trees with sibling factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossarc import ProjectiveTrees
from support.brute_force import BruteForce, projective_tree
from support.factor_laws import FactorLaws
from support.score_strategies import Scores
from support.sibling_cases import factor_for, mirrored_factor

__all__ = ["Sibling", "SiblingLaws"]


class Sibling:
    """Every length of sentence has a factor, dense or as Parts."""

    #: The distribution under test; it has `ProjectiveTrees`' arguments.
    kind: Any = ProjectiveTrees
    permutable = False
    scale = 1.0

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> Any:
        factor: Any
        if "lengths" in options:
            factor = [factor_for(range(n + 1), self.scale) for n in options["lengths"]]
        elif isinstance(scores, list):
            factor = [factor_for(one, self.scale) for one in scores]
        else:
            factor = factor_for(scores, self.scale)
        return self.kind(scores, root=root, sibling=factor, **options)

    def enumerate(self, scores: Scores, root: str) -> BruteForce:
        factor = mirrored_factor(len(scores) - 1, self.scale)
        return BruteForce(scores, root, projective_tree, factor)


class SiblingLaws(Sibling, FactorLaws):
    """All laws."""

    def all_alike(self, zeros: Scores, root: str) -> Any:
        return self.kind(zeros, root=root, sibling=np.zeros((len(zeros),) * 3))

    def parts_of_010(self) -> float:
        factor = mirrored_factor(3)
        return factor[0, 0, 1] + factor[0, 1, 3] + factor[1, 1, 2]
