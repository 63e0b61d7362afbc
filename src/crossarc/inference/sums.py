"""Sums of scores without rounding on the way."""

from __future__ import annotations

import math

__all__ = ["exact_sum"]

_SHRINK = 2.0**-64


def exact_sum(scores: list[float]) -> float:
    """The exact sum, rounded once; infinite when it overflows."""
    try:
        return math.fsum(scores)
    except OverflowError:
        return math.fsum(score * _SHRINK for score in scores) / _SHRINK
