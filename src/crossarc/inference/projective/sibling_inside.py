"""The inside pass of the sibling model, for sums and for best trees, in lanes.

The algorithm of Nivre's notes on higher-order models, Figure 2, with its slips mended (`sibling`
tells them), w(h, s, m) the weight of arc and sibling part together:

    S(i, j)  = sum over i <= k < j of  C>(i, k) C<(k+1, j)
    I>(i, j) = w(i, i, j) C<(i+1, j) + sum over i < k < j of  I>(i, k) S(k, j) w(i, k, j)
    I<(i, j) = w(j, j, i) C>(i, j-1) + sum over i < k < j of  S(i, k) I<(k, j) w(j, k, i)
    C>(i, j) = sum over i < k <= j of  I>(i, k) C>(k, j)
    C<(i, j) = sum over i <= k < j of  C<(i, k) I<(k, j)

with C>(i, i) = C<(i, i) = 1 and Z = C>(0, n). With a single root, 0 takes no second modifier.
5 n^3 / 6 products. For best trees read max for sum and + for times; the score of an arc is then
added to the best of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Lanes, broadcast, load, maximum, store
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    cell_place,
)
from crossarc.kernels import subkernel

__all__ = ["sibling_inside"]

Floats = NDArray[np.float64]
Five = tuple[Lanes, Lanes, Lanes, Lanes, Lanes]


def sibling_inside(semiring: Semiring) -> Callable[[Floats, Floats, Floats, int, bool], None]:
    """The function that fills the charts x of so many nodes from the weights w of parts.

    Of sums, w has the weights of arcs in it, and `arcs` is not read; of best scores it has not.
    """
    is_sum = semiring is SUM
    nothing, one = semiring.zero, semiring.one

    join: Any = semiring.join

    @subkernel(inline=True)
    def times(a: Lanes, b: Lanes) -> Lanes:
        return a * b if is_sum else a + b

    @subkernel(inline=True)
    def plus(a: Lanes, b: Lanes) -> Lanes:
        return a + b if is_sum else maximum(a, b)

    @subkernel(inline=True)
    def sums(x: Floats, w: Floats, nodes: int, i: int, j: int, start: Five) -> Five:
        """Over k from i + 1 to j - 1: S, I>, I<, C> and C< of (i, j), the last two without k = j
        and k = i."""
        row, column = i * nodes, j * nodes
        at = cell_place(i, j)
        back = at + j - i
        beside, to_right, to_left, right, left = start
        for k in range(i + 1, j):
            mine, yours = load(x, TO + CHARTS * (row + k)), load(x, TO + CHARTS * (column + k))
            far, near = (
                load(x, BESIDE + CHARTS * (column + k)),
                load(x, BESIDE + CHARTS * (row + k)),
            )
            ahead = load(x, LEFT + CHARTS * (column + k + 1))
            beside = join(load(x, RIGHT + CHARTS * (row + k)), ahead, beside)
            to_right = join(times(mine, far), load(w, at + k - i), to_right)
            to_left = join(times(near, yours), load(w, back + k - i), to_left)
            right = join(mine, load(x, RIGHT + CHARTS * (column + k)), right)
            left = join(load(x, LEFT + CHARTS * (row + k)), yours, left)
        return beside, to_right, to_left, right, left

    @subkernel(inline=True)
    def fill_cell(x: Floats, w: Floats, arcs: Floats, nodes: int, i: int, j: int) -> None:
        """The items (i, j), i > 0."""
        row, column = i * nodes + j, j * nodes + i
        at, zero = cell_place(i, j), broadcast(x, nothing)
        beside = load(x, LEFT + CHARTS * (column + 1))
        to_right = times(load(w, at), beside)
        to_left = times(load(w, at + j - i), load(x, RIGHT + CHARTS * (row - 1)))
        start = (beside, to_right, to_left, zero, zero)
        beside, to_right, to_left, right, left = sums(x, w, nodes, i, j, start)
        if not is_sum:
            to_right = to_right + load(arcs, row)
            to_left = to_left + load(arcs, column)
        right, left = plus(right, to_right), plus(left, to_left)
        store(x, RIGHT + CHARTS * row, right)
        store(x, RIGHT + CHARTS * column, right)
        store(x, LEFT + CHARTS * row, left)
        store(x, LEFT + CHARTS * column, left)
        store(x, BESIDE + CHARTS * row, beside)
        store(x, BESIDE + CHARTS * column, beside)
        store(x, TO + CHARTS * row, to_right)
        store(x, TO + CHARTS * column, to_left)

    @subkernel(inline=True)
    def fill_root(x: Floats, w: Floats, arcs: Floats, nodes: int, j: int, single: bool) -> None:
        """I> and C> of (0, j)."""
        column, at = j * nodes, cell_place(0, j)
        to_right = times(load(w, at), load(x, LEFT + CHARTS * (column + 1)))
        right = broadcast(x, nothing)
        for k in range(1, j):
            mine = load(x, TO + CHARTS * k)
            if not single:
                far = load(x, BESIDE + CHARTS * (column + k))
                to_right = join(times(mine, far), load(w, at + k), to_right)
            right = join(mine, load(x, RIGHT + CHARTS * (column + k)), right)
        if not is_sum:
            to_right = to_right + load(arcs, j)
        store(x, TO + CHARTS * j, to_right)
        store(x, RIGHT + CHARTS * j, plus(right, to_right))

    @subkernel()
    def inside(x: Floats, w: Floats, arcs: Floats, nodes: int, single: bool) -> None:
        for j in range(1, nodes):
            for chart in (RIGHT, LEFT):
                store(x, chart + CHARTS * (j * nodes + j), broadcast(x, one))
            for i in range(j - 1, 0, -1):
                fill_cell(x, w, arcs, nodes, i, j)
            fill_root(x, w, arcs, nodes, j, single)

    return inside
