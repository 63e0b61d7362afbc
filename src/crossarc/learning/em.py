"""Expectation maximisation for any model with hidden trees: the loop, its monitor and annealing.

The state is a vector of expected counts. A problem turns counts into parameters (the M-step), and
parameters into the log-likelihood and new expected counts (the E-step).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["EMProblem", "EMState", "annealing_exponents", "run_em"]

Floats = NDArray[np.float64]

# An objective that falls by less, relative to its size, has only been rounded.
_ROUNDING = 1e-9
# Iterations at an exponent below 1: there is no point in converging there.
_STAGE_ITERATIONS = 5


class EMProblem(Protocol):
    """What is maximised: sum of log p(sentence) + log prior."""

    def maximise(self, counts: Floats) -> Floats:
        """The parameters, as logarithms, that maximise the expected log-probability and prior."""

    def log_prior(self, parameters: Floats) -> float:
        """The log-density of the prior, up to a constant; 0 without one."""

    def expect(self, parameters: Floats, exponent: float) -> tuple[float, Floats]:
        """The sum over sentences of log sum_T p(x, T)^exponent, and expected counts.

        Expectations are under q(T) proportional to p(x, T)^exponent.
        """


@dataclass(frozen=True, slots=True)
class EMState:
    """Where EM stands.

    Attributes:
        counts: those that the parameters of the last objective were made from.
        next_counts: the expected counts under these parameters.
        stage: which exponent is in use.
        objectives: after each iteration, of all stages; those of one stage never decrease.
        stage_start: how many of them belong to earlier stages.
        converged: whether the last stage ended since the objective rose no more.
    """

    counts: Floats
    next_counts: Floats
    stage: int = 0
    objectives: tuple[float, ...] = ()
    stage_start: int = 0
    converged: bool = False


def run_em(
    problem: EMProblem,
    start: Floats | EMState,
    *,
    iterations: int = 100,
    tolerance: float = 1e-5,
    exponents: Sequence[float] = (1.0,),
    on_iteration: Callable[[EMState], None] | None = None,
) -> EMState:
    """Iterate until the objective rises by less than `tolerance` of its size, or so many times.

    Under an exponent b below 1 (deterministic annealing: Ueda & Nakano 1998; Smith & Eisner 2004)
    the posterior of trees is flattened, and the objective is 1/b sum of log sum_T p(x, T)^b + log
    prior. At most five iterations are made at such an exponent.

    Args:
        start: expected counts to begin with, or the state at which an earlier run was left: the
            result is that of a run without interruption.
        iterations: at exponent 1, at most.
        exponents: in increasing order; the last must be 1.
        on_iteration: called after each iteration.

    Raises:
        RuntimeError: the objective fell, which exact EM cannot do.
    """
    if not exponents or exponents[-1] != 1.0 or min(exponents) <= 0.0:
        raise ValueError(f"exponents must be positive and end with 1: got {list(exponents)}")
    state = start if isinstance(start, EMState) else EMState(start, start)
    while state.stage < len(exponents) and not state.converged:
        is_last = state.stage == len(exponents) - 1
        limit = iterations if is_last else min(iterations, _STAGE_ITERATIONS)
        made = state.objectives[state.stage_start :]
        if len(made) >= 2 and made[-1] - made[-2] <= tolerance * abs(made[-1]):
            state = replace(state, converged=is_last)
        elif len(made) < limit:
            state = _iterate(problem, state, exponents[state.stage])
            if on_iteration is not None:
                on_iteration(state)
            continue
        if is_last:
            break
        state = replace(state, stage=state.stage + 1, stage_start=len(state.objectives))
    return state


def _iterate(problem: EMProblem, state: EMState, exponent: float) -> EMState:
    parameters = problem.maximise(state.next_counts)
    total, expected = problem.expect(parameters, exponent)
    objective = total / exponent + problem.log_prior(parameters)
    made = state.objectives[state.stage_start :]
    if made and objective < made[-1] - _ROUNDING * max(1.0, abs(made[-1])):
        raise RuntimeError(
            f"the objective of EM fell from {made[-1]!r} to {objective!r}, which is an error of "
            "crossarc: please report it"
        )
    return replace(
        state,
        counts=state.next_counts,
        next_counts=expected,
        objectives=(*state.objectives, objective),
    )


def annealing_exponents(first: float, growth: float = 1.25) -> tuple[float, ...]:
    """From `first` in steps of a factor `growth` up to 1."""
    if not 0.0 < first <= 1.0:
        raise ValueError(f"the first exponent must be above 0 and at most 1: got {first}")
    found = []
    while first < 1.0:
        found.append(first)
        first *= growth
    return (*found, 1.0)
