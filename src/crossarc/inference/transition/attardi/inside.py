"""Inside pass of Attardi's system, O(n^7), over sums or best scores.

Rows (h1, i) are filled from the last i to the first. A row needs only rows (h3, k) with h3 >= i, so
those of one h1 are independent of each other and may be shared out over threads, from the last h1
to the first. Within a row, k goes up: items that end at k are complete, and are joined with all
items Y = [h3, k, ..., j],

    la1, ra1, ra2    [h1, i, h2 e, j]   += [h1, i, h2 h3, k] M[h3, k; h2; e, j]
    ra1, ra2         [h1, i, h2 h3, j]  += [h1, i, h2 h3, k] R[h3, k; h2; j]
    la2              [h1, i, h4 h5, j]  += P[h4, h5] Y[h4 h5],   h4 = h3 or h4 >= k
                     P[h4, h5] = sum over h2 of  [h1, i, h2 h3, k] la2[h2, h4, h5]

with the charts, and M and R, as in `charts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.attardi.charts import (
    BEST,
    CHARTS,
    LOG,
    SUM,
    WEIGHTS,
    Charts,
    Numbers,
    Weights,
    b_row,
    pairs_from,
    tail,
)
from crossarc.kernels import kernel, subkernel

__all__ = ["INSIDE", "adder", "partial_sums"]

Floats = NDArray[np.float64]


def adder(numbers: Numbers) -> Any:
    """The function that adds x times a vector to another one."""
    join = numbers.join

    @subkernel()
    def add(z: Floats, z_begin: int, x: float, y: Floats, y_begin: int, count: int) -> None:
        target, source = z[z_begin : z_begin + count], y[y_begin : y_begin + count]
        for t in range(count):
            target[t] = join(x, source[t], target[t])

    return add


def partial_sums(numbers: Numbers) -> Any:
    """The function that computes P of a pair of items, for all h4 from k on, and for h4 = h3."""
    zero, add = numbers.zero, adder(numbers)

    @subkernel()
    def add_partial(
        la2: Floats, nodes: int, h2: int, h3: int, k: int, x: float, pairs: Floats, h3_pairs: Floats
    ) -> None:
        size, every = pairs_from(nodes, k), pairs_from(nodes, 0)
        add(pairs, 0, x, la2[h2], every - size, size)
        add(h3_pairs, 0, x, la2[h2], every - pairs_from(nodes, h3) + k - h3 - 1, nodes - k)

    @subkernel()
    def sums(
        charts: Charts,
        la2: Floats,
        h1: int,
        i: int,
        h3: int,
        k: int,
        pairs: Floats,
        h3_pairs: Floats,
    ) -> bool:
        """Fill P[h4 >= k] and P[h3, ...]; whether there is an item [h1, i, h2 h3, k]."""
        nodes = la2.shape[0]
        pairs[: pairs_from(nodes, k)] = zero
        h3_pairs[: nodes - k] = zero
        found = False
        x = charts.a[charts.a_begin[i] + (h1 + 1) * tail(nodes, i) - tail(nodes, h3) + k - h3 - 1]
        if x > zero:
            found = True
            add_partial(la2, nodes, h1, h3, k, x, pairs, h3_pairs)
        for h2 in range(i, h3):
            x = charts.b[b_row(charts, nodes, h2, h1, i) - tail(nodes, h3) + k - h3 - 1]
            if x > zero:
                found = True
                add_partial(la2, nodes, h2, h3, k, x, pairs, h3_pairs)
        return found

    return sums


def _inside(numbers: Numbers) -> Callable[..., None]:
    zero, plus = numbers.zero, numbers.plus
    add, sums = adder(numbers), partial_sums(numbers)

    @subkernel()
    def clear(charts: Charts, nodes: int, h1: int, i: int) -> None:
        begin = charts.a_begin[i] + h1 * tail(nodes, i)
        charts.a[begin : begin + tail(nodes, i)] = zero
        if h1 > 0:
            for h2 in range(i, nodes - 1):
                end = b_row(charts, nodes, h2, h1, i)
                charts.b[end - tail(nodes, h2 + 1) : end] = zero

    @subkernel()
    def join_tables(charts: Charts, nodes: int, h1: int, i: int, h3: int, k: int) -> None:
        """la1, ra1 and ra2, of all items [h1, i, h2 h3, k]."""
        joined, kept = charts.joined, charts.kept
        size, rest = tail(nodes, k), nodes - k
        m, r = charts.joined_begin[h3, k], charts.kept_begin[h3, k]
        own = tail(nodes, h3) - (k - h3)
        end = charts.a_begin[i] + (h1 + 1) * tail(nodes, i)
        x = charts.a[end - own - 1]
        if x > zero:
            add(charts.a, end - size, x, joined, m + h1 * size, size)
            add(charts.a, end - own, x, kept, r + h1 * rest, rest)
        if h1 == 0:
            return
        for h2 in range(i, h3):
            end = b_row(charts, nodes, h2, h1, i)
            x = charts.b[end - own - 1]
            if x > zero:
                add(charts.b, end - size, x, joined, m + h2 * size, size)
                add(charts.b, end - own, x, kept, r + h2 * rest, rest)

    @subkernel()
    def join_la2(
        charts: Charts,
        nodes: int,
        h1: int,
        i: int,
        h3: int,
        k: int,
        pairs: Floats,
        h3_pairs: Floats,
    ) -> None:
        """la2, of all items [h1, i, h2 h3, k], given its partial sums."""
        z_end = b_row(charts, nodes, h3, h1, i)
        y_end = charts.a_begin[k] + (h3 + 1) * tail(nodes, k)
        for h5 in range(k, nodes):
            size = tail(nodes, h5)
            if h3_pairs[h5 - k] > zero:
                add(charts.b, z_end - size, h3_pairs[h5 - k], charts.a, y_end - size, nodes - h5)
        p = 0
        for h4 in range(k, nodes - 1):
            z_end = b_row(charts, nodes, h4, h1, i)
            y_end = b_row(charts, nodes, h4, h3, k)
            for h5 in range(h4 + 1, nodes):
                size = tail(nodes, h5)
                if pairs[p] > zero:
                    add(charts.b, z_end - size, pairs[p], charts.b, y_end - size, nodes - h5)
                p += 1

    @subkernel()
    def fill_tables(charts: Charts, w: Weights, g: int, s: int, shared: Floats) -> None:
        """M[g, s; ...] and R[g, s; ...]; `shared` is what does not depend on h2."""
        nodes, every = w.sh.shape[0], pairs_from(w.sh.shape[0], 0)
        size, rest = tail(nodes, s), nodes - s
        end = charts.a_begin[s] + (g + 1) * size
        shared[:size] = zero
        for e in range(s, nodes):
            own = tail(nodes, e)
            add(shared, size - own, w.la1[g, e], charts.a, end - own, nodes - e)
        for h4 in range(s, nodes - 1 if g > 0 else s):
            row = b_row(charts, nodes, h4, g, s)
            for h5 in range(h4 + 1, nodes):
                own = tail(nodes, h5)
                add(shared, size - own, w.la1[h4, h5], charts.b, row - own, nodes - h5)
                target = size - tail(nodes, h4) + h5 - h4
                add(shared, target, w.ra1[h4, h5], charts.b, row - own, nodes - h5)
        for h2 in range(g):
            m = charts.joined_begin[g, s] + h2 * size
            charts.joined[m : m + size] = shared[:size]
            p = every - pairs_from(nodes, s)
            for h4 in range(s, nodes - 1):
                row = b_row(charts, nodes, h4, g, s)
                target = m + size - tail(nodes, h4) - h4
                for h5 in range(h4 + 1, nodes):
                    x = w.ra2[h2, p]
                    p += 1
                    if x > zero:
                        own = row - tail(nodes, h5)
                        add(charts.joined, target + h5, x, charts.b, own, nodes - h5)
        for h2 in range(max(g, 1)):
            r = charts.kept_begin[g, s] + h2 * rest
            charts.kept[r : r + rest] = zero
            p = every - pairs_from(nodes, g) - g - 1
            for h5 in range(s, nodes):
                x = plus(w.ra1[g, h5], w.ra2[h2, p + h5]) if g > 0 else w.ra1[0, h5]
                add(charts.kept, r + h5 - s, x, charts.a, end - tail(nodes, h5), nodes - h5)

    def inside(w: Weights, charts: Charts, last: int, first: int, begin: int, end: int) -> None:
        """Fill rows (h1, i), `last` >= i >= `first`, `begin` <= h1 < `end`, h1 < i."""
        nodes = w.sh.shape[0]
        pairs, h3_pairs = np.empty(pairs_from(nodes, 0) + 1), np.empty(nodes)
        shared = np.empty(tail(nodes, 0))
        for i in range(last, first - 1, -1):
            for h1 in range(begin, min(end, i)):
                clear(charts, nodes, h1, i)
                charts.a[charts.a_begin[i] + h1 * tail(nodes, i)] = w.sh[h1, i]
                for k in range(i + 1, nodes):
                    for h3 in range(i, k):
                        join_tables(charts, nodes, h1, i, h3, k)
                        if h1 > 0 and sums(charts, w.la2, h1, i, h3, k, pairs, h3_pairs):
                            join_la2(charts, nodes, h1, i, h3, k, pairs, h3_pairs)
                fill_tables(charts, w, h1, i, shared)

    return inside


_ROWS = types.void(WEIGHTS, CHARTS, *[types.int64] * 4)

#: The kernels by what they add up.
INSIDE = {
    "sum": kernel(_ROWS, name="inside_sum")(_inside(SUM)),
    "log": kernel(_ROWS, name="inside_log")(_inside(LOG)),
    "best": kernel(_ROWS, name="inside_best")(_inside(BEST)),
}
