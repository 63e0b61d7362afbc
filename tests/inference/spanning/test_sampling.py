"""Random spanning trees, with and without replacement, against exact probabilities."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.brute_force import BruteForce
from support.frequencies import (
    assert_distribution,
    assert_frequencies,
    assert_order_beside_a_tree_with_all_the_mass,
)
from support.law_base import key_of

from crossarc import InfeasibleError, ScoreError, SpanningTrees
from crossarc.inference.spanning.sampling import sampler
from crossarc.inference.spanning.sampling.wilson import expected_steps
from crossarc.inference.spanning.sampling.without_replacement import trees_without_replacement

ROOTS = ["single", "multi"]
NO_LABELS = np.empty((0, 0))


@pytest.fixture(params=["insertion", "walks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Each way of drawing by itself, whatever it costs."""
    worth = math.inf if request.param == "insertion" else 0
    monkeypatch.setattr(sampler, "_WORTH_ASKING", worth)
    monkeypatch.setattr(sampler, "_FEW_STEPS", math.inf)
    return request.param


def scores_of(n: int, labels: int | None = None, scale: float = 1.0) -> np.ndarray:
    shape = (n + 1, n + 1) if labels is None else (n + 1, n + 1, labels)
    return np.random.default_rng(n).normal(0, scale, shape)


def assert_drawn(scores: np.ndarray, root: str) -> None:
    assert_frequencies(SpanningTrees(scores, root=root), BruteForce(scores, root))


class TestWithReplacement:
    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize(
        ("n", "labels"), [(1, None), (2, None), (3, None), (4, None), (5, None), (1, 3), (3, 2)]
    )
    def test_frequencies(self, n: int, labels: int | None, root: str, way: str) -> None:
        assert_drawn(scores_of(n, labels), root)

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("seed", range(6))
    def test_frequencies_with_forbidden_arcs(self, seed: int, root: str, way: str) -> None:
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(5, 5))
        scores[rng.random((5, 5)) < 0.4] = -np.inf
        if BruteForce(scores, root).feasible:
            assert_drawn(scores, root)
        else:
            with pytest.raises(InfeasibleError):
                SpanningTrees(scores, root=root).sample(1)

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
    def test_frequencies_at_large_scores(self, size: float, root: str) -> None:
        """Large steps, the same in many trees, plus small differences, which decide."""
        rng = np.random.default_rng(3)
        scores = rng.choice([-1.0, 0.0], (5, 5)) * size + rng.normal(size=(5, 5))
        best, second = BruteForce(scores, root).tree_scores()[:2]
        assert best - second < 3.0
        assert_drawn(scores, root)

    @pytest.mark.parametrize("n", [5, 40])
    def test_a_drifting_chain(self, n: int) -> None:
        """Neighbours only, each step right weighs e^300; root scores make all roots alike."""
        scores = np.full((n + 1, n + 1), -np.inf)
        words = np.arange(1, n)
        scores[words, words + 1], scores[words + 1, words] = 300.0, 0.0
        scores[0, 1:] = 300.0 * np.arange(n)
        assert expected_steps(scores, NO_LABELS, True, np.zeros(n)) > 1e300
        drawn = SpanningTrees(scores).sample(400 * n, seed=2)
        roots = Counter(int(np.flatnonzero(tree.heads == 0)[0]) for tree in drawn)
        assert_distribution([roots[r] for r in range(n)], [1 / n] * n)
        for tree in drawn[:50]:
            root = int(np.flatnonzero(tree.heads == 0)[0]) + 1
            expected = [m + 1 if m < root else m - 1 for m in range(1, n + 1)]
            expected[root - 1] = 0
            assert tree.heads.tolist() == expected

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("sd", [0.0, 1.0, 3.0])
    def test_marginals_of_long_sentences(self, sd: float, root: str, way: str) -> None:
        self.assert_marginals(sd, root)

    @pytest.mark.parametrize("root", ROOTS)
    def test_marginals_at_large_scores(self, root: str) -> None:
        self.assert_marginals(1000.0, root)

    def assert_marginals(self, sd: float, root: str) -> None:
        """The share of each arc, within six standard errors of its marginal."""
        scores = np.random.default_rng(5).normal(scale=sd, size=(26, 26))
        trees = SpanningTrees(scores, root=root)
        draws = 4_000
        shares = np.zeros((26, 26))
        for tree in trees.sample(draws, seed=4):
            shares[tree.heads, np.arange(1, 26)] += 1 / draws
            assert root == "multi" or tree.is_single_root
        exact = trees.marginals()
        error = np.sqrt(exact * (1 - exact) / draws)
        assert (np.abs(shares - exact) <= 6 * error + 10 / draws).all()
        assert not shares[exact == 0.0].any()

    def test_scores_of_samples(self) -> None:
        for labels in (None, 2):
            trees, truth = SpanningTrees(scores_of(3, labels)), BruteForce(scores_of(3, labels))
            for tree in trees.sample(20, seed=0):
                found = truth.find(*key_of(tree))
                assert found is not None
                assert tree.score == pytest.approx(truth.score(found), abs=1e-14)
                assert tree.is_optimal is None


class TestExpectedSteps:
    """The trace of the inverse of I - P, P the steps between nodes before the end of the walk."""

    def exact(self, weights: np.ndarray, end: int) -> float:
        inner = [x for x in range(len(weights)) if x != end and weights[:, x].any()]
        steps = weights / np.where(weights.any(axis=0), weights.sum(axis=0), 1.0)
        kept = steps[np.ix_(inner, inner)]
        return float(np.trace(np.linalg.inv(np.eye(len(inner)) - kept)))

    def weights(self, scores: np.ndarray) -> np.ndarray:
        weights = np.exp(scores)
        weights[:, 0] = 0.0
        np.fill_diagonal(weights, 0.0)
        return weights

    @pytest.mark.parametrize("n", [1, 2, 5, 12])
    def test_several_roots(self, n: int) -> None:
        scores = scores_of(n, scale=2.0)
        scores = SpanningTrees(scores)._batch.square(0)
        expected = self.exact(self.weights(scores), 0)
        assert expected_steps(scores, NO_LABELS, False, np.zeros(n)) == pytest.approx(expected)

    @pytest.mark.parametrize("n", [2, 5, 12])
    def test_a_bound_for_one_root(self, n: int) -> None:
        trees = SpanningTrees(scores_of(n, scale=2.0))
        scores, roots = trees._batch.square(0), np.zeros(n)
        bound = expected_steps(scores, NO_LABELS, True, roots)
        np.testing.assert_allclose(roots, trees.marginals()[0, 1:], rtol=1e-12)
        between = self.weights(scores)
        between[0] = 0.0
        exact = sum(p * self.exact(between, r) for r, p in enumerate(roots, 1))
        assert exact <= bound * (1 + 1e-12)
        assert bound <= 8 * exact

    def test_two_words_that_prefer_each_other(self) -> None:
        """From word 1 or 2 the walk comes to the root once in 1 + e^20 steps."""
        scores = SpanningTrees(np.array([[0, 0, 0], [0, 0, 20], [0, 20, 0.0]]))._batch.square(0)
        steps = expected_steps(scores, NO_LABELS, False, np.zeros(2))
        assert steps == pytest.approx(math.exp(20), rel=1e-6)


class TestWithoutReplacement:
    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize(("n", "labels"), [(1, None), (2, 2), (4, None), (1, 3)])
    @pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
    def test_every_tree_comes_once(
        self, n: int, labels: int | None, root: str, scale: float
    ) -> None:
        scores = scores_of(n, labels, scale)
        truth = BruteForce(scores, root)
        trees = SpanningTrees(scores, root=root)
        found = [key_of(tree) for tree in trees.sample(10_000, seed=3, replace=False)]
        assert len(found) == len(set(found)) == len(truth.trees)
        assert set(found) == {tree.key for tree in truth.trees}
        nearly = trees.sample(len(found) - 1, seed=3, replace=False) if len(found) > 1 else []
        assert len(set(map(key_of, nearly))) == len(found) - 1

    def test_forbidden_arcs(self) -> None:
        scores = scores_of(4)
        scores[[0, 0, 2, 3], [1, 2, 4, 1]] = -np.inf
        for root in ROOTS:
            found = SpanningTrees(scores, root=root).sample(500, seed=0, replace=False)
            assert {*map(key_of, found)} == {tree.key for tree in BruteForce(scores, root).trees}

    def assert_order(self, drawn: Counter[tuple[Any, ...]], truth: BruteForce, draws: int) -> None:
        """The first two: p1 p2 / (1 - p1)."""
        probability = {t.key: math.exp(truth.log_prob(t.heads, t.labels)) for t in truth.trees}
        pairs = list(itertools.permutations(probability, 2))
        expected = [probability[a] * probability[b] / (1.0 - probability[a]) for a, b in pairs]
        assert math.fsum(expected) == pytest.approx(1.0)
        common = [place for place, share in enumerate(expected) if share * draws > 8]
        seen = [drawn[pairs[place]] for place in common]
        shares = [expected[place] for place in common]
        assert_distribution([*seen, draws - sum(seen)], [*shares, max(1.0 - sum(shares), 0.0)])

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize(("n", "labels"), [(3, None), (2, 2)])
    def test_order_of_draws(self, n: int, labels: int | None, root: str) -> None:
        scores = scores_of(n, labels)
        trees, draws = SpanningTrees(scores, root=root), 5_000
        drawn: Counter[tuple[Any, ...]] = Counter()
        for seed in range(draws):
            drawn[tuple(map(key_of, trees.sample(2, seed=seed, replace=False)))] += 1
        self.assert_order(drawn, BruteForce(scores, root), draws)

    @pytest.mark.parametrize("root", ROOTS)
    def test_order_of_draws_word_by_word(self, root: str) -> None:
        scores = scores_of(3)
        truth, draws = BruteForce(scores, root), 5_000
        arcs = SpanningTrees(scores)._batch.square(0)
        rng = np.random.default_rng(1)
        drawn: Counter[tuple[Any, ...]] = Counter()
        for _ in range(draws):
            found = trees_without_replacement(arcs, NO_LABELS, None, root == "single", rng)
            first, second = itertools.islice(found, 2)
            drawn[(tuple(first.tolist()), None), (tuple(second.tolist()), None)] += 1
        self.assert_order(drawn, truth, draws)

    def test_when_one_tree_has_all_the_mass(self) -> None:
        assert_order_beside_a_tree_with_all_the_mass(SpanningTrees)

    def test_many_from_a_long_sentence(self) -> None:
        """The first is drawn like any tree; trees that are nearly all of the mass come early."""
        scores = np.random.default_rng(0).normal(scale=12.0, size=(13, 13))
        trees = SpanningTrees(scores)
        found = trees.sample(300, seed=1, replace=False)
        assert len({key_of(tree) for tree in found}) == 300
        best = list(trees.kbest(5))
        assert sum(math.exp(trees.log_prob(tree)) for tree in best) > 0.4
        assert set(best) <= set(found[:200])


def test_seeds() -> None:
    scores = np.random.default_rng(0).normal(size=(9, 9))
    trees = SpanningTrees(scores)
    for replace, k in itertools.product((True, False), (8, 200)):
        again = trees.sample(k, seed=5, replace=replace)
        assert again == trees.sample(k, seed=5, replace=replace)
        assert again != trees.sample(k, seed=6, replace=replace)
        assert trees.sample(k, replace=replace) != trees.sample(k, replace=replace)
    # Each sentence of a batch has its own stream, the first that of a sentence alone.
    for replace in (True, False):
        batch = SpanningTrees([scores, scores]).sample(8, seed=5, replace=replace)
        assert batch[0] == trees.sample(8, seed=5, replace=replace) != batch[1]
        for threads in (1, 2):
            again = SpanningTrees([scores, scores], threads=threads)
            assert again.sample(8, seed=5, replace=replace) == batch
    assert SpanningTrees([]).sample(3) == []


def test_the_way_is_chosen_by_the_expected_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flat scores have short walks; those of two words that prefer each other are endless."""
    asked: list[bool] = []
    known = sampler.Sampler._short_walks

    def note(self: sampler.Sampler, k: int) -> Any:
        asked.append(known(self, k) is not None)
        return known(self, k)

    monkeypatch.setattr(sampler.Sampler, "_short_walks", note)
    flat = np.zeros((11, 11))
    stiff = flat.copy()
    stiff[1, 2] = stiff[2, 1] = 40.0
    for scores, k in ((flat, 500), (flat, 5), (stiff, 500)):
        SpanningTrees(scores, root="multi").sample(k, seed=0)
    assert asked == [True, False, False]


def test_refusals() -> None:
    trees = SpanningTrees(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="k must be at least 1: got 0"):
        trees.sample(0)
    impossible = np.full((3, 3), -np.inf)
    for replace in (True, False):
        with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
            SpanningTrees([np.zeros((3, 3)), impossible]).sample(2, seed=0, replace=replace)
    huge = np.full((3, 3), 1e15)
    with pytest.raises(ScoreError, match="scores beyond 1e12"):
        SpanningTrees(huge).sample(1)
