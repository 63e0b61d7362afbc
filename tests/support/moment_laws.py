"""Laws of second moments: the Hessian of log Z and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from crossarc import InfeasibleError, ScoreError
from support.brute_force import BruteForce
from support.law_base import LawBase, law
from support.score_strategies import EVERY_KIND, MODERATE

Floats = NDArray[np.float64]


def function(data: st.DataObject, shape: tuple[int, ...]) -> Floats:
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    return chance.normal(size=shape)


def assert_slopes(actual: Floats, truth: BruteForce, values: list[float]) -> None:
    """Relative to min(mu, 1 - mu) and to how far the values of trees lie apart."""
    spread = max(1.0, max(map(abs, values)))
    error = np.abs(actual - truth.slopes(values))
    assert actual.shape == truth.scores.shape
    assert (error <= 1e-12 * truth.rarity() * spread + 1e-290).all(), error.max()
    assert (actual[np.isneginf(truth.log_marginals)] == 0.0).all()


class MomentLaws(LawBase):
    @law(examples=40)
    def test_hessian_product(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        f = function(data, case.scores.shape)
        assert_slopes(distribution.hessian_product(f), truth, truth.function_values(f))

    @law(examples=30)
    def test_covariance(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        f, g = function(data, case.scores.shape), function(data, case.scores.shape)
        ours, theirs = truth.function_values(f), truth.function_values(g)
        expected = truth.covariance(ours, theirs)
        # By Cauchy and Schwarz: as good as the variances are large.
        size = np.sqrt(truth.covariance(ours, ours) * truth.covariance(theirs, theirs))
        assert distribution.covariance(f, g) == pytest.approx(expected, abs=1e-11 * size + 1e-290)
        assert distribution.covariance(g, f) == pytest.approx(expected, abs=1e-11 * size + 1e-290)

    @law(examples=30)
    def test_variance(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        f = function(data, case.scores.shape)
        values = truth.function_values(f)
        expected = truth.covariance(values, values)
        actual = distribution.variance(f)
        assert actual >= 0.0
        assert actual == pytest.approx(expected, rel=1e-11, abs=1e-290)

    @law(examples=30)
    def test_what_each_word_has_anyhow_does_not_vary(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data)
        f = function(data, case.scores.shape)
        fixed = np.zeros(f.shape)
        fixed += f[0] if f.ndim == 2 else f[0, :, :1]
        assert distribution.covariance(f, fixed) == 0.0
        assert distribution.variance(fixed) == 0.0
        assert not distribution.hessian_product(fixed).any()

    @law(examples=30)
    def test_slopes_of_a_word_add_up_to_nothing(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, EVERY_KIND)
        slopes = distribution.hessian_product(function(data, case.scores.shape))
        by_word = np.moveaxis(slopes, 1, 0).reshape(case.n + 1, -1)
        assert np.abs(by_word.sum(axis=1)).max() <= 1e-15 * np.abs(slopes).sum()

    @law(examples=40)
    def test_entropy_gradient(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data)
        assert_slopes(-distribution.entropy_gradient(), truth, [-gap for gap in truth._gaps])

    @law(examples=15)
    def test_sizes_of_functions_do_not_matter(self, data: st.DataObject) -> None:
        distribution, _, case = self.feasible_case(data, MODERATE)
        f = function(data, case.scores.shape)
        slopes = distribution.hessian_product(f)
        for scale in (2.0**900, 2.0**-600):
            np.testing.assert_array_equal(distribution.hessian_product(f * scale), slopes * scale)

    def test_moments_of_a_batch(self) -> None:
        chance = np.random.default_rng(5)
        scores: list[Any] = [chance.normal(size=(n + 1, n + 1)) for n in (3, 1, 5, 2)]
        f = [chance.normal(size=one.shape) for one in scores]
        batch = self.distribution(scores, "multi", threads=2)
        for index, one in enumerate(scores):
            alone = self.distribution(one, "multi")
            product = batch.hessian_product(f)[index]
            np.testing.assert_array_equal(product, alone.hessian_product(f[index]))
            assert batch.variance(f)[index] == alone.variance(f[index])
            np.testing.assert_array_equal(batch.entropy_gradient()[index], alone.entropy_gradient())

    def test_functions_are_checked(self) -> None:
        scores = np.zeros((3, 3))
        scores[1, 2] = -np.inf
        trees = self.distribution(scores)
        with pytest.raises(ScoreError, match=r"f must have the shape of the scores, \(3, 3\)"):
            trees.variance(np.zeros((2, 2)))
        with pytest.raises(ScoreError, match="direction must be finite wherever an arc is allowed"):
            trees.hessian_product(np.array([[0, np.inf, 0], [0, 0, 0], [0, 0, 0]]))
        unread = np.zeros((3, 3))
        unread[:, 0] = unread[1, 1] = unread[1, 2] = np.nan
        assert trees.variance(unread) == 0.0
        with pytest.raises(ScoreError, match="g: 1 arrays for 2 sentences"):
            self.distribution([scores, scores]).covariance([scores, scores], [scores])
        scores[0] = -np.inf
        with pytest.raises(InfeasibleError, match="no tree is possible"):
            self.distribution(scores).hessian_product(unread)
