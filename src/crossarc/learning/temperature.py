"""Calibration by a temperature, by which scores are divided.

Guo et al. (2017): a temperature above 1 raises the entropy and leaves the best tree as it is.
It is fitted on held-out sentences, as the one that makes them most probable.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["fit_temperature"]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def fit_temperature(
    loss: Callable[[float], float],
    *,
    lowest: float = 0.1,
    highest: float = 1000.0,
    tolerance: float = 0.01,
) -> float:
    """The temperature at which `loss` is least, by golden sections of its logarithm.

    The log-loss of a log-linear model is convex in 1 / temperature and so has one minimum.

    Args:
        tolerance: how exact, as a share of the temperature.
    """
    low, high = math.log(lowest), math.log(highest)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(math.exp(left)), loss(math.exp(right))
    while high - low > tolerance:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = loss(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = loss(math.exp(right))
    return math.exp((low + high) / 2.0)
