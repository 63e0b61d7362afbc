"""The two rules that change weights by a gradient: AdaGrad and the perceptron.

Both keep what the mean of the weights over all steps needs (Daume 2006, section 2.3): with `drift`
the sum of all changes, each times the number of steps before it, the mean is weights - drift /
steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel
from crossarc.learning.tables import TOUCHED, WeightTable

__all__ = ["AdaGrad", "Perceptron", "Rule"]

Singles = NDArray[np.float32]
Slots = NDArray[np.uint32]

_F1, _F2, _FLOAT = types.float32[::1], types.float32[:, ::1], types.float64
# What AdaGrad keeps of a slot stands side by side, so that one access to memory has it all.
_SUM, _SQUARE, _DRIFT = range(3)


@kernel(types.void(_F1, _F1, TOUCHED, _F2, _FLOAT, _FLOAT, _FLOAT, _FLOAT, _FLOAT))
def _adagrad_step(
    weights: Singles,
    gradient: Singles,
    touched: Slots,
    kept: Singles,
    rate: float,
    inertia: float,
    l1: float,
    l2: float,
    time: float,
) -> None:
    # Most weights are 0 and stay so: then no root is needed.
    for slot in touched:
        g, before = gradient[slot], weights[slot]
        gradient[slot] = 0.0
        # z += g - (sqrt(n + g^2) - sqrt(n)) / rate * w;   n += g^2
        square = kept[slot, _SQUARE]
        kept[slot, _SQUARE] = square + g * g
        z = kept[slot, _SUM] + g
        if before != 0.0:
            z -= (math.sqrt(kept[slot, _SQUARE]) - math.sqrt(square)) / rate * before
        kept[slot, _SUM] = z
        # w = -(z - sign(z) l1) / ((inertia + sqrt(n)) / rate + l2), or 0 where |z| <= l1
        after = 0.0
        if abs(z) > l1:
            excess = z - l1 if z > 0.0 else z + l1
            after = -excess / ((inertia + math.sqrt(kept[slot, _SQUARE])) / rate + l2)
        if before != 0.0 or after != 0.0:
            weights[slot] = after
            kept[slot, _DRIFT] += time * (after - before)


@kernel(types.void(_F1, _F1, TOUCHED, _F1, _FLOAT))
def _perceptron_step(
    weights: Singles, gradient: Singles, touched: Slots, drift: Singles, time: float
) -> None:
    for slot in touched:
        change = -gradient[slot]
        gradient[slot] = 0.0
        weights[slot] += change
        drift[slot] += time * change


class Rule(ABC):
    """A rule for one table, and the mean of its weights over the steps so far.

    Args:
        drift: a number for each weight, all 0, where a rule keeps them among others of its own.
    """

    def __init__(self, table: WeightTable, drift: Singles | None = None) -> None:
        self.table = table
        self._drift = np.zeros_like(table.weights) if drift is None else drift
        self._steps = 0

    @abstractmethod
    def step(self, group: int) -> None:
        """Change the weights of one part by the gradient gathered there, and clear that."""

    def advance(self) -> None:
        """Count a step, once all parts have been changed."""
        self._steps += 1

    def restart_mean(self) -> None:
        """Take the mean over later steps only."""
        self._drift[:] = 0.0
        self._steps = 0

    def refresh(self) -> None:
        """Bring weights up to date that the last steps did not touch."""
        return

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all that later steps depend on."""
        return {
            "weights": self.table.weights.copy(),
            "drift": self._drift.copy(),
            "steps": np.array([self._steps]),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `state` returned."""
        self.table.weights[:] = state["weights"]
        self._drift[:] = state["drift"]
        self._steps = int(state["steps"][0])

    def mean(self) -> Singles:
        """The mean of the weights over all steps so far, each as it was after the step."""
        if self._steps == 0:
            return self.table.weights.copy()
        return self.table.weights - self._drift / np.float32(self._steps)


class AdaGrad(Rule):
    """AdaGrad with exact L1 and L2 penalties, as FTRL-Proximal (McMahan 2011, 2013).

    Without penalties and inertia this is the AdaGrad of Duchi et al. (2011), section 1.1: a weight
    moves by rate * g / sqrt(sum of its g^2). With them, a weight is at every moment the minimum of
    all its gradients so far plus the penalties, so that it need not be visited to decay, and it is
    exactly zero until its gradients add up to more than `l1`. Most features never do.

    An objective with a share of |w|^2 in each step, such as C sum of losses + |w|^2 / 2, has a
    penalty that grows with the steps: `decay`. A weight is then up to date once a gradient has
    touched it or `refresh` was called.

    Args:
        rate: the size of steps.
        inertia: added to the root of the sum of squares; keeps the first steps of features with
            small gradients small.
        l1, l2: strength of the penalties l1 |w| + l2 w^2 / 2.
        decay: added to l2 with each step.
    """

    def __init__(
        self,
        table: WeightTable,
        *,
        rate: float,
        inertia: float,
        l1: float,
        l2: float,
        decay: float = 0.0,
    ) -> None:
        self._kept = np.zeros((len(table.weights), 3), np.float32)
        super().__init__(table, self._kept[:, _DRIFT])
        if not (rate > 0.0 and inertia > 0.0 and l1 >= 0.0 and l2 >= 0.0 and decay >= 0.0):
            raise ValueError(
                "rate and inertia must be above 0, l1, l2 and decay not below: got "
                f"rate={rate}, inertia={inertia}, l1={l1}, l2={l2}, decay={decay}"
            )
        self._options = rate, inertia, l1
        self._l2, self._decay, self._taken = l2, decay, 0
        self._sums, self._squares = self._kept[:, _SUM], self._kept[:, _SQUARE]

    def step(self, group: int) -> None:
        """Change the weights of one part by the gradient gathered there, and clear that."""
        self._change(self.table.touched(group))

    def _change(self, slots: Slots) -> None:
        table = self.table
        # The penalty of the step under way counts, too.
        l2 = self._l2 + self._decay * (self._taken + 1)
        _adagrad_step(
            table.weights,
            table.gradient,
            slots,
            self._kept,
            *self._options,
            l2,
            self._steps,
        )

    def advance(self) -> None:
        """Count a step, once all parts have been changed."""
        super().advance()
        self._taken += 1

    def refresh(self) -> None:
        """Bring all weights up to date with the penalty."""
        if self._decay > 0.0 and self._taken > 0:
            self._taken -= 1
            self._change(np.flatnonzero(self._sums).astype(np.uint32))
            self._taken += 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all that later steps depend on."""
        own = {"sums": self._sums.copy(), "squares": self._squares.copy()}
        return super().state() | own | {"taken": np.array([self._taken])}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `state` returned."""
        super().load_state(state)
        self._sums[:], self._squares[:] = state["sums"], state["squares"]
        self._taken = int(state["taken"][0])


class Perceptron(Rule):
    """w -= g, with g the features of the best tree minus those of the right one (Collins 2002)."""

    def step(self, group: int) -> None:
        """Change the weights of one part by the gradient gathered there, and clear that."""
        table = self.table
        touched = table.touched(group)
        _perceptron_step(table.weights, table.gradient, touched, self._drift, self._steps)
