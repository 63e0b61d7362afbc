"""The step of MIRA, by the conditions of its optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from crossarc.learning import margin_step


def test_one_constraint_is_passive_aggressive() -> None:
    """min(C, loss / |d|^2), nothing where the margin is there (Crammer et al. 2006)."""
    gram = np.array([[4.0]])
    assert_allclose(margin_step(gram, np.array([2.0])), [0.5])
    assert_allclose(margin_step(gram, np.array([2.0]), 0.1), [0.1])
    assert_allclose(margin_step(gram, np.array([-1.0])), [0.0])


@given(
    k=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    c=st.sampled_from([0.01, 0.3, 2.0, math.inf]),
)
def test_conditions_of_the_optimum(k: int, seed: int, c: float) -> None:
    """After the step no constraint that may grow is missed by more than one that is in use."""
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=(k, 7))
    violations = 2.0 * rng.normal(size=k)
    gram = differences @ differences.T
    steps = margin_step(gram, violations, c)
    assert (steps >= 0.0).all()
    assert steps.sum() <= c * (1 + 1e-9)
    left = violations - gram @ steps
    # The slack: what is missed most, and nothing while C is not used up.
    slack = max(0.0, float(left.max()))
    if steps.sum() < c * (1 - 1e-6):
        assert slack <= 1e-5
    assert_allclose(left[steps > 1e-9], slack, atol=1e-5)


def test_constraints_that_cannot_be_met() -> None:
    """Two trees with the same features, one with more errors: a bounded step, and no loop."""
    gram = np.zeros((2, 2))
    assert_allclose(margin_step(gram, np.array([1.0, 2.0]), 0.5), [0.0, 0.5])
    assert np.isfinite(margin_step(gram, np.array([1.0, 2.0]))).all()


@pytest.mark.parametrize("c", [0.05, math.inf])
def test_two_equal_constraints_share_a_step(c: float) -> None:
    gram = np.array([[2.0, 2.0], [2.0, 2.0]])
    assert_allclose(margin_step(gram, np.array([1.0, 1.0]), c).sum(), min(c, 0.5))
