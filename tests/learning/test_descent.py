"""Conjugate gradient and L-BFGS beside SciPy's own optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from crossarc.learning import LBFGS, ConjugateGradient, Descent

Floats = np.ndarray


def softplus_problem() -> tuple:
    """Logistic regression with |w|^2 / 2: smooth, convex, badly scaled."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 12)) * np.geomspace(0.1, 5.0, 12)
    signs = np.sign(table @ rng.normal(size=12) + rng.normal(size=60))
    rows = table * signs[:, None]

    def function(w: Floats) -> tuple[float, Floats]:
        margins = rows @ w
        value = np.logaddexp(0.0, -margins).sum() + w @ w / 2.0
        return float(value), w - rows.T @ (1.0 / (1.0 + np.exp(margins)))

    return function, np.ones(12)


@pytest.mark.parametrize("descent", [ConjugateGradient, LBFGS])
def test_the_minimum_is_that_of_scipy(descent: type[Descent]) -> None:
    function, start = softplus_problem()
    expected = minimize(function, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    own = descent(function, start)
    values = [own.value]
    while not own.converged and len(values) < 200:
        own.iterate()
        values.append(own.value)
    assert own.converged
    assert (np.diff(values) <= 0.0).all()
    assert_allclose(own.point, expected.x, atol=1e-4)
    # Steepest descent needs thousands of iterations here.
    assert len(values) < 80


@pytest.mark.parametrize("stop", range(1, 9))
@pytest.mark.parametrize("descent", [ConjugateGradient, LBFGS])
def test_a_run_that_is_resumed_makes_the_same_steps(descent: type[Descent], stop: int) -> None:
    function, start = softplus_problem()
    whole, first = descent(function, start), descent(function, start)
    for _ in range(12):
        whole.iterate()
    for _ in range(stop):
        first.iterate()
    state = {name: array.copy() for name, array in first.state().items()}
    second = descent(function, np.zeros(12))
    second.load_state(state)
    for _ in range(12 - stop):
        second.iterate()
    assert second.point.tolist() == whole.point.tolist()
    assert second.value == whole.value


def test_a_minimum_is_left_alone() -> None:
    own = LBFGS(lambda x: (float(x @ x), 2.0 * x), np.zeros(2))
    own.iterate()
    assert own.converged
    assert own.point.tolist() == [0.0, 0.0]
