"""Trees built one pair of words at a time: Covington's algorithm under constraints."""

from __future__ import annotations

from crossarc.inference.transition.covington import (
    CONSTRAINTS,
    Order,
    Recovery,
    covington,
    degree_bound,
)

__all__ = ["CONSTRAINTS", "Order", "Recovery", "covington", "degree_bound"]
