"""Laws of sums over trees: log Z, marginals, probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crossarc import Tree
from support.brute_force import BruteForce
from support.law_base import (
    LawBase,
    assert_accurate,
    assert_close,
    assert_marginals,
    law,
    score_scale,
)
from support.score_strategies import FORBIDDEN, NORMAL, TIES, Scores, partial_heads


class SumLaws(LawBase):
    @law(examples=75)
    def test_log_partition_is_the_sum_over_trees(self, data: st.DataObject) -> None:
        case = self.case(data)
        expected = self.enumerate(case.scores, case.root).log_partition()
        actual = self.distribution(case.scores, case.root).log_partition()
        assert isinstance(actual, float)
        assert_accurate(actual, expected)

    @law(examples=75)
    def test_marginals_are_probabilities_of_arcs(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        marginals = distribution.marginals()
        assert marginals.dtype == np.float64
        assert_marginals(marginals, truth.marginals)
        assert (marginals[case.scores == -np.inf] == 0.0).all()
        words = np.arange(case.n + 1)
        assert (marginals[:, 0] == 0.0).all()
        assert (marginals[words, words] == 0.0).all()

    @law()
    def test_marginals_of_a_word_sum_to_one(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data)
        marginals = distribution.marginals()
        assert marginals.min() >= 0.0
        assert marginals.max() <= 1.0
        sums = marginals.reshape(case.n + 1, case.n + 1, -1).sum(axis=(0, 2))
        np.testing.assert_allclose(sums[1:], 1.0, rtol=0.0, atol=1e-13)

    @law(examples=75)
    def test_log_marginals_do_not_underflow(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data)
        logs = distribution.log_marginals()
        assert logs.shape == truth.log_marginals.shape
        # Relative error of the marginal above 1 / e, of its logarithm below.
        np.testing.assert_allclose(logs, truth.log_marginals, rtol=1e-12, atol=1e-12)
        assert (logs <= 0.0).all()

    @law(examples=25)
    def test_marginals_are_the_gradient_of_log_partition(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, (NORMAL, FORBIDDEN), max_words=4)
        step = 1e-4
        marginals = distribution.marginals()
        for cell in np.ndindex(case.scores.shape):
            if cell[1] == 0 or cell[0] == cell[1] or case.scores[cell] == -np.inf:
                continue
            up, down = case.scores.copy(), case.scores.copy()
            up[cell] += step
            down[cell] -= step
            rise = self._log_partition(up, case.root) - self._log_partition(down, case.root)
            assert_close(rise / (2 * step), marginals[cell], 1e-6)

    def _log_partition(self, scores: Scores, root: str) -> float:
        return float(self.distribution(scores, root).log_partition())

    @law()
    def test_probabilities_of_all_trees(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data, max_words=4)
        logs = []
        for tree in truth.trees[:300]:
            logs.append(distribution.log_prob(Tree(tree.heads, tree.labels)))
            expected = truth.log_prob(tree.heads, tree.labels)
            assert_accurate(logs[-1], expected)
        assert max(logs) <= 0.0
        if len(logs) == len(truth.trees):
            total = math.fsum(map(math.exp, logs))
            assert_accurate(total, 1.0)

    @law(examples=30)
    def test_impossible_trees_have_no_probability(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data, (FORBIDDEN,), max_words=4)
        everything = BruteForce(np.zeros(case.scores.shape), "multi")
        for tree in everything.trees[:200]:
            possible = truth.find(*tree.key) is not None
            log_prob = distribution.log_prob(Tree(tree.heads, tree.labels))
            assert (log_prob > -math.inf) == possible

    @law(examples=30)
    def test_a_tree_without_labels_is_summed_over_them(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data, max_words=3)
        heads = data.draw(st.sampled_from(truth.trees)).heads
        actual = distribution.log_prob(Tree(heads))
        assert actual <= 0.0
        assert_accurate(actual, truth.log_prob(heads))

    @law(examples=40)
    def test_probability_that_some_heads_hold_together(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        heads = data.draw(partial_heads(case.n))
        actual = distribution.log_prob(heads=heads)
        assert actual <= 0.0
        assert_accurate(actual, truth.log_joint(heads))

    @law(examples=40)
    def test_a_constant_for_a_word_changes_log_partition_only(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, (TIES,))
        m = data.draw(st.integers(1, case.n))
        constant = data.draw(st.sampled_from([-1024.0, -7.5, 0.25, 300.0, 2.0**30]))
        moved_scores = case.scores.copy()
        moved_scores[:, m] += constant  # exact: multiples of 1/4
        moved = self.distribution(moved_scores, case.root)
        log_partition = distribution.log_partition() + constant
        assert moved.log_partition() == pytest.approx(log_partition, rel=1e-14, abs=1e-13)
        np.testing.assert_allclose(moved.marginals(), distribution.marginals(), rtol=1e-12)
        np.testing.assert_allclose(
            moved.log_marginals(), distribution.log_marginals(), rtol=1e-12, atol=1e-12
        )
        assert_close(moved.entropy(), distribution.entropy(), 1e-12)

    @law(examples=40)
    def test_the_order_of_words_does_not_matter(self, data: st.DataObject) -> None:
        """Any order, or at least their mirror image."""
        distribution, _, case = self.feasible_case(data)
        words = list(range(1, case.n + 1))
        order = np.array(
            [0, *(data.draw(st.permutations(words)) if self.permutable else words[::-1])]
        )
        permuted_scores = case.scores[order][:, order]
        permuted = self.distribution(permuted_scores, case.root)
        assert_accurate(permuted.log_partition(), distribution.log_partition())
        rounding = 1e-13 * score_scale(case.scores)
        assert_close(permuted.argmax().score, distribution.argmax().score, rounding)
        assert_marginals(permuted.marginals(), distribution.marginals()[order][:, order])
