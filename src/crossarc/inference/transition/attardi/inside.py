"""Inside pass of Attardi's system, O(n^7), in any semiring of `vectors`.

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

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    data_pointer,
    load_scalar,
    offset,
    store_scalar,
)
from crossarc.inference.transition.attardi.charts import (
    CHARTS,
    WEIGHTS,
    Charts,
    Weights,
    b_row,
    pairs_from,
    tail,
)
from crossarc.inference.transition.attardi.vectors import add, copy, dot, fill, plus
from crossarc.kernels import kernel, subkernel

__all__ = ["TO_PAIRS", "TO_RIGHT", "clear", "inside", "join_la2", "partial_sums"]

Floats = NDArray[np.float64]

#: What `join_la2` computes: the row of z, the row of y, or P.
TO_RESULT, TO_RIGHT, TO_PAIRS = 0, 1, 2


@subkernel()
def partial_sums(
    charts: Charts, la2: Floats, h1: int, i: int, h3: int, k: int, pairs: Floats, h3_pairs: Floats
) -> bool:
    """Fill P[h4 >= k] and P[h3, ...]; whether there is an item [h1, i, h2 h3, k]."""
    nodes, numbers, zero = la2.shape[0], charts.semiring, charts.zero
    every_pair, h3_pair = data_pointer(pairs), data_pointer(h3_pairs)
    size, every = pairs_from(nodes, k), pairs_from(nodes, 0)
    h3_begin = every - pairs_from(nodes, h3) + k - h3 - 1
    item = k - h3 - 1 - tail(nodes, h3)
    fill(every_pair, 0, size, zero)
    fill(h3_pair, 0, nodes - k, zero)
    found = False
    for h in range(i - 1, h3):
        h2 = h1 if h < i else h
        if h < i:
            x = charts.a[charts.a_begin[i] + (h1 + 1) * tail(nodes, i) + item]
        else:
            x = charts.b[b_row(charts, nodes, h2, h1, i) + item]
        if x > zero:
            found = True
            weights = data_pointer(la2[h2])
            add(numbers, every_pair, 0, x, weights, every - size, size)
            add(numbers, h3_pair, 0, x, weights, h3_begin, nodes - k)
    return found


@subkernel(inline=True)
def _join_pair(
    semiring: int,
    zero: float,
    direction: int,
    pair: Cells,
    z: Cells,
    z_begin: int,
    y: Cells,
    y_begin: int,
    count: int,
) -> None:
    value = load_scalar(pair, 0)
    if direction == TO_PAIRS:
        store_scalar(pair, 0, dot(semiring, y, y_begin, z, z_begin, count))
    elif value > zero:
        if direction == TO_RESULT:
            add(semiring, z, z_begin, value, y, y_begin, count)
        else:
            add(semiring, y, y_begin, value, z, z_begin, count)


@subkernel()
def join_la2(
    direction: int,
    y: Charts,
    z: Charts,
    nodes: int,
    h1: int,
    i: int,
    h3: int,
    k: int,
    pairs: Floats,
    h3_pairs: Floats,
) -> None:
    """la2 between the row (h3, k) of y, P, and the row (h1, i) of z: all products of two.

    They are added to the third, or take the place of P.
    """
    numbers, zero, pair = z.semiring, z.zero, data_pointer(h3_pairs)
    y_a, y_b, z_b = data_pointer(y.a), data_pointer(y.b), data_pointer(z.b)
    z_end = b_row(z, nodes, h3, h1, i)
    y_end = y.a_begin[k] + (h3 + 1) * tail(nodes, k)
    for h5 in range(k, nodes):
        own, count = tail(nodes, h5), nodes - h5
        _join_pair(numbers, zero, direction, pair, z_b, z_end - own, y_a, y_end - own, count)
        pair = offset(pair, 1)
    pair = data_pointer(pairs)
    for h4 in range(k, nodes - 1):
        z_end, y_end = b_row(z, nodes, h4, h1, i), b_row(y, nodes, h4, h3, k)
        for h5 in range(h4 + 1, nodes):
            own, count = tail(nodes, h5), nodes - h5
            _join_pair(numbers, zero, direction, pair, z_b, z_end - own, y_b, y_end - own, count)
            pair = offset(pair, 1)


@subkernel()
def clear(charts: Charts, nodes: int, h1: int, i: int) -> None:
    """Set a row to zero."""
    begin, b = charts.a_begin[i] + h1 * tail(nodes, i), data_pointer(charts.b)
    fill(data_pointer(charts.a), begin, tail(nodes, i), charts.zero)
    if h1 > 0:
        for h2 in range(i, nodes - 1):
            size = tail(nodes, h2 + 1)
            fill(b, b_row(charts, nodes, h2, h1, i) - size, size, charts.zero)


@subkernel()
def join_tables(charts: Charts, nodes: int, h1: int, i: int, h3: int, k: int) -> None:
    """la1, ra1 and ra2, of all items [h1, i, h2 h3, k]."""
    numbers, zero = charts.semiring, charts.zero
    a, b = data_pointer(charts.a), data_pointer(charts.b)
    joined, kept = data_pointer(charts.joined), data_pointer(charts.kept)
    size, rest = tail(nodes, k), nodes - k
    m, r = charts.joined_begin[h3, k], charts.kept_begin[h3, k]
    own = tail(nodes, h3) - (k - h3)
    end = charts.a_begin[i] + (h1 + 1) * tail(nodes, i)
    x = charts.a[end - own - 1]
    if x > zero:
        add(numbers, a, end - size, x, joined, m + h1 * size, size)
        add(numbers, a, end - own, x, kept, r + h1 * rest, rest)
    if h1 == 0:
        return
    for h2 in range(i, h3):
        end = b_row(charts, nodes, h2, h1, i)
        x = charts.b[end - own - 1]
        if x > zero:
            add(numbers, b, end - size, x, joined, m + h2 * size, size)
            add(numbers, b, end - own, x, kept, r + h2 * rest, rest)


@subkernel()
def fill_tables(charts: Charts, w: Weights, g: int, s: int, workspace: Floats) -> None:
    """M[g, s; ...] and R[g, s; ...]."""
    numbers, zero, shared = charts.semiring, charts.zero, data_pointer(workspace)
    a, b = data_pointer(charts.a), data_pointer(charts.b)
    joined, kept = data_pointer(charts.joined), data_pointer(charts.kept)
    nodes, every = w.sh.shape[0], pairs_from(w.sh.shape[0], 0)
    size, rest = tail(nodes, s), nodes - s
    end = charts.a_begin[s] + (g + 1) * size
    # What does not depend on h2.
    fill(shared, 0, size, zero)
    for e in range(s, nodes):
        own = tail(nodes, e)
        add(numbers, shared, size - own, w.la1[g, e], a, end - own, nodes - e)
    for h4 in range(s, nodes - 1 if g > 0 else s):
        row = b_row(charts, nodes, h4, g, s)
        for h5 in range(h4 + 1, nodes):
            own = tail(nodes, h5)
            add(numbers, shared, size - own, w.la1[h4, h5], b, row - own, nodes - h5)
            target = size - tail(nodes, h4) + h5 - h4
            add(numbers, shared, target, w.ra1[h4, h5], b, row - own, nodes - h5)
    for h2 in range(g):
        m = charts.joined_begin[g, s] + h2 * size
        copy(joined, m, shared, size)
        p = every - pairs_from(nodes, s)
        for h4 in range(s, nodes - 1):
            row = b_row(charts, nodes, h4, g, s)
            target = m + size - tail(nodes, h4) - h4
            for h5 in range(h4 + 1, nodes):
                x = w.ra2[h2, p]
                p += 1
                if x > zero:
                    own = row - tail(nodes, h5)
                    add(numbers, joined, target + h5, x, b, own, nodes - h5)
    for h2 in range(max(g, 1)):
        r = charts.kept_begin[g, s] + h2 * rest
        fill(kept, r, rest, zero)
        p = every - pairs_from(nodes, g) - g - 1
        for h5 in range(s, nodes):
            x = w.ra1[g, h5]
            if g > 0:
                x = plus(numbers, x, w.ra2[h2, p + h5])
            add(numbers, kept, r + h5 - s, x, a, end - tail(nodes, h5), nodes - h5)


@kernel(types.void(WEIGHTS, CHARTS, *[types.int64] * 4))
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
                    if h1 > 0 and partial_sums(charts, w.la2, h1, i, h3, k, pairs, h3_pairs):
                        join_la2(TO_RESULT, charts, charts, nodes, h1, i, h3, k, pairs, h3_pairs)
            fill_tables(charts, w, h1, i, shared)
