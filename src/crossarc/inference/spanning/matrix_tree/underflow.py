"""Is float64 enough? The smallest products, where arcs are forbidden (docs/numerics.md).

Results in float64 are right *provided that no product that matters underflows*. That is certain in
two cases:

1. No arc is forbidden and every weight is at least 2^-894 of its column's largest. Elimination only
   adds to an entry, so all entries stay above that, and a product that underflows, being below
   2^-1022, cannot change a digit of the entry it is added to.
2. Some arcs are forbidden, weights are as above, and in every update the smallest factors that are
   not zero have a product of at least 2^-960. Then no product underflows at all.

Otherwise, or when a quantity of a single root overflows, wide numbers are needed. All of this is
for cells of float64.
"""

from __future__ import annotations

import numpy as np

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    float64_cells,
    load,
    minimum,
    select,
    store,
)
from crossarc.inference.spanning.matrix_tree.layout import Layout
from crossarc.kernels import subkernel

__all__ = [
    "SMALLEST_PRODUCT",
    "require_large_products",
    "start_watching",
    "watch_elimination",
    "watch_product",
    "watch_substitution",
]

SMALLEST_PRODUCT = 2.0**-960


@subkernel()
def start_watching(cells: Cells, layout: Layout) -> None:
    """Nothing has been seen."""
    store(cells, layout.smallest, broadcast(cells, np.inf))
    # Below what padding can have in E, so that the rule does not hang on it.
    store(cells, layout.least_escape, broadcast(cells, 0.25))


@subkernel()
def _least(cells: Cells, least: Lanes, first: int, count: int, step: int) -> Lanes:
    """The smallest number that is not 0 of `least` and `count` cells."""
    zero, infinite = broadcast(cells, 0.0), broadcast(cells, np.inf)
    for i in range(count):
        x = load(cells, first + i * step)
        least = minimum(least, select(zero, x, x, infinite))
    return least


@subkernel()
def watch_elimination(
    cells: Cells, layout: Layout, low: int, high: int, kept: int, upper: bool
) -> None:
    """Look at the factors and shares of nodes just eliminated; arguments as in `eliminate`."""
    for k in range(low if upper else kept, kept if upper else high):
        a, b = (k + 1, high) if upper else (low, k)
        row = layout.shares + k * (layout.width + 1)
        share = _least(cells, broadcast(cells, np.inf), row + a, b - a, 1)
        store(cells, layout.least_shares + k, share)
        share = _least(cells, share, row + layout.width, 1, 1)
        column = layout.factors + a * layout.width + k
        factor = _least(cells, broadcast(cells, np.inf), column, b - a, layout.width)
        store(cells, layout.smallest, minimum(load(cells, layout.smallest), factor * share))


@subkernel()
def watch_substitution(
    cells: Cells, layout: Layout, low: int, high: int, kept: int, upper: bool
) -> None:
    """Look at the shares of nodes just substituted, and at all of E so far."""
    first, last = (low, kept) if upper else (kept, high)
    a, b = (kept, high) if upper else (low, kept)
    escape = load(cells, layout.least_escape)
    for k in range(low, high):
        escape = _least(cells, escape, layout.escapes + k * layout.width + a, b - a, 1)
    store(cells, layout.least_escape, escape)
    smallest = minimum(load(cells, layout.smallest), escape)
    for k in range(first, last):
        smallest = minimum(smallest, load(cells, layout.least_shares + k) * escape)
    store(cells, layout.smallest, smallest)


@subkernel()
def watch_product(cells: Cells, layout: Layout, x: Lanes, y: Lanes) -> None:
    """Look at one product, x y."""
    zero, smallest = broadcast(cells, 0.0), load(cells, layout.smallest)
    watched = select(zero, y, minimum(smallest, x * y), smallest)
    store(cells, layout.smallest, select(zero, x, watched, smallest))


@subkernel()
def require_large_products(cells: Cells, layout: Layout) -> None:
    """Note in `status` the lanes with forbidden arcs in which a product may have underflowed."""
    floats = float64_cells(cells)
    zero, status = broadcast(floats, 0.0), load(floats, layout.status)
    limit = broadcast(cells, SMALLEST_PRODUCT)
    certain = select(load(cells, layout.smallest), limit, zero, status)
    forbidden = load(floats, layout.forbidden)
    store(floats, layout.status, select(zero, forbidden, certain, status))
