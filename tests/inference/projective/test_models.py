"""Relations between models: sibling and first order, projective and all; the notes' example."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import BruteForce, projective_tree

from crossarc import InfeasibleError, ProjectiveTrees, SpanningTrees, Tree, projective_log_prob
from crossarc.inference.forest import Forest
from crossarc.inference.forest.arrays import add, close, open_chart, trimmed
from crossarc.inference.forest.inside import log_total
from crossarc.inference.projective.first_order.rules import add_arcs

ROOTS = st.sampled_from(["single", "multi"])
SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.sampled_from([1.0, 10.0, 1000.0])


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, shape)


def test_an_arc_over_the_first_item_of_a_chart() -> None:
    """One word with three labels, one of them forbidden: log(e^1 + e^2)."""

    @numba.njit
    def build(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        chart = open_chart(2, 4)
        add(chart, -1, -1, -1)
        return trimmed(chart, add_arcs(chart, scores, 0, 1, close(chart)))

    scores = np.full((2, 2, 3), -np.inf)
    scores[0, 1] = 1.0, -np.inf, 2.0
    first, left, right, part = build(scores)
    assert (first.tolist(), part.tolist()) == ([0, 1, 3], [-1, 3, 5])
    assert (left.tolist(), right.tolist()) == ([-1, 0, 0], [-1, -1, -1])
    arrays = first, left, right, part, scores.ravel()
    for array in arrays:
        array.flags.writeable = False
    assert sum(log_total(Forest(*arrays))) == pytest.approx(math.log(math.e + math.e**2))


@given(st.integers(1, 20), ROOTS, SCALES, SEEDS)
def test_sibling_factors_of_zero_are_first_order(n: int, root: str, scale: float, seed: int):
    scores = normal(seed, n + 1, n + 1, scale=scale)
    first = ProjectiveTrees(scores, root=root)
    second = ProjectiveTrees(scores, root=root, sibling=np.zeros((n + 1,) * 3))
    assert second.log_partition() == pytest.approx(first.log_partition(), rel=1e-14)
    np.testing.assert_allclose(
        second.log_marginals(), first.log_marginals(), rtol=1e-12, atol=1e-12
    )
    assert second.argmax() == first.argmax()
    assert second.entropy() == pytest.approx(first.entropy(), rel=1e-12, abs=1e-300)
    assert 0.0 <= first.kl(second) < 1e-12
    assert [t.score for t in second.kbest(5)] == [t.score for t in first.kbest(5)]
    # Each arc has one sibling part.
    parts = second.marginals("sibling").sum(axis=1)
    np.testing.assert_allclose(parts, first.marginals(), rtol=1e-12, atol=1e-300)


@given(st.integers(1, 20), ROOTS, SCALES, SEEDS)
def test_all_trees_include_the_projective_ones(n: int, root: str, scale: float, seed: int):
    scores = normal(seed, n + 1, n + 1, scale=scale)
    every, some = SpanningTrees(scores, root=root), ProjectiveTrees(scores, root=root)
    assert some.log_partition() <= every.log_partition() + 1e-13 * abs(every.log_partition())
    best = every.argmax()
    rounding = 1e-13 * np.abs(scores).max() * n
    assert some.argmax().score <= best.score + rounding
    if best.is_projective:
        assert some.argmax() == best
    share = projective_log_prob(scores, root=root)
    assert share <= 0.0
    assert some.log_prob(best) == (
        pytest.approx(every.log_prob(best) - share, rel=1e-12, abs=1e-12)
        if best.is_projective
        else -math.inf
    )


def test_a_projective_best_tree() -> None:
    """In case random scores never have one: arcs of a projective tree, far above the others."""
    heads = [2, 0, 5, 5, 2, 5]
    scores = normal(0, 7, 7)
    scores[heads, range(1, 7)] += 50.0
    assert SpanningTrees(scores).argmax() == ProjectiveTrees(scores).argmax() == Tree(heads)


@given(st.integers(1, 5), ROOTS, SCALES, SEEDS)
def test_probability_that_a_tree_is_projective(n: int, root: str, scale: float, seed: int) -> None:
    scores = normal(seed, n + 1, n + 1, scale=scale)
    every = BruteForce(scores, root)
    members = [i for i, tree in enumerate(every.trees) if projective_tree(tree.heads)]
    expected = every._log_share(members)
    tolerance = 1e-13 * max(1.0, abs(expected))
    assert projective_log_prob(scores, root=root) == pytest.approx(expected, abs=tolerance)


def test_probability_of_projectivity_of_batches() -> None:
    """With scores of zero: projective trees over all trees, 30 / 64 of four words."""
    zeros = [np.zeros((n + 1, n + 1)) for n in (2, 4)]
    assert projective_log_prob(zeros) == pytest.approx([0.0, math.log(30 / 64)], abs=1e-15)
    padded = np.zeros((2, 5, 5))
    assert projective_log_prob(padded, lengths=[2, 4], threads=1) == projective_log_prob(zeros)
    crossing = np.full((5, 5), -np.inf)
    crossing[[3, 0, 2, 2], [1, 2, 3, 4]] = 0.0  # 3 -> 1 passes over 2, which is not below 3
    assert projective_log_prob(crossing) == -math.inf
    with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
        projective_log_prob([zeros[0], np.full((3, 3), -np.inf)])


def test_the_example_of_the_notes() -> None:
    """Nivre's notes, Figure 1 and equation (6): She sent him a message by email .

    Sixteen scores, eight of arcs and eight of siblings, (message, -, a) where (message, -, by) is
    printed.
    """
    she, sent, him, a, message, by, email, stop = range(1, 9)
    heads = [sent, 0, sent, message, sent, sent, by, sent]
    arcs = [(0, sent), (sent, she), (sent, him), (sent, message), (sent, by), (sent, stop)]
    arcs += [(message, a), (by, email)]
    siblings = [(0, 0, sent), (sent, sent, she), (sent, sent, him), (sent, him, message)]
    siblings += [(sent, message, by), (sent, by, stop), (message, message, a), (by, by, email)]
    scores, factor = np.zeros((9, 9)), np.zeros((9, 9, 9))
    for bit, arc in enumerate(arcs):
        scores[arc] = 2.0**bit
    for bit, part in enumerate(siblings, 8):
        factor[part] = 2.0**bit
    trees = ProjectiveTrees(scores, sibling=factor)
    best = trees.argmax()
    assert best == Tree(heads)
    assert best.score == 2.0**16 - 1
    assert trees.log_prob(best) == pytest.approx(0.0, abs=1e-15)
    assert set(zip(*np.nonzero(trees.marginals("sibling") > 0.5), strict=True)) == set(siblings)


@given(st.integers(2, 5), ROOTS, st.sampled_from([1.0, 10.0]), SEEDS)
def test_divergence_of_first_order_from_sibling(n: int, root: str, scale: float, seed: int) -> None:
    """By the list of all trees; the divergence is between distributions of two models."""
    scores = normal(seed, n + 1, n + 1, scale=scale)
    factor = normal(seed + 1, n + 1, n + 1, n + 1, scale=scale)
    first = ProjectiveTrees(scores, root=root)
    second = ProjectiveTrees(scores, root=root, sibling=factor)
    truth = [BruteForce(scores, root, projective_tree, one) for one in (None, factor)]
    for (p, q), (p_truth, q_truth) in (
        ((first, second), (truth[0], truth[1])),
        ((second, first), (truth[1], truth[0])),
    ):
        divergence = p_truth.kl(q_truth)
        assert p.kl(q) == pytest.approx(divergence, rel=1e-12, abs=1e-12)
        expected = p_truth.cross_entropy(q_truth)
        assert p.cross_entropy(q) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert p.entropy() == pytest.approx(p_truth.entropy(), rel=1e-12, abs=1e-12)


@settings(max_examples=20)
@given(st.integers(6, 12), ROOTS, SEEDS)
def test_divergence_of_longer_sentences(n: int, root: str, seed: int) -> None:
    """The mean of log p - log q over samples of p, within six standard errors."""
    scores, factor = normal(seed, n + 1, n + 1), normal(seed + 1, n + 1, n + 1, n + 1)
    p = ProjectiveTrees(scores, root=root)
    q = ProjectiveTrees(scores, root=root, sibling=factor)
    gains = [p.log_prob(tree) - q.log_prob(tree) for tree in p.sample(500, seed=seed)]
    error = np.std(gains) / math.sqrt(len(gains))
    assert abs(p.kl(q) - np.mean(gains)) <= 6.0 * error


def test_sparse_scores_make_small_forests() -> None:
    """Three heads a word: the chart shrinks with them, and nothing useless stays."""
    n = 40
    scores = normal(0, n + 1, n + 1)
    full = ProjectiveTrees(scores)._forest(0)
    lost = np.argsort(-scores[:, 1:], axis=0)[3:]
    scores[lost, np.arange(1, n + 1)] = -np.inf
    scores[np.arange(n), np.arange(1, n + 1)] = 0.0  # the chain is a tree
    forest = ProjectiveTrees(scores)._forest(0)
    assert len(forest.left) < len(full.left) / 8
    kept = np.isfinite(ProjectiveTrees(scores).max_marginals())
    assert sorted(set(forest.part[forest.part >= 0])) == np.flatnonzero(kept).tolist()
