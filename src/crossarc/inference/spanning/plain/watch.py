"""The smallest products, where arcs are forbidden: does anything underflow? (docs/numerics.md)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    load,
    minimum,
    select,
    store,
)
from crossarc.inference.spanning.plain.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["watch_elimination", "watch_substitution"]

Floats = NDArray[np.float64]


@subkernel()
def _least(cells: Cells, least: Lanes, first: int, count: int, step: int) -> Lanes:
    """The smallest number that is not 0 of `least` and `count` cells."""
    zero, infinite = broadcast(cells, 0.0), broadcast(cells, np.inf)
    for place in range(count):
        x = load(cells, first + place * step)
        least = minimum(least, select(zero, x, x, infinite))
    return least


@subkernel()
def watch_elimination(
    cells: Cells, at: Layout, low: int, high: int, kept: int, upper: bool
) -> None:
    """Look at the factors and shares of nodes just eliminated; arguments as in `eliminate`."""
    for k in range(low if upper else kept, kept if upper else high):
        a, b = (k + 1, high) if upper else (low, k)
        row = at.shares + k * (at.width + 1)
        share = _least(cells, broadcast(cells, np.inf), row + a, b - a, 1)
        store(cells, at.least_shares + k, share)
        share = _least(cells, share, row + at.width, 1, 1)
        column = at.factors + a * at.width + k
        factor = _least(cells, broadcast(cells, np.inf), column, b - a, at.width)
        store(cells, at.smallest, minimum(load(cells, at.smallest), factor * share))


@subkernel()
def watch_substitution(
    cells: Cells, at: Layout, low: int, high: int, kept: int, upper: bool
) -> None:
    """Look at the shares of nodes just substituted, and at all of E so far."""
    first, last = (low, kept) if upper else (kept, high)
    a, b = (kept, high) if upper else (low, kept)
    reach = load(cells, at.least_reach)
    for k in range(low, high):
        reach = _least(cells, reach, at.reach + k * at.width + a, b - a, 1)
    store(cells, at.least_reach, reach)
    smallest = minimum(load(cells, at.smallest), reach)
    for k in range(first, last):
        smallest = minimum(smallest, load(cells, at.least_shares + k) * reach)
    store(cells, at.smallest, smallest)
