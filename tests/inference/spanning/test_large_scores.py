"""Scores of any size: right digits up to 1e12, refused beyond, best trees always."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import BruteForce

from crossarc import ScoreError, SpanningTrees, Tree


@given(
    st.integers(1, 4),
    st.integers(5, 11),
    st.floats(0, 0.5),
    st.sampled_from(["single", "multi"]),
    st.integers(0, 10**6),
)
def test_digits_at_large_scores(n: int, power: int, forbidden: float, root: str, seed: int) -> None:
    """Large steps plus small differences, which alone decide the probabilities."""
    rng = np.random.default_rng(seed)
    shape = (n + 1, n + 1)
    scores = rng.choice([-1.0, 0.0, 1.0], shape) * 10.0**power + rng.normal(0, 2, shape)
    scores[rng.random(shape) < forbidden] = -np.inf
    truth, trees = BruteForce(scores, root), SpanningTrees(scores, root=root)
    if not truth.trees:
        assert trees.log_partition() == -math.inf
        return
    expected = truth.log_partition()
    assert trees.log_partition() == pytest.approx(expected, rel=1e-13, abs=1e-13)
    marginals = truth.marginals
    large = marginals >= 1e-290
    np.testing.assert_allclose(trees.marginals()[large], marginals[large], rtol=1e-12)


def test_too_large_for_sums() -> None:
    scores = np.zeros((4, 4))
    scores[1, 2] = 1e15
    with pytest.raises(ScoreError, match="scores beyond 1e12 cannot be summed over"):
        SpanningTrees(scores).log_partition()
    with pytest.raises(ScoreError, match="sentence 1: scores beyond"):
        SpanningTrees([np.zeros((4, 4)), -scores]).marginals()
    best = SpanningTrees(scores, root="multi").argmax()
    assert best == Tree([0, 1, 0])
    assert best.score == 1e15
