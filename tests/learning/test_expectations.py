"""Expected costs and hidden trees against listing the trees and against differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from support.brute_force import BruteForce, any_tree, projective_tree

from crossarc import ProjectiveTrees, SpanningTrees
from crossarc.learning import allowed_arcs, hidden_trees, minimum_risk, wrong_arcs

Floats = NDArray[np.float64]
KINDS = [
    (trees, support, root)
    for trees, support in ((SpanningTrees, any_tree), (ProjectiveTrees, projective_tree))
    for root in ("single", "multi")
]


def differences(loss: Callable[[Floats], float], scores: Floats) -> Floats:
    """The gradient in each score, by a step to either side."""
    gradients = np.zeros(scores.shape)
    for cell in np.ndindex(scores.shape):
        if cell[1] != 0 and cell[0] != cell[1] and scores[cell] > -np.inf:
            ends = []
            for step in (1e-5, -1e-5):
                moved = scores.copy()
                moved[cell] += step
                ends.append(loss(moved))
            gradients[cell] = (ends[0] - ends[1]) / 2e-5
    return gradients


def random_scores(shape: tuple[int, ...], seed: int, sd: float = 1.0) -> Floats:
    scores = np.random.default_rng(seed).normal(0.0, sd, shape)
    scores[1, 2] = -np.inf
    return scores


@pytest.mark.parametrize(("trees", "support", "root"), KINDS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 5), (4, 4, 2)])
@pytest.mark.parametrize("sd", [1.0, 120.0])
def test_expected_cost(
    trees: Any, support: Any, root: Any, shape: tuple[int, ...], sd: float
) -> None:
    batch = [random_scores(shape, seed, sd) for seed in range(3)]
    costs = [np.random.default_rng(9 + seed).uniform(0, 2, shape) for seed in range(3)]
    loss, gradients = minimum_risk(trees, batch, costs, root)
    expected = 0.0
    for scores, cost, gradient in zip(batch, costs, gradients, strict=True):
        truth = BruteForce(scores, root, support)
        expected += float(np.sum(truth.marginals * cost, where=truth.marginals > 0.0))
        exact = truth.slopes(truth.function_values(cost))
        assert (np.abs(gradient - exact) <= 1e-11 * truth.rarity() + 1e-290).all()
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("trees", "support", "root"), KINDS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 5), (4, 4, 2)])
def test_hidden_trees(trees: Any, support: Any, root: Any, shape: tuple[int, ...]) -> None:
    batch = [random_scores(shape, seed) for seed in range(3)]
    allowed = [np.random.default_rng(20 + seed).random(shape) < 0.8 for seed in range(3)]
    loss, gradients = hidden_trees(trees, batch, allowed, root)
    expected = 0.0
    for scores, some, gradient in zip(batch, allowed, gradients, strict=True):
        truth = BruteForce(scores, root, support)
        fixed = BruteForce(np.where(some, scores, -np.inf), root, support)
        assert fixed.feasible
        expected += truth.log_partition() - fixed.log_partition()
        assert_allclose(gradient, truth.marginals - fixed.marginals, atol=1e-13)
    assert loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("trees", "support", "root"), KINDS)
def test_slopes_are_the_derivative_of_the_loss(trees: Any, support: Any, root: Any) -> None:
    for shape in ((4, 4), (3, 3, 2)):
        scores = random_scores(shape, 5)
        costs = np.random.default_rng(1).uniform(0, 2, shape)
        allowed = allowed_arcs(shape, {2: [0, len(scores) - 1]})
        for objective, target in ((minimum_risk, costs), (hidden_trees, allowed)):

            def loss(moved: Floats, ask: Any = objective, to: Any = target) -> float:
                return float(ask(trees, [moved], [to], root)[0])

            gradient = objective(trees, [scores], [target], root)[1][0]  # type: ignore[operator]
            assert_allclose(gradient, differences(loss, scores), atol=1e-8)


def test_wrong_arcs_count_errors() -> None:
    """By the definition: for each tree, the words whose head (and label) is not gold."""
    gold = np.array([2, 0, -1, 3])
    costs = wrong_arcs(gold)
    labels = np.array([1, 0, 0, -1])
    labelled = wrong_arcs(gold, labels, label_count=2)
    trees = BruteForce(np.zeros((5, 5)), "multi").trees
    for tree in trees:
        wrong = [g not in (-1, h) for g, h in zip(gold.tolist(), tree.heads, strict=True)]
        assert sum(costs[cell] for cell in tree.cells()) == sum(wrong)
        for label in range(2):
            right = [g in (-1, label) for g in labels.tolist()]
            errors = sum(
                g >= 0 and (w or not r) for g, w, r in zip(gold, wrong, right, strict=True)
            )
            assert sum(labelled[(*cell, label)] for cell in tree.cells()) == errors
    truth = BruteForce(random_scores((5, 5), 3))
    loss, _ = minimum_risk(SpanningTrees, [truth.scores], [costs])
    known = gold >= 0
    right_share = truth.marginals[gold[known], np.arange(1, 5)[known]].sum()
    assert loss == pytest.approx(3.0 - right_share)


def test_allowed_arcs() -> None:
    allowed = allowed_arcs((3, 3, 2), {2: [0]}, {1: [1], 2: [0]})
    expected = np.ones((3, 3, 2), np.bool_)
    expected[1:, 2] = False
    expected[:, 1, 0] = expected[:, 2, 1] = False
    assert allowed.tolist() == expected.tolist()
    assert allowed_arcs((3, 3), {}).all()


def test_all_or_nothing() -> None:
    """If everything is allowed there is nothing to learn, and nothing from what cannot be."""
    scores = random_scores((4, 4), 1)
    loss, (gradient,) = hidden_trees(SpanningTrees, [scores], [np.ones((4, 4), np.bool_)])
    assert loss == 0.0
    assert not gradient.any()
    nothing = np.zeros((4, 4), np.bool_)
    some = allowed_arcs((4, 4), {1: [0]})
    loss, gradients = hidden_trees(SpanningTrees, [scores, scores], [nothing, some])
    alone, (gradient,) = hidden_trees(SpanningTrees, [scores], [some])
    assert loss == alone > 0.0
    assert not gradients[0].any()
    assert_allclose(gradients[1], gradient, rtol=0)
    impossible = np.full((4, 4), -math.inf)
    cost = np.ones((4, 4))
    loss, gradients = minimum_risk(SpanningTrees, [impossible, scores], [cost, cost])
    assert loss == pytest.approx(3.0)
    assert not gradients[0].any()
    assert minimum_risk(SpanningTrees, [impossible], [cost])[0] == 0.0
