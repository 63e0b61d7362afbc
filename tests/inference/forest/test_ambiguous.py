"""Forests in which a tree has several derivations: what is about trees, and what about those."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.ambiguous_trees import AmbiguousTrees, Derivations, orders
from support.brute_force import BruteForce, Heads, projective_tree
from support.dependence_laws import DependenceLaws
from support.frequencies import assert_distribution
from support.information_laws import InformationLaws
from support.input_laws import InputLaws
from support.law_base import assert_accurate, assert_close, key_of, law, score_scale
from support.moment_laws import MomentLaws
from support.score_strategies import Scores
from support.sum_laws import SumLaws

from crossarc import Tree

ROOTS = ["single", "multi"]


class TestAmbiguous(SumLaws, InformationLaws, DependenceLaws, MomentLaws, InputLaws):
    """The laws, by the list of all derivations."""

    permutable = False
    max_words = 4

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> AmbiguousTrees:
        return AmbiguousTrees(scores, root=root, **options)

    def in_support(self, heads: Heads) -> bool:
        return projective_tree(heads)

    def enumerate(self, scores: Scores, root: str) -> Derivations:
        return Derivations(scores, root, projective_tree)

    @law()
    def test_probabilities_of_all_trees(self, data: st.DataObject) -> None:
        """A tree's probability is the sum of those of its derivations."""
        distribution, truth, case = self.feasible_case(data)
        trees = BruteForce(case.scores, case.root, projective_tree).trees
        logs = [distribution.log_prob(Tree(*tree.key)) for tree in trees[:300]]
        for log, tree in zip(logs, trees[:300], strict=True):
            assert_accurate(log, truth.log_prob(*tree.key))
        if len(logs) == len(trees):
            assert_accurate(math.fsum(map(math.exp, logs)), 1.0)

    @law()
    def test_every_tree_is_listed_once(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data)
        trees = BruteForce(case.scores, case.root, projective_tree)
        tolerance = 1e-13 * score_scale(case.scores)
        found = list(distribution.kbest(500))
        assert len(set(map(key_of, found))) == len(found) == min(500, len(trees.trees))
        expected = trees.tree_scores()[: len(found)]
        np.testing.assert_allclose([tree.score for tree in found], expected, 0.0, tolerance)
        assert_close(distribution.argmax().score, expected[0], tolerance)
        gap = float(expected[0] - expected[-1])
        assert len(list(distribution.within(gap + tolerance))) >= len(found)

    @law()
    def test_min_risk_is_about_trees(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data)
        heads, labels = key_of(distribution.min_risk())
        found = truth.find(heads, labels)
        assert found is not None
        assert_close(truth.risk_value(found, 0.0), truth.best_risk_value(), 1e-11)


def test_there_is_something_to_be_ambiguous_about() -> None:
    """2 -> 1 and 2 -> 3 in two orders; the root takes 2 in one."""
    assert orders((2, 0, 2)) == 2
    assert AmbiguousTrees(np.zeros((4, 4))).log_partition() == pytest.approx(math.log(8))
    assert AmbiguousTrees(np.zeros((4, 4))).entropy() == pytest.approx(math.log(8))


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("replace", [True, False])
def test_samples_are_of_trees(root: str, replace: bool) -> None:
    """Each draw, and the first of draws without replacement, by the probabilities of trees."""
    scores = np.random.default_rng(2).normal(size=(5, 5))
    truth, trees = Derivations(scores, root, projective_tree), AmbiguousTrees(scores, root=root)
    keys = sorted({tree.key for tree in truth.trees})
    probabilities = [math.exp(truth.log_prob(*key)) for key in keys]
    if replace:
        drawn = trees.sample(20_000, seed=1)
    else:
        drawn = [trees.sample(1, seed=seed, replace=False)[0] for seed in range(3_000)]
    counts = Counter(map(key_of, drawn))
    common = [place for place, p in enumerate(probabilities) if p * len(drawn) > 5]
    seen = [counts[keys[place]] for place in common]
    shares = [probabilities[place] for place in common]
    assert_distribution([*seen, len(drawn) - sum(seen)], [*shares, max(0.0, 1.0 - sum(shares))])


def test_second_draws_without_replacement() -> None:
    """P(second = b | first = a) = p(b) / (1 - p(a)), for the tree with two derivations and others.

    Three words: seven trees, one of them with two derivations.
    """
    scores = np.random.default_rng(5).normal(size=(4, 4))
    truth, trees = Derivations(scores, "single", projective_tree), AmbiguousTrees(scores)
    p = {key: math.exp(truth.log_prob(*key)) for key in {tree.key for tree in truth.trees}}
    assert len(p) == 7
    pairs = Counter(
        tuple(map(key_of, trees.sample(2, seed=seed, replace=False))) for seed in range(4_000)
    )
    expected = {(a, b): p[a] * p[b] / (1.0 - p[a]) for a in p for b in p if a != b}
    assert set(pairs) <= set(expected)
    common = [pair for pair, share in expected.items() if share * 4_000 > 5]
    shares = [expected[pair] for pair in common]
    seen = [pairs[pair] for pair in common]
    assert_distribution([*seen, 4_000 - sum(seen)], [*shares, max(0.0, 1.0 - sum(shares))])
    everything = trees.sample(100, seed=0, replace=False)
    assert len(set(map(key_of, everything))) == len(everything) == 7
