"""The inside pass of the sibling model, for sums and for best trees.

The algorithm of Nivre's notes on higher-order models, Figure 2, with its slips mended (`sibling`
tells them), w(h, s, m) the weight of arc and sibling part together:

    S(i, j)  = sum over i <= k < j of  C>(i, k) C<(k+1, j)
    I>(i, j) = w(i, i, j) C<(i+1, j) + sum over i < k < j of  I>(i, k) S(k, j) w(i, k, j)
    I<(i, j) = w(j, j, i) C>(i, j-1) + sum over i < k < j of  S(i, k) I<(k, j) w(j, k, i)
    C>(i, j) = sum over i < k <= j of  I>(i, k) C>(k, j)
    C<(i, j) = sum over i <= k < j of  C<(i, k) I<(k, j)

with C>(i, i) = C<(i, i) = 1 and Z = C>(0, n). With a single root, 0 takes no second modifier.
5 n^3 / 6 products. For best trees read max for sum and + for times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.lanes import LANES, choose, load_entries, repeat
from crossarc.inference.projective.semirings import SUM, Semiring, joining, reducing
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    BESIDE_TURNED,
    LEFT,
    LEFT_TURNED,
    NUMBERS,
    RIGHT,
    RIGHT_TURNED,
    TO_LEFT_TURNED,
    TO_RIGHT,
    left_place,
    right_place,
)
from crossarc.kernels import subkernel

__all__ = ["sibling_inside"]

Floats = NDArray[np.float64]


def sibling_inside(
    semiring: Semiring,
) -> Callable[[Floats, Floats, int, bool, bool], tuple[float, float, float]]:
    """The function that fills the charts x from the weights w.

    It gives Z or the best score; of sums also the least item, 0 counting only if nothing is
    forbidden, and the largest.
    """
    is_sum = semiring is SUM
    zero, one = semiring.zero, semiring.one

    join_lanes: Any = joining(semiring)
    reduce: Any = reducing(semiring)

    @subkernel(inline=True)
    def plus(a: float, b: float) -> float:
        return a + b if is_sum else max(a, b)

    @subkernel(inline=True)
    def join(x: Floats, a: int, b: int, count: int, start: float) -> float:
        """start + the sum over k of x[a + k] x[b + k]."""
        total, numbers = repeat(zero), load_entries(NUMBERS, 0)
        for k in range(0, count, LANES):
            more = join_lanes(load_entries(x, a + k), load_entries(x, b + k), total)
            total = choose(numbers, repeat(float(count - k)), more, total)
        return plus(start, reduce(total))

    @subkernel(inline=True)
    def join_weighted(
        x: Floats, a: int, b: int, w: Floats, c: int, count: int, start: float
    ) -> float:
        """start + the sum over k of x[a + k] x[b + k] w[c + k]."""
        total, numbers = repeat(zero), load_entries(NUMBERS, 0)
        for k in range(0, count, LANES):
            one, other = load_entries(x, a + k), load_entries(x, b + k)
            pair = one * other if is_sum else one + other
            more = join_lanes(pair, load_entries(w, c + k), total)
            total = choose(numbers, repeat(float(count - k)), more, total)
        return plus(start, reduce(total))

    @subkernel(inline=True)
    def times(a: float, b: float) -> float:
        return a * b if is_sum else a + b

    @subkernel(inline=True)
    def fill_cell(x: Floats, w: Floats, nodes: int, i: int, j: int, root_once: bool) -> None:
        """The items (i, j)."""
        square = nodes * nodes
        row, column = i * nodes, j * nodes
        between, first = j - i - 1, i + 1
        at = right_place(nodes, i, j)
        to_right = times(entry(w, at), entry(x, LEFT_TURNED * square + column + first))
        beside, to_left, left = zero, zero, zero
        if i > 0:
            # S(i, j), I<(i, j), C<(i, j)
            beside = join(
                x, RIGHT * square + row + i, LEFT_TURNED * square + column + first, j - i, zero
            )
            back = left_place(nodes, i, j)
            turned = TO_LEFT_TURNED * square + column + first
            to_left = times(entry(w, back), entry(x, RIGHT * square + row + j - 1))
            beside_row = BESIDE * square + row + first
            to_left = join_weighted(x, beside_row, turned, w, back + 1, between, to_left)
            left = join(x, LEFT * square + row + first, turned, between, to_left)
        taken = TO_RIGHT * square + row + first
        right = zero
        if not root_once:
            # I>(i, j)
            turned = BESIDE_TURNED * square + column + first
            to_right = join_weighted(x, taken, turned, w, at + 1, between, to_right)
        if not root_once or j == nodes - 1:
            # C>(i, j)
            right = join(x, taken, RIGHT_TURNED * square + column + first, between, to_right)
        put(x, RIGHT * square + row + j, right)
        put(x, RIGHT_TURNED * square + column + i, right)
        put(x, LEFT * square + row + j, left)
        put(x, LEFT_TURNED * square + column + i, left)
        put(x, TO_RIGHT * square + row + j, to_right)
        put(x, TO_LEFT_TURNED * square + column + i, to_left)
        put(x, BESIDE * square + row + j, beside)
        put(x, BESIDE_TURNED * square + column + i, beside)

    @subkernel()
    def inside(
        x: Floats, w: Floats, nodes: int, single: bool, forbidden: bool
    ) -> tuple[float, float, float]:
        square = nodes * nodes
        least, most = np.inf, 1.0
        for i in range(nodes - 1, -1, -1):
            for chart in (RIGHT, LEFT, RIGHT_TURNED, LEFT_TURNED):
                put(x, chart * square + i * nodes + i, one)
            for j in range(i + 1, nodes):
                fill_cell(x, w, nodes, i, j, i == 0 and single)
                if is_sum:
                    row, column = i * nodes + j, j * nodes + i
                    for chart in (RIGHT, TO_RIGHT, LEFT, BESIDE, TO_LEFT_TURNED):
                        at = column if chart == TO_LEFT_TURNED else row
                        item = entry(x, chart * square + at)
                        is_unused = i == 0 and not (
                            chart == TO_RIGHT or (chart == RIGHT and not single)
                        )
                        counts = item > 0.0 or not (forbidden or is_unused)
                        least = min(least, item if counts else np.inf)
                        most = max(most, item)
        total = entry(x, RIGHT * square + nodes - 1)
        return total, least, most

    return inside
