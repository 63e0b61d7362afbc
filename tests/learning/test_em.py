"""The loop of EM, on a problem whose answer is known: two coins, of which one is thrown at a time.

The example of Do & Batzoglou (2008), "What is the expectation maximization algorithm?", Nature
Biotechnology 26, Figure 1: five sets of ten throws, one of two coins each, start 0.6 and 0.5, after
ten iterations 0.80 and 0.52.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from crossarc.learning.em import EMState, annealing_exponents, run_em

Floats = NDArray[np.float64]

HEADS = np.array([5, 9, 8, 4, 7])


class Coins:
    """Counts are heads and tails of each coin; which coin was thrown is hidden."""

    def maximise(self, counts: Floats) -> Floats:
        table = counts.reshape(2, 2)
        return np.log(table / table.sum(axis=1, keepdims=True)).reshape(-1)

    def log_prior(self, parameters: Floats) -> float:
        return 0.0

    def expect(self, parameters: Floats, exponent: float) -> tuple[float, Floats]:
        throws = np.stack([HEADS, 10 - HEADS])
        logs = exponent * (parameters.reshape(2, 2) @ throws + np.log(0.5))
        totals = np.logaddexp(*logs)
        shares = np.exp(logs - totals)
        return float(totals.sum()), (shares @ throws.T).reshape(-1)


START = np.array([0.6, 0.4, 0.5, 0.5])


def probabilities(state: EMState) -> list[float]:
    return np.exp(Coins().maximise(state.next_counts))[[0, 2]].tolist()


def test_the_printed_example() -> None:
    first = run_em(Coins(), START, iterations=1)
    assert probabilities(first) == pytest.approx([0.71, 0.58], abs=0.005)
    tenth = run_em(Coins(), START, iterations=10, tolerance=0.0)
    assert len(tenth.objectives) == 10
    assert probabilities(tenth) == pytest.approx([0.80, 0.52], abs=0.005)
    assert (np.diff(tenth.objectives) > 0).all()


def test_convergence() -> None:
    state = run_em(Coins(), START, iterations=1000, tolerance=1e-12)
    assert state.converged
    assert len(state.objectives) < 100
    short = run_em(Coins(), START, iterations=3, tolerance=1e-12)
    assert not short.converged
    # The objective is that of the parameters which the state's counts make.
    total, _ = Coins().expect(Coins().maximise(state.counts), 1.0)
    assert total == state.objectives[-1]


@pytest.mark.parametrize("exponents", [(1.0,), (0.3, 0.7, 1.0)])
def test_resuming_changes_nothing(exponents: tuple[float, ...]) -> None:
    seen: list[EMState] = []
    options = {"iterations": 12, "tolerance": 1e-10, "exponents": exponents}
    whole = run_em(Coins(), START, on_iteration=seen.append, **options)
    for state in seen:
        again = run_em(Coins(), state, **options)
        assert again.objectives == whole.objectives
        assert (again.counts == whole.counts).all()
        assert again.converged == whole.converged


def test_annealing() -> None:
    """Within a stage the objective never falls; stages have at most five iterations."""
    assert annealing_exponents(1.0) == (1.0,)
    assert annealing_exponents(0.5) == pytest.approx((0.5, 0.625, 0.78125, 0.9765625, 1.0))
    states: list[EMState] = []
    exponents = annealing_exponents(0.1)
    run_em(Coins(), START, exponents=exponents, on_iteration=states.append)
    for stage in range(len(exponents)):
        own = [one for one in states if one.stage == stage]
        assert own
        assert stage == len(exponents) - 1 or len(own) <= 5
        values = own[-1].objectives[own[-1].stage_start :]
        assert (np.diff(values) >= -1e-9).all()


def test_a_falling_objective_is_an_error() -> None:
    class Wrong(Coins):
        def maximise(self, counts: Floats) -> Floats:
            return super().maximise(counts[::-1])

    with pytest.raises(RuntimeError, match="the objective of EM fell from"):
        run_em(Wrong(), np.array([0.9, 0.1, 0.5, 0.5]), tolerance=0.0)


def test_wrong_exponents() -> None:
    for exponents in ((), (0.5,), (0.0, 1.0)):
        with pytest.raises(ValueError, match="exponents must be positive and end with 1"):
            run_em(Coins(), START, exponents=exponents)
    for first in (0.0, 1.5):
        with pytest.raises(ValueError, match="first exponent must be above 0"):
            annealing_exponents(first)


def test_a_finished_run_stays_finished() -> None:
    state = run_em(Coins(), START, iterations=1000, tolerance=1e-12)
    assert run_em(Coins(), state, iterations=1000, tolerance=1e-12) is state
    longer = run_em(Coins(), replace(state, converged=False), iterations=1000, tolerance=1e-12)
    assert longer.objectives == state.objectives
