"""The oracles against each other: enumeration, determinants, the O(n^5) algorithm, inverses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import matrix_tree_reference as papers
from support.brute_force import BruteForce, projective_tree

ROOTS = ["single", "multi"]
SHAPES = [(1, None), (2, None), (3, None), (4, None), (5, None), (1, 3), (2, 2), (3, 3), (4, 2)]


def random_scores(seed: int, n: int, labels: int | None, forbidden: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (n + 1, n + 1) if labels is None else (n + 1, n + 1, labels)
    scores = rng.normal(size=shape)
    scores[rng.random(shape) < forbidden] = -np.inf
    scores[:, 0] = np.nan
    scores[np.arange(n + 1), np.arange(n + 1)] = np.nan
    return scores


@pytest.mark.parametrize(("n", "labels"), SHAPES)
def test_multi_root_sums_agree(n: int, labels: int | None) -> None:
    scores = random_scores(n, n, labels)
    expected = math.exp(BruteForce(scores, "multi").log_partition())
    assert papers.mcdonald_satta_partition(scores) == pytest.approx(expected, rel=1e-12)
    assert papers.koo_partition(scores, "multi") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n", "labels"), SHAPES)
def test_single_root_sums_agree(n: int, labels: int | None) -> None:
    scores = random_scores(10 + n, n, labels)
    expected = math.exp(BruteForce(scores, "single").log_partition())
    assert papers.naive_single_root_partition(scores) == pytest.approx(expected, rel=1e-12)
    assert papers.koo_partition(scores, "single") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize(("n", "labels"), SHAPES)
def test_marginals_agree(n: int, labels: int | None, root: str) -> None:
    scores = random_scores(20 + n, n, labels)
    expected = BruteForce(scores, root).marginals
    np.testing.assert_allclose(papers.koo_marginals(scores, root), expected, atol=1e-13)
    if root == "multi":
        quintic = papers.mcdonald_satta_marginals(scores)
        np.testing.assert_allclose(quintic, expected, atol=1e-13)


@pytest.mark.parametrize("root", ROOTS)
def test_determinants_and_inverses_agree_on_longer_sentences(root: str) -> None:
    scores = random_scores(5, 12, 2)
    if root == "multi":
        np.testing.assert_allclose(
            papers.koo_marginals(scores, root), papers.mcdonald_satta_marginals(scores), atol=1e-12
        )
    else:
        assert papers.koo_partition(scores, root) == pytest.approx(
            papers.naive_single_root_partition(scores), rel=1e-11
        )


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(ROOTS))
def test_forbidden_arcs(seed: int, n: int, root: str) -> None:
    scores = random_scores(seed, n, None, forbidden=0.3)
    truth = BruteForce(scores, root)
    total = papers.koo_partition(scores, root)
    assert total == pytest.approx(math.exp(truth.log_partition()), rel=1e-11, abs=1e-12)
    if truth.feasible:
        np.testing.assert_allclose(papers.koo_marginals(scores, root), truth.marginals, atol=1e-11)
        assert (truth.marginals[scores == -np.inf] == 0.0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_numbers_of_trees(n: int) -> None:
    """Cayley: (n + 1)^(n - 1) with several roots, n^(n - 1) with one; A006013 if projective."""
    scores = np.zeros((n + 1, n + 1))
    projective = math.comb(3 * n - 2, n - 1) // n
    assert len(BruteForce(scores, "multi").trees) == (n + 1) ** (n - 1)
    assert len(BruteForce(scores, "single").trees) == n ** (n - 1)
    assert len(BruteForce(scores, "single", projective_tree).trees) == projective
    assert papers.koo_partition(scores, "multi") == pytest.approx((n + 1) ** (n - 1))
    assert papers.koo_partition(scores, "single") == pytest.approx(n ** (n - 1))


class TestBruteForce:
    """Two words by hand: 0 -> 1 -> 2 with weight e^(a + b), 0 -> 2 -> 1 with e^(c + d)."""

    @staticmethod
    def distribution(difference: float, offset: float = 0.0) -> BruteForce:
        """The first tree scores `difference` more than the second, exactly."""
        scores = np.full((3, 3), -np.inf)
        scores[0, 1], scores[1, 2] = offset + difference, offset
        scores[0, 2], scores[2, 1] = offset, offset
        return BruteForce(scores, "single")

    @pytest.mark.parametrize("offset", [0.0, 2.0**20])
    @pytest.mark.parametrize("difference", [0.0, 1.0, 30.0, 700.0, 5000.0])
    def test_two_trees(self, difference: float, offset: float) -> None:
        truth = self.distribution(difference, offset)
        rare = -difference - math.log1p(math.exp(-difference))
        odds = math.exp(-difference)
        entropy = math.log1p(odds) + difference * odds / (1.0 + odds)
        assert truth.log_partition() == 2 * offset + difference + math.log1p(odds)
        assert truth.log_marginals[0, 2] == pytest.approx(rare, rel=1e-15)
        assert truth.log_marginals[1, 2] == pytest.approx(-math.log1p(odds), rel=1e-15)
        assert truth.entropy() == pytest.approx(entropy, rel=1e-14)
        assert truth.log_prob((0, 1)) == truth.log_joint({2: 1})
        assert truth.log_prob((0, 0)) == -math.inf

    def test_divergence(self) -> None:
        even, odd = self.distribution(0.0), self.distribution(math.log(3.0))
        expected = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
        assert even.kl(odd) == pytest.approx(expected, rel=1e-14)
        assert even.cross_entropy(odd) == pytest.approx(expected + math.log(2.0), rel=1e-14)
        assert odd.kl(odd) == 0.0

    def test_divergence_from_a_smaller_support_is_infinite(self) -> None:
        scores = np.zeros((3, 3))
        assert BruteForce(scores, "multi").kl(BruteForce(scores, "single")) == math.inf
        assert BruteForce(scores, "single").kl(BruteForce(scores, "multi")) == pytest.approx(
            math.log(3 / 2)
        )

    def test_attachment(self) -> None:
        truth = self.distribution(math.log(3.0))
        assert truth.attachment((0, 1)) == pytest.approx(0.75)
        assert truth.best_risk_value() == pytest.approx(1.5)
        assert truth.best_risk_value(0.5) == pytest.approx(0.75 + 0.5 * math.log(3.0))
