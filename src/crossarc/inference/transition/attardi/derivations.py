"""Single computations from the charts of an inside pass: the best one, or random ones.

An item keeps no record of how it was built. Its rule instances are listed again, O(n^3) of them,
for the 2n or so items of one computation, and the best one is chosen, or one with probability
proportional to its weight.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.attardi.charts import (
    CHARTS,
    WEIGHTS,
    Charts,
    Weights,
    b_row,
    pairs_from,
    tail,
)
from crossarc.inference.transition.attardi.machine import LEFT, RIGHT, SHIFT
from crossarc.inference.transition.attardi.vectors import BEST, SUM
from crossarc.kernels import kernel, subkernel

__all__ = ["traced"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def value_of(charts: Charts, nodes: int, h1: int, i: int, h2: int, h3: int, j: int) -> float:
    """Of the item [h1, i, h2 h3, j], where i <= h3 < j, and h2 = h1 or i <= h2 < h3."""
    at = j - h3 - 1 - tail(nodes, h3)
    if h2 == h1:
        return float(charts.a[charts.a_begin[i] + (h1 + 1) * tail(nodes, i) + at])
    return float(charts.b[b_row(charts, nodes, h2, h1, i) + at]) if h1 > 0 else charts.zero


@subkernel()
def is_chosen(
    charts: Charts, found: Floats, uniform: float, x: float, y: float, weight: float
) -> bool:
    """Whether the instance x y with this weight is chosen, so far.

    found[0] is the best value, or the share of those before; found[1] is the value of the item.
    """
    is_sum = charts.semiring == SUM
    value = x * y * weight if is_sum else x + y + weight
    if charts.semiring == BEST:
        if value > found[0]:
            found[0] = value
            return True
        return False
    if value > charts.zero and found[0] <= uniform:
        # Also the last one that is possible, should rounding keep the sum below `uniform`.
        found[0] += value / found[1] if is_sum else math.exp(value - found[1])
        return True
    return False


@subkernel()
def record(
    out: Ints, code: int, h2: int, m: int, k: int, h4: int, h5: int, modifier: int, head: int
) -> None:
    """Note an instance; an assignment of a tuple takes longer to compile than all the rest."""
    out[0], out[1], out[2], out[3] = code, h2, m, k
    out[4], out[5], out[6], out[7] = h4, h5, modifier, head


@subkernel()
def instance(w: Weights, charts: Charts, item: Ints, uniform: float, out: Ints) -> None:
    """Fill `out` with the instance of an item that is no shift: its transition, both items."""
    nodes, every = w.sh.shape[0], pairs_from(w.sh.shape[0], 0)
    h1, i, h2, h3, j = item[0], item[1], item[2], item[3], item[4]
    found = np.full(2, charts.zero if charts.semiring == BEST else 0.0)
    found[1] = value_of(charts, nodes, h1, i, h2, h3, j)
    for k in range(i + 1, j):
        for m in range(i if h2 == h1 else h2 + 1, k):
            x = value_of(charts, nodes, h1, i, h2, m, k)
            if not x > charts.zero:
                continue
            if h3 >= k:
                for d in range(k - 1, h3):
                    node = m if d < k else d
                    y = value_of(charts, nodes, m, k, node, h3, j)
                    if is_chosen(charts, found, uniform, x, y, w.la1[node, h3]):
                        record(out, LEFT + 1, h2, m, k, node, h3, node, h3)
            if h3 >= k or h3 == m:
                pair = every - pairs_from(nodes, h3) - h3 - 1
                for d in range(max(k, h3 + 1), j):
                    y = value_of(charts, nodes, m, k, h3, d, j)
                    if is_chosen(charts, found, uniform, x, y, w.ra1[h3, d]):
                        record(out, RIGHT + 1, h2, m, k, h3, d, d, h3)
                    if is_chosen(charts, found, uniform, x, y, w.ra2[h2, pair + d]):
                        record(out, RIGHT + 2, h2, m, k, h3, d, d, h2)
        if h2 == h1 or h3 < k:
            continue
        # la2: [h1, i, d m, k] [m, k, h2 h3, j]
        pair = every - pairs_from(nodes, h2) + h3 - h2 - 1
        for m in range(i if h2 >= k else h2, k if h2 >= k else h2 + 1):
            y = value_of(charts, nodes, m, k, h2, h3, j)
            if not y > charts.zero:
                continue
            for d in range(i - 1, m):
                node = h1 if d < i else d
                x = value_of(charts, nodes, h1, i, node, m, k)
                if is_chosen(charts, found, uniform, x, y, w.la2[node, pair]):
                    record(out, LEFT + 2, node, m, k, h2, h3, node, h3)


@subkernel()
def root_instance(w: Weights, charts: Charts, j: int, uniform: float, out: Ints) -> None:
    """The same of [cent, 0, cent 0, j]: G[k] [0, k, 0 d, j], ra1."""
    nodes = w.sh.shape[0]
    found = np.full(2, charts.zero if charts.semiring == BEST else 0.0)
    found[1] = charts.goal[j]
    for k in range(1, j):
        for d in range(k, j):
            y = value_of(charts, nodes, 0, k, 0, d, j)
            if is_chosen(charts, found, uniform, charts.goal[k], y, w.ra1[0, d]):
                record(out, RIGHT + 1, 0, 0, k, 0, d, d, 0)


_I2 = types.int64[:, ::1]


@kernel(types.void(WEIGHTS, CHARTS, types.float64[:, ::1], _I2, _I2))
def trace(w: Weights, charts: Charts, uniform: Floats, codes: Ints, heads: Ints) -> None:
    """Fill each row of `codes` with transitions, and of `heads` with the heads of nodes."""
    nodes = w.sh.shape[0]
    # Items h1, i, h2, h3, j.
    agenda, out = np.empty((4 * nodes + 4, 5), np.int64), np.empty(8, np.int64)
    for row in range(codes.shape[0]):
        # From the last transition to the first: a reduction, then its right item, its left one.
        agenda[0, 0], agenda[0, 1], agenda[0, 4] = -1, 0, nodes
        waiting, step, at = 1, 0, codes.shape[1]
        heads[row, 0] = 0
        while waiting > 0:
            waiting -= 1
            left, right = agenda[waiting], agenda[waiting + 1]
            h1, i, j = left[0], left[1], left[4]
            at -= 1
            codes[row, at] = SHIFT
            if j == i + 1:
                continue
            if h1 < 0:
                root_instance(w, charts, j, uniform[row, step], out)
            else:
                instance(w, charts, left, uniform[row, step], out)
            step += 1
            codes[row, at] = out[0]
            modifier, head = out[6], out[7]
            heads[row, modifier] = head
            left[2], left[3], left[4] = out[1], out[2], out[3]
            right[0], right[1], right[2], right[3], right[4] = out[2], out[3], out[4], out[5], j
            waiting += 2


def traced(weights: Weights, charts: Charts, uniform: Floats) -> list[tuple[Ints, Ints]]:
    """Transitions and heads of a computation for each row of 2n + 2 numbers in [0, 1).

    Random ones from charts of sums; the best one, whatever the numbers, from those of best scores.
    """
    nodes = len(weights.sh)
    codes = np.empty((len(uniform), 2 * nodes - 1), np.int64)
    heads = np.empty((len(uniform), nodes), np.int64)
    trace(weights, charts, uniform, codes, heads)
    return [(one, tree[1:]) for one, tree in zip(codes, heads, strict=True)]
