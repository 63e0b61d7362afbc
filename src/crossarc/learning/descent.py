"""Descent along the whole gradient: conjugate gradient and L-BFGS.

SciPy's optimisers run from start to end; these make one iteration at a time and say what they
remember, so that a run can be left and resumed with the same numbers. The line search is SciPy's.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LBFGS", "ConjugateGradient", "Descent"]

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]

# A step that lowers the objective by less, relative to its size, has only been rounding.
_ROUNDING = 1e-12
_SEARCHES = 20


class Descent(ABC):
    """A smooth function, the point where its descent stands, and the value and gradient there.

    Attributes:
        converged: no step along the direction lowers the function.
        evaluations: of the function, so far.
    """

    # Of the strong Wolfe conditions, for the derivative along a line: CG must search more exactly.
    curvature: float

    def __init__(self, function: Function, start: Floats) -> None:
        self._function = function
        self.evaluations = 0
        self._seen: tuple[Floats, float, Floats] | None = None
        self.point = start.copy()
        self.value, self.gradient = self._evaluate(self.point)
        self._before: float | None = None
        self.converged = False

    @abstractmethod
    def _direction(self) -> Floats:
        """Where to go from the point."""

    @abstractmethod
    def _learn(self, step: Floats, change: Floats) -> None:
        """Take in a step and the change of the gradient along it."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget all earlier steps: the next direction is that of steepest descent."""

    def iterate(self) -> None:
        """One line search; without success along the direction, one more down the gradient."""
        if self.converged or not self.gradient.any():
            self.converged = True
            return
        if not self._search(self._direction()):
            self._forget()
            self._before = None
            self.converged = not self._search(-self.gradient)

    def _search(self, direction: Floats) -> bool:
        from scipy.optimize import line_search

        derivative = float(direction @ self.gradient)
        if derivative >= 0.0:
            return False
        # As in SciPy's own optimisers: the first step is as long as the gradient is, at most.
        before = self.value + np.sqrt(-derivative) / 2.0 if self._before is None else self._before
        with warnings.catch_warnings():
            # A search that fails says so by its result, too.
            warnings.simplefilter("ignore", RuntimeWarning)
            length = line_search(
                lambda x: self._evaluate(x)[0],
                lambda x: self._evaluate(x)[1],
                self.point,
                direction,
                self.gradient,
                self.value,
                before,
                c2=self.curvature,
                maxiter=_SEARCHES,
            )[0]
        if length is None:
            return False
        step = length * direction
        value, gradient = self._evaluate(self.point + step)
        if not value < self.value - _ROUNDING * abs(self.value):
            return False
        self._learn(step, gradient - self.gradient)
        self.point = self.point + step
        self._before, self.value, self.gradient = self.value, value, gradient
        return True

    def _evaluate(self, point: Floats) -> tuple[float, Floats]:
        # The search asks for value and gradient of one point by two calls.
        if self._seen is None or not np.array_equal(self._seen[0], point):
            self._seen = (point.copy(), *self._function(point))
            self.evaluations += 1
        return self._seen[1:]

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later iterations depend on."""
        before = np.nan if self._before is None else self._before
        return {
            "point": self.point,
            "gradient": self.gradient,
            "values": np.array([self.value, before, float(self.converged)]),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        self.point, self.gradient = state["point"].copy(), state["gradient"].copy()
        self.value, before, converged = state["values"].tolist()
        self._before = None if np.isnan(before) else before
        self.converged = bool(converged)


class ConjugateGradient(Descent):
    """Nonlinear conjugate gradient of Polak and Ribiere, restarted where the factor is negative.

    Nocedal & Wright (2006), section 5.2; Sha & Pereira (2003) trained log-linear models by it.
    """

    curvature = 0.4

    def __init__(self, function: Function, start: Floats) -> None:
        self._last: Floats | None = None
        self._factor = 0.0
        super().__init__(function, start)

    def _direction(self) -> Floats:
        # d = -g + max(0, g.(g - g')/|g'|^2) d'
        direction = -self.gradient
        if self._last is not None and self._factor > 0.0:
            direction += self._factor * self._last
        if direction @ self.gradient >= 0.0:
            direction = -self.gradient
        self._pending = direction
        return direction

    def _learn(self, step: Floats, change: Floats) -> None:
        after = self.gradient + change
        self._factor = float(after @ change) / float(self.gradient @ self.gradient)
        self._last = self._pending

    def _forget(self) -> None:
        self._last, self._factor = None, 0.0
        self._pending = -self.gradient

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later iterations depend on."""
        own = {} if self._last is None else {"last": self._last}
        return super().state() | own | {"factor": np.array([self._factor])}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        super().load_state(state)
        self._last = state["last"].copy() if "last" in state else None
        self._factor = float(state["factor"][0])


class LBFGS(Descent):
    """Limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.4).

    Args:
        memory: how many steps are remembered.
    """

    curvature = 0.9

    def __init__(self, function: Function, start: Floats, *, memory: int = 6) -> None:
        self._memory = memory
        self._pairs: list[tuple[Floats, Floats]] = []
        super().__init__(function, start)

    def _direction(self) -> Floats:
        direction = -self.gradient
        factors = []
        for step, change in reversed(self._pairs):
            # alpha = s.q / y.s;  q -= alpha y
            factors.append(float(step @ direction) / float(step @ change))
            direction -= factors[-1] * change
        if self._pairs:
            step, change = self._pairs[-1]
            direction *= float(step @ change) / float(change @ change)
        for (step, change), factor in zip(self._pairs, reversed(factors), strict=True):
            # r += (alpha - y.r / y.s) s
            direction += (factor - float(change @ direction) / float(step @ change)) * step
        return direction

    def _learn(self, step: Floats, change: Floats) -> None:
        if step @ change > 0.0:
            self._pairs = [*self._pairs, (step, change)][-self._memory :]

    def _forget(self) -> None:
        self._pairs = []

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later iterations depend on."""
        pairs = {
            f"{name}{number}": vector
            for number, pair in enumerate(self._pairs)
            for name, vector in zip(("step", "change"), pair, strict=True)
        }
        return super().state() | pairs

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        super().load_state(state)
        count = sum(name.startswith("step") for name in state)
        self._pairs = [
            (state[f"step{number}"].copy(), state[f"change{number}"].copy())
            for number in range(count)
        ]
