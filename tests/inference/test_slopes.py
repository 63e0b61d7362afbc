"""Hessian-vector products of longer sentences, against implementations that go other ways."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.precise_matrix_tree import precise_derivatives

from crossarc import ProjectiveTrees, SpanningTrees

Floats = NDArray[np.float64]


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("sd", [1.0, 30.0, 100.0, 300.0])
def test_against_an_inverse_of_two_thousand_digits(root: Any, forbidden: float, sd: float) -> None:
    chance = np.random.default_rng(int(sd))
    scores = chance.normal(0.0, sd, (11, 11))
    scores[1:][chance.random((10, 11)) < forbidden] = -np.inf
    trees = SpanningTrees(scores, root=root)
    for direction, scale in ((chance.normal(size=(11, 11)), 10.0), (scores, 10.0 * sd)):
        expected, rarity = precise_derivatives(scores, root, direction)
        error = np.abs(trees.hessian_product(direction) - expected)
        assert (error <= 1e-14 * scale * rarity + 1e-300).all(), (error / (rarity + 1e-300)).max()


def joint_covariances(trees: Any, direction: Floats) -> Floats:
    """P(a, b) - P(a) P(b) for each pair of arcs, by constraining sums to both."""
    marginals = trees.marginals()
    n = len(marginals) - 1
    arcs = [(h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m]
    slopes = np.zeros(marginals.shape)
    for h, m in arcs:
        for g, k in arcs:
            both = 0.0 if k == m else math.exp(trees.log_prob(heads={m: h, k: g}))
            both = marginals[h, m] if (g, k) == (h, m) else both
            slopes[h, m] += (both - marginals[h, m] * marginals[g, k]) * direction[g, k]
    return slopes


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("kind", ["spanning", "projective", "sibling"])
def test_against_pairs_of_arcs(kind: str, root: Any) -> None:
    chance = np.random.default_rng(3)
    scores, direction = chance.normal(size=(7, 7)), chance.normal(size=(7, 7))
    trees: Any = SpanningTrees(scores, root=root)
    if kind != "spanning":
        sibling = chance.normal(size=(7, 7, 7)) if kind == "sibling" else None
        trees = ProjectiveTrees(scores, root=root, sibling=sibling)
    expected = joint_covariances(trees, direction)
    np.testing.assert_allclose(trees.hessian_product(direction), expected, atol=1e-13)


def test_root_arcs_of_a_single_root_do_not_vary() -> None:
    """Exactly one of them is in each tree."""
    scores = np.random.default_rng(0).normal(0.0, 5.0, (12, 12))
    at_root = np.zeros((12, 12))
    at_root[0] = 1.0
    for trees in (SpanningTrees(scores), ProjectiveTrees(scores)):
        assert trees.variance(at_root) == pytest.approx(0.0, abs=1e-14)
    assert SpanningTrees(scores, root="multi").variance(at_root) > 1e-6


def test_of_a_long_sentence_that_float64_could_not_hold() -> None:
    """A drift of ten a word: weights leave float64, and only neighbouring arcs compete."""
    n = 80
    heads, words = np.indices((n + 1, n + 1))
    scores = 10.0 * heads - 3.0 * np.abs(heads - words)
    trees = SpanningTrees(scores, root="multi")
    direction = np.random.default_rng(1).normal(size=scores.shape)
    slopes = trees.hessian_product(direction)
    step = 1e-4
    ends = [
        SpanningTrees(scores + sign * step * direction, root="multi").log_marginals()
        for sign in (1, -1)
    ]
    likely = trees.marginals() > 1e-200
    expected = (ends[0][likely] - ends[1][likely]) / (2 * step)
    np.testing.assert_allclose(
        slopes[likely] / trees.marginals()[likely], expected, rtol=1e-5, atol=1e-6
    )
