"""The laws for projective trees with factors of all orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from crossarc import ProjectiveTrees
from support.brute_force import BruteForce
from support.higher_order import PARTS, enumerated, mirrored_factors
from support.law_base import assert_accurate, law
from support.laws import DistributionLaws
from support.score_strategies import MODERATE, Scores
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


class HigherOrderLaws(HigherOrder, DistributionLaws):
    """All laws."""

    # Three laws speak of trees that score alike, which the factors change.

    @law(examples=30)
    def test_entropy_is_largest_when_all_trees_are_alike(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, MODERATE)
        zeros = np.zeros(case.scores.shape)
        none = {name: factor * 0.0 for name, factor in mirrored_factors(case.n).items()}
        level = ProjectiveTrees(zeros, root=case.root, **none)
        count = len(enumerated(zeros, case.root, {}).trees)
        assert_accurate(level.entropy(), math.log(count))
        assert distribution.entropy() <= level.entropy() + 1e-13

    def test_two_words_that_only_the_root_can_head_are_infeasible_with_one_root(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 0, 1], [1, 3, 2]] = 0.0
        self._assert_infeasible(scores, "single")
        only = sum(
            self.factor(name, 3)[part] for name in self.names for part in PARTS[name]((0, 1, 0))
        )
        total = self.distribution(scores, "multi").log_partition()
        assert total == pytest.approx(only, abs=1e-15)

    def test_divergence_between_root_rules(self) -> None:
        scores = np.zeros((3, 3))
        single, multi = self.distribution(scores, "single"), self.distribution(scores, "multi")
        share = multi.log_partition() - single.log_partition()
        assert single.kl(multi) == pytest.approx(share, abs=1e-13)
        assert multi.kl(single) == math.inf
