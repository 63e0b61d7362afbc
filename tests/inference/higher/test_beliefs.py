"""Belief propagation against sums over the list of all trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.crossing import EnumeratedTrees, drawn_case
from support.higher_order import ORDERS, SUBSETS

import crossarc as ca
from crossarc.inference.higher.beliefs import projective_factor, propagate

ROOTS = ["single", "multi"]


@pytest.mark.parametrize("root", ROOTS)
def test_arcs_only_are_exact(root: str) -> None:
    scores = np.random.default_rng(1).normal(0, 3, (7, 7))
    trees, exact = ca.HigherOrderTrees(scores, root=root), ca.SpanningTrees(scores, root=root)
    assert trees.log_partition() == pytest.approx(exact.log_partition(), abs=1e-12)
    np.testing.assert_allclose(trees.marginals(), exact.marginals(), atol=1e-12)
    assert trees.min_risk() == exact.min_risk()


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS[1:], ids="-".join)
def test_factors_without_scores_change_nothing(names: Any, root: str) -> None:
    """Automata do not repeat what the tree factor says."""
    rng = np.random.default_rng(len(names))
    scores, factors = drawn_case(rng, 5, names, 0.0, forbidden=0.3)
    trees = ca.HigherOrderTrees(scores, root=root, **factors)
    exact = ca.SpanningTrees(scores, root=root)
    assert trees.log_partition() == pytest.approx(exact.log_partition(), abs=1e-9)
    np.testing.assert_allclose(trees.marginals(), exact.marginals(), atol=1e-9)
    assert trees.convergence().converged


@pytest.mark.parametrize("root", ROOTS)
def test_without_a_loop_it_is_exact(root: str) -> None:
    """Each word has one head but word 3, so each factor sees at most one arc that is not certain.

    With a grandparent the automata of 3's heads and of 3 see two or more; siblings have no loop.
    """
    scores = np.full((5, 5), -np.inf)
    scores[0, 1], scores[1, 2], scores[1, 3], scores[2, 3], scores[2, 4] = 0.3, 0.1, 0.7, -0.4, 1.0
    rng = np.random.default_rng(4)
    for names in (["sibling"], ["sibling", "tri_sibling"]):
        factors = {name: rng.normal(size=(5,) * ORDERS[name]) for name in names}
        truth = EnumeratedTrees(scores, root, factors)
        assert len(truth) == 2
        trees = ca.HigherOrderTrees(scores, root=root, **factors)
        assert trees.log_partition() == pytest.approx(truth.log_partition(), abs=1e-9)
        np.testing.assert_allclose(trees.marginals(), truth.marginals(), atol=1e-9)


@pytest.mark.parametrize("root", ROOTS)
def test_errors_are_small_for_weak_factors(root: str) -> None:
    """Standard deviation of arcs 1, of factors 0.1: mean and largest error over 32 sentences."""
    rng, errors, totals = np.random.default_rng(6), [], []
    for names in SUBSETS[1:] + SUBSETS[1:]:
        scores, factors = drawn_case(rng, 5, names, 0.1)
        truth = EnumeratedTrees(scores, root, factors)
        trees = ca.HigherOrderTrees(scores, root=root, **factors)
        assert trees.convergence().converged
        marginals = trees.marginals()
        np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-12)
        errors.append(np.abs(marginals - truth.marginals()))
        totals.append(abs(trees.log_partition() - truth.log_partition()))
    assert np.mean(errors) < 0.005
    assert np.max(errors) < 0.06
    assert np.mean(totals) < 0.02


@pytest.mark.parametrize("root", ROOTS)
def test_parts(root: str) -> None:
    """Beliefs of parts, dense and listed, against the list of trees; weak factors."""
    rng = np.random.default_rng(8)
    names = tuple(ORDERS)
    scores, factors = drawn_case(rng, 4, names, 0.05)
    scores[:, 1:] += 6.0 * np.eye(5)[:, :4]  # nearly certain arcs: hardly any loop matters
    truth = EnumeratedTrees(scores, root, factors)
    trees = ca.HigherOrderTrees(scores, root=root, **factors)
    for name in names:
        found = trees.marginals(name)
        np.testing.assert_allclose(found, truth.part_marginals(name), atol=0.02)
        index = np.argwhere(truth.part_marginals(name) > 0)
        listed = ca.Parts(index, factors[name][tuple(index.T)])
        own = ca.HigherOrderTrees(scores, root=root, **{**factors, name: listed})
        np.testing.assert_allclose(own.marginals(name), found[tuple(index.T)], atol=1e-9)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize(("scale", "tolerance"), [(0.0, 1e-9), (0.1, 0.05)])
def test_projective_tree_factor(scale: float, tolerance: float, root: Any) -> None:
    """With inside and outside sums for the tree factor, beliefs are those of projective trees.

    Factors without scores change nothing, weak ones leave a small error.
    """
    rng = np.random.default_rng(9)
    scores, factors = drawn_case(rng, 6, ["sibling", "grandchild"], scale)
    trees = ca.HigherOrderTrees(scores, root=root, **factors)
    tables = {name: one.table(0) for name, one in trees._factors.items()}
    scores = trees._batch.square(0)
    found = propagate(trees._problem(0), scores, tables, projective_factor)
    exact = ca.ProjectiveTrees(scores, root=root, **factors)
    assert found.log_partition == pytest.approx(exact.log_partition(), abs=tolerance)
    np.testing.assert_allclose(found.arcs, exact.marginals(), atol=tolerance)
    crossing = ca.SpanningTrees(scores, root=root)
    assert np.abs(found.arcs - crossing.marginals()).max() > 0.05


def test_labels_share_the_marginals_of_arcs() -> None:
    rng = np.random.default_rng(10)
    scores, sibling = rng.normal(size=(4, 4, 3)), rng.normal(0, 0.1, (4, 4, 4))
    trees = ca.HigherOrderTrees(scores, sibling=sibling)
    summed = ca.HigherOrderTrees(np.logaddexp.reduce(scores, axis=2), sibling=sibling)
    np.testing.assert_allclose(trees.marginals().sum(axis=2), summed.marginals(), atol=1e-10)
    assert trees.log_partition() == pytest.approx(summed.log_partition())
    labels = trees.marginals()[2, 1] / trees.marginals()[2, 1].sum()
    expected = np.exp(scores[2, 1] - np.logaddexp.reduce(scores[2, 1]))
    np.testing.assert_allclose(labels, expected, atol=1e-12)
    gains = trees.marginals().max(axis=2)
    listed = EnumeratedTrees(np.zeros((4, 4)), "single", {}).heads
    most = max(gains[heads, [1, 2, 3]].sum() for heads in listed)
    assert gains[trees.min_risk().heads, [1, 2, 3]].sum() == pytest.approx(most)
