"""SpanningTrees: the laws, the papers' algorithms, counts and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import matrix_tree_reference as papers
from support.brute_force import BruteForce
from support.law_base import assert_marginals
from support.laws import DistributionLaws

from crossarc import ScoreError, SpanningTrees, Tree

ROOTS = ["single", "multi"]


class TestSpanningTrees(DistributionLaws):
    def distribution(self, scores: Any, root: str = "single", **options: Any) -> SpanningTrees:
        return SpanningTrees(scores, root=root, **options)


def normal_scores(seed: int, n: int, labels: int | None = None) -> np.ndarray:
    shape = (n + 1, n + 1) if labels is None else (n + 1, n + 1, labels)
    return np.random.default_rng(seed).normal(size=shape)


class TestPapers:
    """Determinants lose a few digits themselves, hence 1e-10."""

    @given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([None, 1, 3]))
    def test_multi_root(self, seed: int, n: int, labels: int | None) -> None:
        scores = normal_scores(seed, n, labels)
        trees = SpanningTrees(scores, root="multi")
        total = math.exp(trees.log_partition())
        assert total == pytest.approx(papers.mcdonald_satta_partition(scores), rel=1e-10)
        assert total == pytest.approx(papers.koo_partition(scores, "multi"), rel=1e-10)
        marginals = trees.marginals()
        np.testing.assert_allclose(marginals, papers.koo_marginals(scores, "multi"), atol=1e-10)

    @given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([None, 1, 3]))
    def test_single_root(self, seed: int, n: int, labels: int | None) -> None:
        scores = normal_scores(seed, n, labels)
        trees = SpanningTrees(scores, root="single")
        total = math.exp(trees.log_partition())
        assert total == pytest.approx(papers.koo_partition(scores, "single"), rel=1e-10)
        assert total == pytest.approx(papers.naive_single_root_partition(scores), rel=1e-10)
        marginals = trees.marginals()
        np.testing.assert_allclose(marginals, papers.koo_marginals(scores, "single"), atol=1e-10)

    @pytest.mark.parametrize("labels", [None, 2])
    @pytest.mark.parametrize("n", [2, 7, 12])
    def test_the_quintic_algorithm(self, n: int, labels: int | None) -> None:
        scores = normal_scores(n, n, labels)
        marginals = SpanningTrees(scores, root="multi").marginals()
        expected = papers.mcdonald_satta_marginals(scores)
        np.testing.assert_allclose(marginals, expected, atol=1e-11)


class TestCounts:
    """Scores of zero count trees: (n + 1)^(n - 1) with several roots, n^(n - 1) with one."""

    @pytest.mark.parametrize("labels", [None, 1, 4])
    @pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 150])
    def test_numbers_of_trees(self, n: int, labels: int | None) -> None:
        scores = np.zeros((n + 1, n + 1) if labels is None else (n + 1, n + 1, labels))
        labellings = n * math.log(labels or 1)
        multi, single = (SpanningTrees(scores, root=root) for root in ("multi", "single"))
        several = (n - 1) * math.log(n + 1) + labellings
        one = (n - 1) * math.log(n) + labellings
        assert multi.log_partition() == pytest.approx(several, rel=1e-14, abs=1e-15)
        assert single.log_partition() == pytest.approx(one, rel=1e-14, abs=1e-15)
        assert multi.entropy() == pytest.approx(several, rel=1e-13, abs=1e-13)
        assert single.entropy() == pytest.approx(one, rel=1e-13, abs=1e-13)

    @pytest.mark.parametrize("n", [2, 3, 10, 50])
    def test_marginals_when_all_trees_are_alike(self, n: int) -> None:
        """By symmetry: a root arc has 2 / (n + 1) with several roots, 1 / n with one."""
        for root, share in (("multi", 2 / (n + 1)), ("single", 1 / n)):
            marginals = SpanningTrees(np.zeros((n + 1, n + 1)), root=root).marginals()
            np.testing.assert_allclose(marginals[0, 1:], share, rtol=1e-13)
            between = marginals[1:, 1:][~np.eye(n, dtype=bool)]
            np.testing.assert_allclose(between, (1 - share) / (n - 1), rtol=1e-13)

    @pytest.mark.parametrize("root", ROOTS)
    def test_a_sentence_of_one_word(self, root: str) -> None:
        trees = SpanningTrees(np.array([[np.nan, -3.5], [np.nan, np.nan]]), root=root)
        assert trees.log_partition() == -3.5
        assert trees.marginals().tolist() == [[0.0, 1.0], [0.0, 0.0]]
        assert trees.entropy() == 0.0
        assert list(trees.kbest(5)) == [Tree([0])]
        assert trees.argmax().score == -3.5


class TestDriftingChain:
    """Words in a row, arcs between neighbours only, ever better to the right.

    With one root at r, the words after r hang from the left and those before from the right. So
    log w(r) = root_r + (right arcs from r on) + (left arcs before r), and the arc i -> i + 1 has
    the probability that r <= i: a closed form, with probabilities down to e^(-10 n).
    """

    STEP = 10.0

    def chain(self, n: int) -> np.ndarray:
        scores = np.full((n + 1, n + 1), -np.inf)
        words = np.arange(1, n)
        scores[words, words + 1] = self.STEP
        scores[words + 1, words] = 0.0
        scores[0, 1:] = 0.0
        return scores

    @pytest.mark.parametrize("n", [2, 10, 60, 200])
    def test_single_root(self, n: int) -> None:
        trees = SpanningTrees(self.chain(n), root="single")
        # w(r) = e^(10 (n - r)): a geometric series. Logs of its sums over that of its first term:
        ratio = math.exp(-self.STEP)
        places = np.arange(1, n + 1)
        log_sums = np.log1p(-(ratio**places)) - math.log1p(-ratio)  # of 1, 2, ... n terms
        log_total = self.STEP * (n - 1) + log_sums[-1]
        assert trees.log_partition() == pytest.approx(log_total, rel=1e-14)
        logs = trees.log_marginals()
        log_root = -self.STEP * (places - 1) - log_sums[-1]
        np.testing.assert_allclose(logs[0, 1:], log_root, rtol=1e-12, atol=1e-15)
        # P(r > i), i = 1..n-1: the last n - i terms.
        tail = -self.STEP * places[:-1] + log_sums[-2::-1] - log_sums[-1]
        np.testing.assert_allclose(logs[places[1:], places[:-1]], tail, rtol=1e-12)
        np.testing.assert_allclose(
            logs[places[:-1], places[1:]], np.log1p(-np.exp(tail)), rtol=1e-12, atol=1e-15
        )

    @pytest.mark.parametrize("n", [2, 10, 60])
    def test_multi_root(self, n: int) -> None:
        """The first j words split into a chain on i words and a single-root piece behind it."""
        log_prefix = [0.0]
        for j in range(1, n + 1):
            pieces = [
                log_prefix[i] + self.STEP * k
                for i in range(j)
                for k in range(j - i)  # the root of words i + 1 .. j at place j - k
            ]
            log_prefix.append(float(np.logaddexp.reduce(pieces)))
        actual = SpanningTrees(self.chain(n), root="multi").log_partition()
        assert actual == pytest.approx(log_prefix[n], rel=1e-13)


class TestLargeScores:
    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("sd", [1.0, 50.0, 1000.0, 1e5])
    def test_nothing_is_lost_with_many_words(self, sd: float, root: str) -> None:
        scores = np.random.default_rng(7).normal(scale=sd, size=(61, 61))
        trees = SpanningTrees(scores, root=root)
        marginals, logs = trees.marginals(), trees.log_marginals()
        np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-12)
        usable = ~np.eye(61, dtype=bool)
        usable[:, 0] = False
        assert np.isfinite(logs[usable]).all()
        assert_marginals(np.where(usable, np.exp(logs), 0.0), marginals)
        best = trees.argmax()
        assert best.score <= trees.log_partition()
        assert trees.log_prob(best) <= 0.0

    @pytest.mark.parametrize("root", ROOTS)
    def test_scores_of_a_billion(self, root: str) -> None:
        scores = np.random.default_rng(8).choice([-1e9, -1.0, 1e9], size=(6, 6))
        trees = SpanningTrees(scores, root=root)
        truth = BruteForce(scores, root)
        assert trees.argmax().score == truth.score(truth.trees[0])
        assert trees.log_partition() == pytest.approx(truth.log_partition(), rel=1e-15)
        assert_marginals(trees.marginals(), truth.marginals)


class TestWrongScores:
    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            (np.zeros((4, 5)), r"\(4, 5\)"),
            (np.zeros(4), r"\(4,\)"),
            (np.zeros((1, 1)), "word"),
            (np.zeros((3, 3, 0)), "label"),
        ],
    )
    def test_shapes(self, scores: np.ndarray, message: str) -> None:
        with pytest.raises(ScoreError, match=message) as caught:
            SpanningTrees(scores).log_partition()
        assert len(str(caught.value).splitlines()) == 1

    @pytest.mark.parametrize(("value", "message"), [(np.nan, "(?i)nan"), (np.inf, "(?i)inf")])
    def test_values(self, value: float, message: str) -> None:
        scores = np.zeros((4, 4))
        scores[2, 3] = value
        with pytest.raises(ScoreError, match=message) as caught:
            SpanningTrees(scores).log_partition()
        assert "2" in str(caught.value)
        assert "3" in str(caught.value)

    def test_a_batch_names_the_sentence(self) -> None:
        bad = np.zeros((3, 3))
        bad[1, 2] = np.nan
        with pytest.raises(ScoreError, match=r"\b1\b"):
            SpanningTrees([np.zeros((3, 3)), bad]).log_partition()

    def test_the_root_rule(self) -> None:
        with pytest.raises(ValueError, match="single"):
            SpanningTrees(np.zeros((3, 3)), root="double")  # type: ignore[arg-type]

    def test_an_empty_batch(self) -> None:
        assert SpanningTrees([]).log_partition() == []
        assert SpanningTrees([]).marginals() == []
