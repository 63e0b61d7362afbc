"""Max-marginals of longer sentences against the best tree under each constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crossarc import InfeasibleError, SpanningTrees, constrain

ROOTS = ["single", "multi"]


def by_constraints(scores: np.ndarray, root: Any) -> np.ndarray:
    """One search for the best tree an arc."""
    out = np.full(scores.shape, -np.inf)
    for cell in np.ndindex(scores.shape):
        h, m, *label = cell
        if m == 0 or h == m or scores[cell] == -np.inf:
            continue
        fixed = constrain(scores, heads={m: h}, labels={m: label[0]} if label else None)
        try:
            out[cell] = SpanningTrees(fixed, root=root).argmax().score
        except InfeasibleError:
            continue
    return out


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("seed", range(12))
def test_whole_numbers(seed: int, root: Any) -> None:
    """Many ties, sums are exact; more and more arcs are forbidden."""
    rng = np.random.default_rng(seed)
    n = 6 + seed
    scores = rng.integers(-6, 7, (n + 1, n + 1)).astype(float)
    forbidden = rng.random(scores.shape) < seed / 20
    forbidden[np.arange(n), np.arange(1, n + 1)] = False
    scores[forbidden] = -np.inf
    found = SpanningTrees(scores, root=root).max_marginals()
    np.testing.assert_array_equal(found, by_constraints(scores, root))


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize(("sd", "labels"), [(1.0, None), (1000.0, None), (1.0, 3)])
def test_random_scores(sd: float, labels: int | None, root: Any) -> None:
    shape = (16, 16) if labels is None else (9, 9, labels)
    scores = np.random.default_rng(4).normal(scale=sd, size=shape)
    found = SpanningTrees(scores, root=root).max_marginals()
    np.testing.assert_allclose(found, by_constraints(scores, root), rtol=0.0, atol=1e-12 * sd)
    best = SpanningTrees(scores, root=root).argmax()
    assert found.max() == best.score


def test_scores_whose_sums_overflow() -> None:
    scores = np.random.default_rng(0).choice([-1e308, -1.0, 1e307], size=(6, 6))
    trees = SpanningTrees(scores)
    found = trees.max_marginals()
    expected = by_constraints(scores, "single")
    usable = np.isfinite(expected)
    assert usable.sum() > 5
    np.testing.assert_allclose(found[usable], expected[usable], rtol=1e-14)
    assert not np.isnan(found).any()
