"""The inside pass of Eisner's algorithm in lanes, for short sentences.

The rules of `eisner_inside`. As in `sibling_charts`, an item (i, j) stands at [i, j] of its chart
and again at [j, i], so that k runs along a row for both items of a product; I> is only read as (i,
k) and I< as (k, j), so these two share a chart. Items of words that a sentence has not are 0, as
their arcs are forbidden.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    fma,
    load,
    maximum,
    minimum,
    offset,
    select,
    store,
)
from crossarc.kernels import subkernel

__all__ = ["CHARTS", "LEFT", "RIGHT", "TO", "short_inside"]

Floats = NDArray[np.float64]
Bounds = tuple[Lanes, Lanes]

#: C>; C<; I> at [i, j] and I< at [j, i]: the items of a place stand together, so that a loop over k
#: follows two streams and not six.
RIGHT, LEFT, TO = 0, 1, 2
CHARTS = 3


@subkernel(inline=True)
def _noted(x: Cells, bounds: Bounds, arc: Lanes, both: Lanes, to: Lanes, whole: Lanes) -> Bounds:
    """The least and the largest of the items so far; 0 if a product of an arc underflowed."""
    zero, far = broadcast(x, 0.0), broadcast(x, np.inf)
    made = select(zero, arc, select(zero, both, minimum(to, both), far), far)
    least = minimum(made, select(zero, whole, whole, far))
    return minimum(least, bounds[0]), maximum(whole, maximum(both, bounds[1]))


@subkernel(inline=True)
def _fill_cell(x: Cells, w: Cells, nodes: int, i: int, j: int, bounds: Bounds) -> Bounds:
    """The items (i, j), i > 0."""
    row, column = i * nodes, j * nodes
    rights, lefts, tos = x, offset(x, LEFT), offset(x, TO)
    zero = broadcast(x, 0.0)
    both, right, left = load(lefts, CHARTS * (column + i + 1)), zero, zero
    for k in range(i + 1, j):
        both = fma(load(rights, CHARTS * (row + k)), load(lefts, CHARTS * (column + k + 1)), both)
        right = fma(load(tos, CHARTS * (row + k)), load(rights, CHARTS * (column + k)), right)
        left = fma(load(lefts, CHARTS * (row + k)), load(tos, CHARTS * (column + k)), left)
    ahead, back = load(w, row + j), load(w, column + i)
    to_right, to_left = both * ahead, both * back
    right, left = right + to_right, left + to_left
    store(rights, CHARTS * (row + j), right)
    store(rights, CHARTS * (column + i), right)
    store(lefts, CHARTS * (row + j), left)
    store(lefts, CHARTS * (column + i), left)
    store(tos, CHARTS * (row + j), to_right)
    store(tos, CHARTS * (column + i), to_left)
    bounds = _noted(x, bounds, ahead, both, to_right, right)
    return _noted(x, bounds, back, both, to_left, left)


@subkernel(inline=True)
def _fill_root(x: Cells, w: Cells, nodes: int, j: int, single: bool, bounds: Bounds) -> Bounds:
    """I> and C> of (0, j); a single root takes no second modifier."""
    column = j * nodes
    rights, lefts, tos = x, offset(x, LEFT), offset(x, TO)
    both, right = load(lefts, CHARTS * (column + 1)), broadcast(x, 0.0)
    for k in range(1, j):
        if not single:
            both = fma(load(rights, CHARTS * (k)), load(lefts, CHARTS * (column + k + 1)), both)
        right = fma(load(tos, CHARTS * (k)), load(rights, CHARTS * (column + k)), right)
    arc = load(w, j)
    to_right = both * arc
    right = right + to_right
    store(tos, CHARTS * (j), to_right)
    store(rights, CHARTS * (j), right)
    # With a single root, only that of the last word is an item.
    return _noted(x, bounds, arc, both, to_right, broadcast(x, 0.0) if single else right)


@subkernel()
def short_inside(x: Cells, w: Cells, nodes: int, single: bool) -> Bounds:
    """Fill the charts x from the weights w[h, m].

    Returns the least and the largest item of each lane, apart from the goal of a single root.
    """
    one = broadcast(x, 1.0)
    bounds = broadcast(x, np.inf), one
    for j in range(1, nodes):
        store(x, RIGHT + CHARTS * (j * nodes + j), one)
        store(x, LEFT + CHARTS * (j * nodes + j), one)
        for i in range(j - 1, 0, -1):
            bounds = _fill_cell(x, w, nodes, i, j, bounds)
        bounds = _fill_root(x, w, nodes, j, single, bounds)
    return bounds
