"""ProjectiveTrees: the laws, first order and with sibling factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.brute_force import BruteForce, Heads, projective_tree
from support.information_laws import InformationLaws
from support.law_base import assert_accurate, law
from support.laws import DistributionLaws
from support.score_strategies import MODERATE, Scores
from support.sibling_cases import factor_for, mirrored_factor
from support.sum_laws import SumLaws
from support.tree_laws import TreeLaws

from crossarc import ProjectiveTrees


class TestFirstOrder(DistributionLaws):
    permutable = False

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> ProjectiveTrees:
        return ProjectiveTrees(scores, root=root, **options)

    def in_support(self, heads: Heads) -> bool:
        return projective_tree(heads)


class Sibling:
    """Every length of sentence has a factor, dense or as Parts."""

    permutable = False
    scale = 1.0

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> ProjectiveTrees:
        factor: Any
        if "lengths" in options:
            factor = [factor_for(range(n + 1), self.scale) for n in options["lengths"]]
        elif isinstance(scores, list):
            factor = [factor_for(one, self.scale) for one in scores]
        else:
            factor = factor_for(scores, self.scale)
        return ProjectiveTrees(scores, root=root, sibling=factor, **options)

    def enumerate(self, scores: Scores, root: str) -> BruteForce:
        factor = mirrored_factor(len(scores) - 1, self.scale)
        return BruteForce(scores, root, projective_tree, factor)


class TestSibling(Sibling, DistributionLaws):
    # Three laws speak of trees that score alike, which the factors change.

    @law(examples=60)
    def test_entropy_is_largest_when_all_trees_are_alike(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, MODERATE)
        none = np.zeros((case.n + 1,) * 3)
        level = ProjectiveTrees(np.zeros(case.scores.shape), root=case.root, sibling=none)
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


class TestLargeSiblingFactors(Sibling, SumLaws, TreeLaws, InformationLaws):
    """Factors a thousand times as large: what is not in the best tree nearly vanishes."""

    scale = 1000.0
    test_entropy_is_largest_when_all_trees_are_alike = None
    test_divergence_between_root_rules = None
