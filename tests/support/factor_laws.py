"""The laws of projective trees with factors, of any kind."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from support.brute_force import BruteForce, projective_tree
from support.law_base import assert_accurate, law
from support.laws import DistributionLaws
from support.score_strategies import MODERATE, Scores

__all__ = ["FactorLaws"]


class FactorLaws(DistributionLaws):
    """All laws. Three speak of trees that score alike, which the factors change."""

    permutable = False

    @abstractmethod
    def all_alike(self, zeros: Scores, root: str) -> Any:
        """The distribution of arc scores that are 0 under factors that are 0."""

    @abstractmethod
    def parts_of_010(self) -> float:
        """What the factors give the tree of three words whose heads are 0, 1 and 0."""

    @law(examples=40)
    def test_entropy_is_largest_when_all_trees_are_alike(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, MODERATE)
        zeros = np.zeros(case.scores.shape)
        level = self.all_alike(zeros, case.root)
        count = len(BruteForce(zeros, case.root, projective_tree).trees)
        assert_accurate(level.entropy(), math.log(count))
        assert distribution.entropy() <= level.entropy() + 1e-13

    def test_two_words_that_only_the_root_can_head_are_infeasible_with_one_root(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 0, 1], [1, 3, 2]] = 0.0
        self._assert_infeasible(scores, "single")
        total = self.distribution(scores, "multi").log_partition()
        assert total == pytest.approx(self.parts_of_010(), abs=1e-15)

    def test_divergence_between_root_rules(self) -> None:
        scores = np.zeros((3, 3))
        single, multi = self.distribution(scores, "single"), self.distribution(scores, "multi")
        share = multi.log_partition() - single.log_partition()
        assert single.kl(multi) == pytest.approx(share, abs=1e-13)
        assert multi.kl(single) == math.inf
