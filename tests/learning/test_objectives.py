"""Losses and gradients against brute force over all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.brute_force import projective_tree
from support.trees import all_trees

from crossarc import ProjectiveTrees, SpanningTrees
from crossarc.learning import (
    learnable_heads,
    log_linear,
    max_margin,
    nearest_heads,
    perceptron,
)

KINDS = [(SpanningTrees, lambda heads: True), (ProjectiveTrees, projective_tree)]
CASES = st.tuples(st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(["single", "multi"]))


def enumerate_log_linear(scores, gold, admits, root):  # type: ignore[no-untyped-def]
    """Loss and gradients by listing the trees, all of them and those with the given heads."""
    sums = [0.0, 0.0]
    expected = [np.zeros(scores.shape), np.zeros(scores.shape)]
    for heads in all_trees(len(gold)):
        if not admits(heads) or (root == "single" and heads.count(0) != 1):
            continue
        arcs = tuple(heads), tuple(range(1, len(heads) + 1))
        weight = math.exp(scores[arcs].sum())
        agrees = all(g in (-1, h) for g, h in zip(gold, heads, strict=True))
        for k in range(1 + agrees):
            sums[k] += weight
            expected[k][arcs] += weight
    return (
        math.log(sums[0]) - math.log(sums[1]),
        expected[0] / sums[0] - expected[1] / sums[1],
    )


@pytest.mark.parametrize(("trees", "admits"), KINDS)
@given(case=CASES, hidden=st.integers(0, 15))
def test_log_linear_is_that_of_all_trees(trees, admits, case, hidden) -> None:  # type: ignore[no-untyped-def]
    n, seed, root = case
    rng = np.random.default_rng(seed)
    scores = [rng.normal(size=(n + 1, n + 1)) for _ in range(2)]
    possible = [
        heads
        for heads in all_trees(n)
        if admits(heads) and (root == "multi" or heads.count(0) == 1)
    ]
    gold = [np.array(possible[rng.integers(len(possible))]) for _ in scores]
    gold[0] = np.array([-1 if hidden >> m & 1 else h for m, h in enumerate(gold[0].tolist())])
    loss, gradients = log_linear(trees, scores, gold, root)
    expected = [
        enumerate_log_linear(one, heads.tolist(), admits, root)
        for one, heads in zip(scores, gold, strict=True)
    ]
    assert_allclose(loss, expected[0][0] + expected[1][0], atol=1e-9)
    for gradient, (_, wanted) in zip(gradients, expected, strict=True):
        assert_allclose(gradient, wanted, atol=1e-9)


def test_slopes_are_the_derivative_of_the_loss() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5))
    gold = np.array([2, 0, -1, 3])
    gradient = log_linear(SpanningTrees, [scores], [gold])[1][0]
    for h in range(5):
        for m in range(1, 5):
            if h != m:
                ends = []
                for step in (1e-4, -1e-4):
                    moved = scores.copy()
                    moved[h, m] += step
                    ends.append(log_linear(SpanningTrees, [moved], [gold])[0])
                assert_allclose(gradient[h, m], (ends[0] - ends[1]) / 2e-4, atol=1e-7)


def test_nothing_annotated_teaches_nothing() -> None:
    scores = np.random.default_rng(1).normal(size=(4, 4))
    unknown = np.full(3, -1)
    for objective in (log_linear, perceptron, max_margin):
        loss, (gradient,) = objective(SpanningTrees, [scores], [unknown])
        assert loss == pytest.approx(0.0, abs=1e-12)
        assert_allclose(gradient, 0.0, atol=1e-12)


def test_heads_that_no_tree_has_teach_nothing() -> None:
    """Words 1 and 2 both at the root, under a single root; the other sentence counts as ever."""
    scores = [np.zeros((4, 4)), np.zeros((3, 3))]
    gold = [np.array([0, 0, -1]), np.array([0, 1])]
    loss, gradients = log_linear(SpanningTrees, scores, gold)
    assert not gradients[0].any()
    assert loss == pytest.approx(math.log(2))


def test_perceptron_of_a_worked_example() -> None:
    """The best tree is 0 -> 1 -> 2; gold is 0 -> 2 -> 1."""
    scores = np.zeros((3, 3))
    scores[0, 1] = 2.0
    loss, (gradient,) = perceptron(SpanningTrees, [scores], [np.array([2, 0])])
    assert loss == 2.0
    assert gradient.tolist() == [[0, 1, -1], [0, 0, 1], [0, -1, 0]]
    loss, (gradient,) = perceptron(SpanningTrees, [scores], [np.array([0, -1])])
    assert loss == 0.0
    assert not gradient.any()


@pytest.mark.parametrize(("trees", "admits"), KINDS)
@given(case=CASES, hidden=st.integers(0, 15))
def test_max_margin_is_that_of_all_trees(trees, admits, case, hidden) -> None:  # type: ignore[no-untyped-def]
    """max_y (E_y + s(y)) - max s(gold), over all trees and over those with the given heads."""
    n, seed, root = case
    rng = np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=(n + 1, n + 1))
    possible = [
        heads
        for heads in all_trees(n)
        if admits(heads) and (root == "multi" or heads.count(0) == 1)
    ]
    whole = possible[rng.integers(len(possible))]
    gold = np.array([-1 if hidden >> m & 1 else h for m, h in enumerate(whole)])
    words = range(1, n + 1)

    def score(heads: list[int]) -> float:
        return float(scores[heads, words].sum())

    def errors(heads: list[int]) -> int:
        return sum(g not in (-1, h) for g, h in zip(gold.tolist(), heads, strict=True))

    worst = max(errors(heads) + score(heads) for heads in possible)
    best = max(score(heads) for heads in possible if errors(heads) == 0)
    loss, (gradient,) = max_margin(trees, [scores], [gold], root)
    assert_allclose(loss, worst - best, atol=1e-9)
    # A sub-gradient of a function that is linear where the two trees stay the best.
    step = 1e-6 * rng.normal(size=scores.shape)
    moved = max_margin(trees, [scores + step], [gold], root)[0]
    assert_allclose(moved - loss, (gradient * step).sum(), atol=1e-9)


@pytest.mark.parametrize(("trees", "admits"), KINDS)
@pytest.mark.parametrize("root", ["single", "multi"])
def test_the_nearest_tree_has_most_heads(trees, admits, root) -> None:  # type: ignore[no-untyped-def]
    possible = [
        heads
        for heads in all_trees(4)
        if admits(heads) and (root == "multi" or heads.count(0) == 1)
    ]
    for heads in list(all_trees(4))[::7]:
        found = nearest_heads(trees, np.array(heads), root).tolist()
        assert found in [list(one) for one in possible]
        most = max(sum(a == b for a, b in zip(heads, one, strict=True)) for one in possible)
        assert sum(a == b for a, b in zip(heads, found, strict=True)) == most


@pytest.mark.parametrize("n", [3, 4, 5])
def test_some_projective_tree_has_the_learnable_heads(n: int) -> None:
    for heads in all_trees(n):
        kept = learnable_heads(np.array(heads), projective=True, root="single")
        if projective_tree(heads) and heads.count(0) == 1:
            assert kept.tolist() == list(heads)
        assert any(
            projective_tree(tree)
            and tree.count(0) == 1
            and all(k in (-1, h) for k, h in zip(kept.tolist(), tree, strict=True))
            for tree in all_trees(n)
        )
