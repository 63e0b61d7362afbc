"""Laws of entropy and divergence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from support.brute_force import BruteForce
from support.law_base import LawBase, assert_accurate, law
from support.score_strategies import EVERY_KIND, FINITE, FORBIDDEN, MODERATE, Scores, score_arrays


class InformationLaws(LawBase):
    #: How wrong an entropy may be.
    entropy_error = 1e-13

    @law(examples=75)
    def test_entropy(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data)
        entropy = distribution.entropy()
        assert entropy >= 0.0
        assert_accurate(entropy, truth.entropy(), self.entropy_error)

    def test_entropy_of_a_sure_tree_is_zero(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 1, 2], [1, 2, 3]] = [700.0, -3000.0, 0.1]
        assert self.distribution(scores).entropy() == 0.0

    @law(examples=40)
    def test_entropy_is_largest_when_all_trees_are_alike(self, data: st.DataObject) -> None:
        case = self.case(data, MODERATE)
        truth = self.enumerate(np.zeros(case.scores.shape), case.root)
        level = self.distribution(np.zeros(case.scores.shape), case.root)
        assert_accurate(level.entropy(), math.log(len(truth.trees)))

    def _pair(
        self, data: st.DataObject, kinds: tuple[str, ...]
    ) -> tuple[Any, Any, BruteForce, BruteForce]:
        """Two distributions over sentences of the same shape, and their oracles."""
        p, p_truth, case = self.feasible_case(data, kinds)
        other: Scores = data.draw(
            score_arrays(case.scores.shape, data.draw(st.sampled_from(kinds)))
        )
        q_truth = self.enumerate(other, case.root)
        assume(q_truth.feasible)
        return p, self.distribution(other, case.root), p_truth, q_truth

    @law(examples=40)
    def test_divergence(self, data: st.DataObject) -> None:
        p, q, p_truth, q_truth = self._pair(data, FINITE)
        actual = p.kl(q)
        assert actual >= 0.0
        assert_accurate(actual, p_truth.kl(q_truth))

    @law(examples=40)
    def test_cross_entropy(self, data: st.DataObject) -> None:
        p, q, p_truth, q_truth = self._pair(data, FINITE)
        assert_accurate(p.cross_entropy(q), p_truth.cross_entropy(q_truth))

    @law(examples=40)
    def test_divergence_is_cross_entropy_less_entropy(self, data: st.DataObject) -> None:
        p, q, _, _ = self._pair(data, FINITE)
        assert_accurate(p.kl(q), p.cross_entropy(q) - p.entropy())

    @law(examples=40)
    def test_divergence_from_itself_is_zero(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, EVERY_KIND)
        copy = self.distribution(case.scores.copy(), case.root)
        assert 0.0 <= distribution.kl(copy) <= 1e-12
        assert 0.0 <= distribution.kl(distribution) <= 1e-12

    @law(examples=40)
    def test_forbidden_arcs_make_divergence_infinite(self, data: st.DataObject) -> None:
        """Infinite where p has a tree that q has not; arcs that only q has do no harm."""
        p, q, p_truth, q_truth = self._pair(data, (FORBIDDEN, *FINITE))
        assert_accurate(p.kl(q), p_truth.kl(q_truth))
        assert_accurate(p.cross_entropy(q), p_truth.cross_entropy(q_truth))

    def test_divergence_between_root_rules(self) -> None:
        scores = np.zeros((3, 3))
        single, multi = self.distribution(scores, "single"), self.distribution(scores, "multi")
        assert single.kl(multi) == pytest.approx(math.log(3 / 2), abs=1e-13)
        assert multi.kl(single) == math.inf
