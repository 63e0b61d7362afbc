"""Tables of weights, sparse gradients in them, and the two rules that change weights.

A table has GROUPS parts of equal size. A thread gathers the gradient of one part and then changes
its weights, so parts can be worked on at the same time and the result does not depend on how many
threads there are.

Both rules keep what averaging needs (Daume 2006, section 2.3): with `drift`, the sum of all
changes, each times the step at which it was made, the mean of the weights over all steps so far is
weights - drift / steps.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel, subkernel

__all__ = ["GROUPS", "AdaGrad", "Perceptron", "WeightTable", "add_gradient"]

Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

GROUPS = 4
# A sum that comes out as zero would be listed twice: it is kept apart from zero.
_NEARLY_ZERO = np.float32(1e-30)

_F1 = types.float32[::1]
_FLOAT, _INT = types.float64, types.int64


@subkernel()
def add_gradient(gradient: Singles, touched: Ints, count: int, slot: int, value: float) -> int:
    """Add to a slot's gradient; returns how many slots of this part have been touched."""
    before = gradient[slot]
    after = np.float32(before + value)
    gradient[slot] = after if after != np.float32(0.0) else _NEARLY_ZERO
    if before == np.float32(0.0):
        touched[count] = slot
        return count + 1
    return count


@kernel(types.void(_F1, _F1, types.int64[::1], _INT, _F1, _F1, _FLOAT, _FLOAT, _FLOAT))
def _adagrad_step(
    weights: Singles,
    gradient: Singles,
    touched: Ints,
    count: int,
    squares: Singles,
    drift: Singles,
    rate: float,
    decay: float,
    time: float,
) -> None:
    """w -= rate g / sqrt(sum of g^2 so far), g with `decay` times w added (Duchi et al. 2011)."""
    for k in range(count):
        slot = touched[k]
        g = gradient[slot] + decay * weights[slot]
        gradient[slot] = 0.0
        squares[slot] += g * g
        change = -rate * g / math.sqrt(squares[slot] + 1e-12)
        weights[slot] += change
        drift[slot] += time * change


@kernel(types.void(_F1, _F1, types.int64[::1], _INT, _F1, _FLOAT))
def _perceptron_step(
    weights: Singles, gradient: Singles, touched: Ints, count: int, drift: Singles, time: float
) -> None:
    """w -= g (Rosenblatt 1958; Collins 2002)."""
    for k in range(count):
        slot = touched[k]
        change = -gradient[slot]
        gradient[slot] = 0.0
        weights[slot] += change
        drift[slot] += time * change


class WeightTable:
    """Weights, the gradient that is being gathered, and which of its slots are not zero."""

    def __init__(self, part: int) -> None:
        """Args: part: slots in each of the GROUPS parts."""
        self.weights = np.zeros(GROUPS * part, np.float32)
        self.gradient = np.zeros(GROUPS * part, np.float32)
        self.touched = np.empty((GROUPS, part), np.int64)
        self.counts = np.zeros(GROUPS, np.int64)


class _Averaged:
    """What both rules share: counting steps, and the mean of the weights."""

    def __init__(self, table: WeightTable) -> None:
        self.table = table
        self.drift = np.zeros_like(table.weights)
        self.time = 0

    def advance(self) -> None:
        """Begin the next step: all parts of the table are changed once in it."""
        self.time += 1

    def forget(self) -> None:
        """Begin the mean anew, from the weights as they are."""
        self.drift[:] = 0.0
        self.time = 0

    def mean(self) -> Singles:
        """The mean of the weights over all steps so far."""
        # A change at step t is part of the weights after steps t, t + 1, ..., time.
        if self.time == 0:
            return self.table.weights.copy()
        return self.table.weights - self.drift / np.float32(self.time)


class AdaGrad(_Averaged):
    """AdaGrad with an L2 penalty on the weights that a batch touches.

    Args:
        rate: the first step of each weight.
        decay: strength of the penalty, decay / 2 times the square of each weight.
    """

    def __init__(self, table: WeightTable, *, rate: float, decay: float = 0.0) -> None:
        super().__init__(table)
        self.rate, self.decay = rate, decay
        self.squares = np.zeros_like(table.weights)

    def step(self, group: int) -> None:
        """Change the weights of one part by the gradient gathered there."""
        table = self.table
        _adagrad_step(
            table.weights,
            table.gradient,
            table.touched[group],
            table.counts[group],
            self.squares,
            self.drift,
            self.rate,
            self.decay,
            self.time - 1,
        )
        table.counts[group] = 0


class Perceptron(_Averaged):
    """Plain steps against the gradient, as of the perceptron."""

    def step(self, group: int) -> None:
        """Change the weights of one part by the gradient gathered there."""
        table = self.table
        _perceptron_step(
            table.weights,
            table.gradient,
            table.touched[group],
            table.counts[group],
            self.drift,
            self.time - 1,
        )
        table.counts[group] = 0
