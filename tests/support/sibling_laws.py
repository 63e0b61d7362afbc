"""The laws for projective trees with sibling factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from crossarc import ProjectiveTrees
from support.brute_force import BruteForce, projective_tree
from support.law_base import assert_accurate, law
from support.laws import DistributionLaws
from support.score_strategies import MODERATE, Scores
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


class SiblingLaws(Sibling, DistributionLaws):
    """All laws."""

    # Three laws speak of trees that score alike, which the factors change.

    @law(examples=40)
    def test_entropy_is_largest_when_all_trees_are_alike(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, MODERATE)
        none = np.zeros((case.n + 1,) * 3)
        level = self.kind(np.zeros(case.scores.shape), root=case.root, sibling=none)
        count = len(BruteForce(np.zeros(case.scores.shape), case.root, projective_tree).trees)
        assert_accurate(level.entropy(), math.log(count))
        assert distribution.entropy() <= level.entropy() + 1e-13

    def test_two_words_that_only_the_root_can_head_are_infeasible_with_one_root(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 0, 1], [1, 3, 2]] = 0.0
        self._assert_infeasible(scores, "single")
        factor = mirrored_factor(3)
        only = factor[0, 0, 1] + factor[0, 1, 3] + factor[1, 1, 2]
        total = self.distribution(scores, "multi").log_partition()
        assert total == pytest.approx(only, abs=1e-15)

    def test_divergence_between_root_rules(self) -> None:
        scores = np.zeros((3, 3))
        single, multi = self.distribution(scores, "single"), self.distribution(scores, "multi")
        share = multi.log_partition() - single.log_partition()
        assert single.kl(multi) == pytest.approx(share, abs=1e-13)
        assert multi.kl(single) == math.inf
