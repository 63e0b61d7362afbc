"""Tables of weights, and sparse gradients in them.

A table has GROUPS parts of equal size. A thread gathers the gradient of one part and then changes
its weights, so that parts can be worked on at the same time and the result does not depend on how
many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel
from crossarc.parallel import over_ranges

__all__ = ["GROUPS", "TOUCHED", "WeightTable", "add_gradient"]

Singles = NDArray[np.float32]
Slots = NDArray[np.uint32]

GROUPS = 4
TOUCHED = types.uint32[::1]
# A sum that cancels to zero would be listed twice: it is kept different from zero.
_NEARLY_ZERO = np.float32(1e-30)


@subkernel()
def add_gradient(
    gradient: Singles, touched: Slots, known: int, slot: np.uint32, value: float
) -> int:
    """Add to a slot's gradient; returns how many slots of this part are not zero."""
    before = gradient[slot]
    after = np.float32(before + value)
    gradient[slot] = after if after != np.float32(0.0) else _NEARLY_ZERO
    if before == np.float32(0.0):
        touched[known] = slot
        return known + 1
    return known


class WeightTable:
    """Weights, the gradient that is being gathered, and which of its slots are not zero.

    Args:
        weights: of all parts, one after the other; changed in place.
    """

    def __init__(self, weights: Singles) -> None:
        self.weights = weights
        self.gradient = np.zeros_like(weights)
        self._touched = np.empty((GROUPS, len(weights) // GROUPS), np.uint32)
        self._counts = [0] * GROUPS

    def touched(self, group: int) -> Slots:
        """The slots of one part whose gradient is not zero."""
        return self._touched[group, : self._counts[group]]

    def update(
        self,
        gather: Callable[[int, Singles, Slots], int],
        step: Callable[[int], None],
        threads: int | None = None,
    ) -> None:
        """Gather the gradient of each part and change its weights by it.

        Args:
            gather: given a group, the gradient and an array for slots, adds to the gradient, lists
                the slots that it touched and returns how many they are.
            step: changes the weights of a group's part, and clears its gradient.
        """

        def work(begin: int, end: int) -> None:
            for group in range(begin, end):
                self._counts[group] = gather(group, self.gradient, self._touched[group])
                step(group)

        over_ranges(work, [1.0] * GROUPS, threads)
