"""Laws of searches for trees: argmax, k-best, within a margin, minimum risk."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crossarc import Tree
from support.law_base import (
    LawBase,
    assert_close,
    entry_of,
    key_of,
    law,
    score_scale,
)
from support.score_strategies import TIES


def assert_certificate(tree: Tree, best: float) -> None:
    """The bound is the best score, and a tree is optimal that reaches it but for 1e-9."""
    assert tree.score is not None
    assert tree.bound == best
    assert tree.is_optimal == (best - tree.score <= 1e-9 * max(1.0, abs(tree.score)))


class TreeLaws(LawBase):
    @law(examples=75)
    def test_argmax_is_a_best_tree(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        best = distribution.argmax()
        tolerance = 0.0 if case.kind == TIES else 1e-13 * score_scale(case.scores)
        # Equal up to the rounding of sums that decided between near ties.
        assert_close(truth.score(entry_of(truth, best)), truth.score(truth.trees[0]), tolerance)
        assert_close(best.score, truth.score(truth.trees[0]), tolerance)
        assert (best.bound, best.is_optimal) == (best.score, True)
        if case.labelled:
            assert best.labels.dtype.kind == "i"

    @law(examples=75)
    def test_max_marginals_are_scores_of_best_trees(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        found, expected = distribution.max_marginals(), truth.max_marginals()
        assert found.shape == case.scores.shape
        # Factors beyond arcs may be larger than the scores.
        size = max(score_scale(case.scores), float(np.abs(expected[expected > -np.inf]).max()))
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * size)
        assert not found.flags.writeable

    @law(examples=40)
    def test_kbest_lists_every_tree_once_best_first(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data, max_words=4)
        found = list(itertools.islice(distribution.kbest(len(truth.trees) + 3), 500))
        if len(truth.trees) < 500:
            assert len(found) == len(truth.trees)
        assert len(set(map(key_of, found))) == len(found)
        scores = np.array([tree.score for tree in found])
        tolerance = 0.0 if case.kind == TIES else 1e-13 * score_scale(case.scores)
        assert (np.diff(scores) <= tolerance).all()
        expected = truth.tree_scores()[: len(found)]
        np.testing.assert_allclose(scores, expected, rtol=0.0, atol=tolerance)
        for tree in found:
            assert_close(tree.score, truth.score(entry_of(truth, tree)), tolerance)
            assert_certificate(tree, found[0].score)

    @law(examples=40)
    def test_kbest_begins_with_argmax_and_stops_at_k(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        k = data.draw(st.integers(1, 6))
        found = list(distribution.kbest(k))
        assert len(found) == min(k, len(truth.trees))
        tolerance = 0.0 if case.kind == TIES else 1e-13 * score_scale(case.scores)
        assert_close(found[0].score, distribution.argmax().score, tolerance)

    @law(examples=40)
    def test_within_a_margin(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data, max_words=4)
        gaps = truth.tree_scores()[0] - truth.tree_scores()
        margin = float(gaps[data.draw(st.integers(0, min(len(gaps), 300) - 1))])
        tolerance = 0.0 if case.kind == TIES else 1e-13 * score_scale(case.scores)
        found = list(distribution.within(margin))
        scores = np.array([tree.score for tree in found])
        keys = set(map(key_of, found))
        assert len(keys) == len(found)
        assert (np.diff(scores) <= tolerance).all()
        for tree, gap in zip(truth.trees, gaps, strict=True):
            if gap <= margin - tolerance:
                assert tree.key in keys
            if gap > margin + tolerance:
                assert tree.key not in keys

    @law(examples=30)
    def test_an_infinite_margin_is_everything(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data, max_words=3)
        found = list(itertools.islice(distribution.within(math.inf), 500))
        assert len(set(map(key_of, found))) == min(500, len(truth.trees))

    @law(examples=40)
    def test_min_risk_maximises_expected_attachment(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        tree = distribution.min_risk()
        found = entry_of(truth, tree)
        # Marginals are summed: n numbers up to 1, each good to 1e-12.
        assert_close(truth.risk_value(found, 0.0), truth.best_risk_value(), 1e-11)
        assert_close(tree.score, truth.score(found), 1e-13 * score_scale(case.scores))
        assert_certificate(tree, distribution.argmax().score)
        assert_close(
            truth.attachment(found.heads, found.labels), truth.best_risk_value() / case.n, 1e-11
        )

    @law(examples=40)
    def test_min_risk_with_scores_blended_in(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        weight = data.draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
        found = entry_of(truth, distribution.min_risk(score_weight=weight))
        tolerance = 1e-11 + 1e-12 * weight * score_scale(case.scores)
        assert_close(truth.risk_value(found, weight), truth.best_risk_value(weight), tolerance)

    @law(examples=40)
    def test_expected_attachment(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data)
        tree = data.draw(st.sampled_from(truth.trees))
        labels = tree.labels if data.draw(st.booleans()) else None
        share = distribution.expected_attachment(Tree(tree.heads, labels))
        assert 0.0 <= share <= 1.0
        assert_close(share, truth.attachment(tree.heads, labels), 1e-12)

    def test_expected_attachment_of_a_sure_tree_is_one(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 1, 2], [1, 2, 3]] = [5.0, -3.0, 0.5]
        distribution = self.distribution(scores)
        assert distribution.expected_attachment(Tree([0, 1, 2])) == pytest.approx(1.0, abs=1e-15)
        assert distribution.expected_attachment(Tree([0, 1, 1])) == pytest.approx(2 / 3, abs=1e-15)
