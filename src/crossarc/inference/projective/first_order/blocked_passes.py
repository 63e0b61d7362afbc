"""Inside and outside passes of Eisner's algorithm in blocks; the inside pass in either semiring.

The recurrences of `lockstep`; for best trees read max for sum and + for times. The outside items,
each as one sum:

    O(C>(i, j)) = sum over h < i of I>(h, i) O(C>(h, j))  + sum over l > j of O(B(i, l)) C<(j+1, l)
    O(C<(i, j)) = sum over h < i of C>(h, i-1) O(B(h, j)) + sum over l > j of O(C<(i, l)) I<(j, l)
    O(I>(i, j)) = sum over l >= j of O(C>(i, l)) C>(j, l)
    O(I<(i, j)) = sum over h <= i of C<(h, i) O(C<(h, j))
    O(B(i, j))  = w[i, j] O(I>(i, j)) + w[j, i] O(I<(i, j))

n^3 / 2 multiplications inside, n^3 outside. O of an impossible item is set to 0: nothing depends on
it, and it might grow beyond all floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Lanes,
    fma,
    load_scalar,
    load_vector,
    maximum,
    minimum,
    select,
    splat,
    store_scalar,
    store_vector,
)
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.first_order.blocks import (
    FACTORS,
    OUTSIDE_FACTORS,
    OUTSIDE_PANELS,
    PANELS,
    RULES,
    TERMS,
    TRANSPOSED,
    arc_index,
    blocks_of,
    gathering,
    inside_columns,
    outside_columns,
    region,
    width_of,
)
from crossarc.kernels import subkernel

__all__ = ["LEAST", "MOST", "inside_pass", "outside"]

Floats = NDArray[np.float64]

#: Facts in vectors of `charts`: the least of the items that are not 0 (0 if a product of an arc
#: underflowed) and the largest, each lane for itself.
LEAST, MOST = 0, 1
# Where results that are not needed may be written.
_UNUSED = TERMS * LANES


@subkernel(inline=True)
def _widen(charts: Floats, arcs: Lanes, both: Lanes, to: Lanes, complete: Lanes) -> None:
    """Keep the least and the largest of the items of one direction."""
    zero, far = splat(0.0), splat(np.inf)
    made = select(zero, arcs, select(zero, both, minimum(to, both), far), far)
    least = minimum(made, select(zero, complete, complete, far))
    store_vector(charts, LANES * LEAST, minimum(least, load_vector(charts, LANES * LEAST)))
    most = maximum(both, load_vector(charts, LANES * MOST))
    store_vector(charts, LANES * MOST, maximum(complete, most))


def inside_pass(semiring: Semiring) -> Callable[[Floats, int, bool], float]:
    """The function that fills the inside items of `charts` and gives Z, or the best score."""
    is_sum = semiring is SUM
    zero, one = semiring.zero, semiring.one
    gather: Any = gathering(semiring)
    columns: Any = inside_columns(semiring, transpose=is_sum)

    @subkernel(inline=True)
    def add_axiom(charts: Floats, width: int, i: int) -> None:
        """C>(i, i) = C<(i, i) = 1, wherever they are kept."""
        block, lane, plane = i // LANES, i % LANES, width * width
        own = region(width, PANELS) + (block * width + i) * TERMS + lane
        row = region(width, FACTORS) + i * width + i
        store_scalar(charts, row, one)
        store_scalar(charts, row + 2 * plane, one)
        store_scalar(charts, own + LANES, one)
        transposed = region(width, TRANSPOSED) + i * TERMS
        if is_sum:
            store_scalar(charts, transposed + block * width * TERMS + lane + LANES, one)
        if i > 0:
            store_scalar(charts, own - TERMS, one)
            if is_sum:
                above = i - 1
                store_scalar(
                    charts, transposed + above // LANES * width * TERMS + above % LANES, one
                )

    @subkernel()
    def clear_block(charts: Floats, width: int, block: int) -> None:
        """No items (k, j) with j < k, where the block meets itself."""
        rows = (block * width + block * LANES) * TERMS
        for at in range(0, LANES * TERMS, LANES):
            store_vector(charts, region(width, PANELS) + rows + at, splat(zero))
            if is_sum:
                store_vector(charts, region(width, TRANSPOSED) + rows + at, splat(zero))

    @subkernel(inline=True)
    def fill_block(charts: Floats, width: int, block: int, i: int) -> None:
        """The items (i, J) of one row and eight columns."""
        low, plane = block * LANES, width * width
        panel = region(width, PANELS) // LANES + block * width * RULES
        own = panel + RULES * i
        row = region(width, FACTORS) + i * width
        none = splat(zero)
        factors = (row, row + plane, row + 2 * plane)
        # k = i: C>(i, i) C<(i+1, J)
        sums = (load_vector(charts, LANES * own), none, none)
        both_sum, right_sum, left_sum = gather(sums, charts, factors, 1, panel, i + 1, low)
        arcs = arc_index(width, i, low)
        transposed = region(width, TRANSPOSED) + low * TERMS
        transpose = transposed + i // LANES * width * TERMS + i % LANES
        transposed_above_index = transposed + (i - 1) // LANES * width * TERMS + (i - 1) % LANES
        both, right, left = columns(
            charts,
            LANES * (panel + RULES * low),
            arcs,
            both_sum,
            right_sum,
            left_sum,
            transpose,
            transposed_above_index if i > 0 else _UNUSED,
        )
        arcs_right, arcs_left = load_vector(charts, arcs), load_vector(charts, arcs + LANES)
        to_right = both * arcs_right if is_sum else both + arcs_right
        to_left = both * arcs_left if is_sum else both + arcs_left
        left = left + to_left if is_sum else maximum(left, to_left)
        if i > 0:
            store_vector(charts, LANES * (own - RULES), left)
        store_vector(charts, LANES * (own + 1), right)
        store_vector(charts, LANES * (own + 2), to_left)
        store_vector(charts, row + low, right)
        store_vector(charts, row + low + plane, to_right)
        store_vector(charts, row + low + 2 * plane, left)
        if i >= low:
            add_axiom(charts, width, i)
        if is_sum:
            _widen(charts, arcs_right, both, to_right, right)
            _widen(charts, arcs_left, both, to_left, left)

    @subkernel()
    def fill_single_root(charts: Floats, nodes: int, width: int) -> float:
        """The row of a root that takes one modifier: I>(0, j) = w[0, j] C<(1, j)."""
        plane = width * width
        factors = region(width, FACTORS)
        total, least = zero, np.inf
        for j in range(1, nodes):
            before = load_scalar(
                charts, region(width, PANELS) + j // LANES * width * TERMS + j % LANES
            )
            arc = load_scalar(charts, arc_index(width, 0, j))
            rest = load_scalar(charts, factors + j * width + nodes - 1)
            to_right = before * arc if is_sum else before + arc
            store_scalar(charts, factors + j, zero)
            store_scalar(charts, factors + plane + j, to_right)
            store_scalar(charts, factors + 2 * plane + j, zero)
            total = total + to_right * rest if is_sum else max(total, to_right + rest)
            least = min(least, to_right if before > 0.0 and arc > 0.0 else np.inf)
        store_scalar(charts, factors, one)
        store_scalar(charts, factors + 2 * plane, one)
        store_scalar(charts, factors + nodes - 1, total)
        if is_sum:
            store_vector(
                charts, LANES * LEAST, minimum(splat(least), load_vector(charts, LANES * LEAST))
            )
            store_vector(
                charts, LANES * MOST, maximum(splat(total), load_vector(charts, LANES * MOST))
            )
        return total

    @subkernel()
    def inside(charts: Floats, nodes: int, single: bool) -> float:
        width = width_of(nodes)
        store_vector(charts, LANES * LEAST, splat(np.inf))
        store_vector(charts, LANES * MOST, splat(1.0))
        for block in range(blocks_of(nodes)):
            clear_block(charts, width, block)
            for i in range(min((block + 1) * LANES, nodes) - 1, 0 if single else -1, -1):
                fill_block(charts, width, block, i)
        if single:
            return fill_single_root(charts, nodes, width)
        return load_scalar(charts, region(width, FACTORS) + nodes - 1)

    return inside


# A fact in a vector of `charts`: the derivative by C>(0, n), in its lane.
_GOAL = 2

_gather: Any = gathering(SUM)


@subkernel(inline=True)
def _outside_block(charts: Floats, nodes: int, width: int, block: int, i: int) -> None:
    """The outside items (i, J), and the products I O of the arcs between i and J."""
    low, plane = block * LANES, width * width
    index = block * width * RULES
    outer = region(width, OUTSIDE_PANELS) // LANES + index
    transposed = region(width, TRANSPOSED) // LANES + index
    inner = region(width, FACTORS)
    row = region(width, OUTSIDE_FACTORS) + i * width
    zero = splat(0.0)
    factors = (inner + plane + i, inner + i - 1, inner + 2 * plane + i)
    right_sum, left_sum, to_left_sum = _gather(
        (zero, zero, zero), charts, factors, width, outer, 0, i
    )
    factors = (row, row + plane, row + 2 * plane)
    right_sum, to_right_sum, left_sum = _gather(
        (right_sum, zero, left_sum), charts, factors, 1, transposed, low + LANES, nodes
    )
    if i == 0 and nodes <= low + LANES:
        right_sum = right_sum + load_vector(charts, LANES * _GOAL)
    arcs = arc_index(width, i, low)
    here = inner + i * width + low
    inner_left = region(width, PANELS) + (index + RULES * i + 2) * LANES
    right, to_right, left = outside_columns(
        charts,
        LANES * (transposed + RULES * low),
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
        load_vector(charts, here + plane),
        load_vector(charts, inner_left),
    )
    right = select(zero, load_vector(charts, here), right, zero)
    left = select(zero, load_vector(charts, here + 2 * plane), left, zero)
    to_right = select(zero, inner_to_right, to_right, zero)
    to_left = select(zero, inner_to_left, to_left_sum + left, zero)
    both = to_right * load_vector(charts, arcs)
    both = fma(to_left, load_vector(charts, arcs + LANES), both)
    own = LANES * (outer + RULES * i)
    store_vector(charts, own, right)
    store_vector(charts, own + LANES, both)
    store_vector(charts, own + 2 * LANES, left)
    store_vector(charts, row + low, both)
    store_vector(charts, row + low + plane, right)
    store_vector(charts, row + low + 2 * plane, left)
    store_vector(charts, arcs, to_right * inner_to_right)
    store_vector(charts, arcs + LANES, to_left * inner_to_left)


@subkernel()
def _outside_single_root(charts: Floats, nodes: int, width: int, goal: float) -> None:
    """The row of a root that takes one modifier: O(I>(0, j)) = C>(j, n) O(C>(0, n))."""
    plane = width * width
    factors = region(width, FACTORS)
    for j in range(nodes):
        outer = region(width, OUTSIDE_PANELS) + j // LANES * width * TERMS + j % LANES
        arc = arc_index(width, 0, j)
        inner = load_scalar(charts, factors + plane + j) if j > 0 else 0.0
        outside = (
            load_scalar(charts, factors + j * width + nodes - 1) * goal if inner > 0.0 else 0.0
        )
        store_scalar(charts, outer, goal if j == nodes - 1 else 0.0)
        store_scalar(charts, outer + LANES, outside * load_scalar(charts, arc))
        store_scalar(charts, outer + 2 * LANES, 0.0)
        store_scalar(charts, arc, outside * inner)


@subkernel()
def outside(charts: Floats, nodes: int, single: bool, goal: float) -> None:
    """Put I O in index of the arcs' weights, O(C>(0, n)) being `goal`."""
    width, blocks = width_of(nodes), blocks_of(nodes)
    store_vector(charts, LANES * _GOAL, splat(0.0))
    store_scalar(charts, _GOAL * LANES + (nodes - 1) % LANES, goal)
    if single:
        _outside_single_root(charts, nodes, width, goal)
    for block in range(blocks - 1, -1, -1):
        for i in range(1 if single else 0, min((block + 1) * LANES, nodes)):
            _outside_block(charts, nodes, width, block, i)
