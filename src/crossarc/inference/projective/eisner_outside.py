"""The outside pass of Eisner's algorithm in float64.

The outside item O(X) is the derivative of Z by the item X; mu[i, j] = I>(i, j) O(I>(i, j)) / Z:

    O(C>(i, j)) = sum over h < i of I>(h, i) O(C>(h, j))  + sum over l > j of O(B(i, l)) C<(j+1, l)
    O(C<(i, j)) = sum over h < i of C>(h, i-1) O(B(h, j)) + sum over l > j of O(C<(i, l)) I<(j, l)
    O(I>(i, j)) = sum over l >= j of O(C>(i, l)) C>(j, l)
    O(I<(i, j)) = sum over h <= i of C<(h, i) O(C<(h, j))
    O(B(i, j))  = w[i, j] O(I>(i, j)) + w[j, i] O(I<(i, j))

n^3 multiplications. O of an impossible item is set to 0: nothing depends on it, and it might grow
beyond all floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    fma,
    load_scalar,
    load_vector,
    select,
    splat,
    store_scalar,
    store_vector,
)
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.projective.columns import outside_columns
from crossarc.inference.projective.panels import (
    FACTORS,
    OUTER_FACTORS,
    OUTER_PANELS,
    PANELS,
    RULES,
    TERMS,
    TURNED,
    arc_place,
    blocks_of,
    gathering,
    part,
    width_of,
)
from crossarc.kernels import subkernel

__all__ = ["outside"]

Floats = NDArray[np.float64]

# A note in a cell of `space`: the derivative by C>(0, n), in its lane.
_GOAL = 2

_gather: Any = gathering(SUM)


@subkernel(inline=True)
def _fill_block(space: Floats, nodes: int, width: int, block: int, i: int) -> None:
    """The outside items (i, J), and the products I O of the arcs between i and J."""
    low, plane = block * LANES, width * width
    place = block * width * RULES
    outer = part(width, OUTER_PANELS) // LANES + place
    turned = part(width, TURNED) // LANES + place
    inner = part(width, FACTORS)
    row = part(width, OUTER_FACTORS) + i * width
    zero = splat(0.0)
    factors = (inner + plane + i, inner + i - 1, inner + 2 * plane + i)
    right_sum, left_sum, to_left_sum = _gather(
        (zero, zero, zero), space, factors, width, outer, 0, i
    )
    factors = (row, row + plane, row + 2 * plane)
    right_sum, to_right_sum, left_sum = _gather(
        (right_sum, zero, left_sum), space, factors, 1, turned, low + LANES, nodes
    )
    if i == 0 and nodes <= low + LANES:
        right_sum = right_sum + load_vector(space, LANES * _GOAL)
    arcs = arc_place(width, i, low)
    here = inner + i * width + low
    inner_left = part(width, PANELS) + (place + RULES * i + 2) * LANES
    right, to_right, left = outside_columns(
        space,
        LANES * (turned + RULES * low),
        arcs,
        here,
        plane,
        inner_left,
        right_sum,
        to_right_sum,
        left_sum,
        to_left_sum,
    )
    inner_to_right, inner_to_left = (
        load_vector(space, here + plane),
        load_vector(space, inner_left),
    )
    right = select(zero, load_vector(space, here), right, zero)
    left = select(zero, load_vector(space, here + 2 * plane), left, zero)
    to_right = select(zero, inner_to_right, to_right, zero)
    to_left = select(zero, inner_to_left, to_left_sum + left, zero)
    both = to_right * load_vector(space, arcs)
    both = fma(to_left, load_vector(space, arcs + LANES), both)
    own = LANES * (outer + RULES * i)
    store_vector(space, own, right)
    store_vector(space, own + LANES, both)
    store_vector(space, own + 2 * LANES, left)
    store_vector(space, row + low, both)
    store_vector(space, row + low + plane, right)
    store_vector(space, row + low + 2 * plane, left)
    store_vector(space, arcs, to_right * inner_to_right)
    store_vector(space, arcs + LANES, to_left * inner_to_left)


@subkernel()
def _fill_single_root(space: Floats, nodes: int, width: int, goal: float) -> None:
    """The row of a root that takes one modifier: O(I>(0, j)) = C>(j, n) O(C>(0, n))."""
    plane = width * width
    factors = part(width, FACTORS)
    for j in range(nodes):
        outer = part(width, OUTER_PANELS) + j // LANES * width * TERMS + j % LANES
        arc = arc_place(width, 0, j)
        inner = load_scalar(space, factors + plane + j) if j > 0 else 0.0
        outside = load_scalar(space, factors + j * width + nodes - 1) * goal if inner > 0.0 else 0.0
        store_scalar(space, outer, goal if j == nodes - 1 else 0.0)
        store_scalar(space, outer + LANES, outside * load_scalar(space, arc))
        store_scalar(space, outer + 2 * LANES, 0.0)
        store_scalar(space, arc, outside * inner)


@subkernel()
def outside(space: Floats, nodes: int, single: bool, goal: float) -> None:
    """Put I O in place of the arcs' weights, O(C>(0, n)) being `goal`."""
    width, blocks = width_of(nodes), blocks_of(nodes)
    store_vector(space, LANES * _GOAL, splat(0.0))
    store_scalar(space, _GOAL * LANES + (nodes - 1) % LANES, goal)
    if single:
        _fill_single_root(space, nodes, width, goal)
    for block in range(blocks - 1, -1, -1):
        for i in range(1 if single else 0, min((block + 1) * LANES, nodes)):
            _fill_block(space, nodes, width, block, i)
