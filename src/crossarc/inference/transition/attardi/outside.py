"""Outside pass of Attardi's system, and the derivatives of log Z by every weight.

O(X) is the derivative of Z by the item X, divided by Z. What each rule gives to its items follows
from `inside`, whose notation is used. A row (g, s) first collects what is due to it as the right
item Y of a join, from rows (h1, i) with i <= g, and then what is due to its items as left ones, in
the reverse order of the inside pass. So it writes to no other row: rows of one g are independent of
each other, and so are those of one s.

    dM[g, s; h2; e, j] = sum over h1, i of  [h1, i, h2 g, s] O([h1, i, h2 e, j])
    dR[g, s; h2; j]    = sum over h1, i of  [h1, i, h2 g, s] O([h1, i, h2 g, j])
    dP[h4, h5]         = sum over j of  Y[h4 h5] O([h1, i, h4 h5, j])

Derivatives by weights are added up for each s apart, so that the sum does not depend on threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import data_pointer
from crossarc.inference.transition.attardi.charts import (
    CHARTS,
    WEIGHTS,
    Charts,
    Weights,
    b_row,
    pairs_from,
    tail,
)
from crossarc.inference.transition.attardi.inside import (
    TO_PAIRS,
    TO_RIGHT,
    clear,
    join_la2,
    partial_sums,
)
from crossarc.inference.transition.attardi.vectors import SUM, add, add_and_dot, dot, fill, plus
from crossarc.kernels import kernel, subkernel

__all__ = ["Derivatives", "new_derivatives", "outside"]

Floats = NDArray[np.float64]


class Derivatives(NamedTuple):
    """By the weights of `Weights`, for each start s of a row; those of sh are O of its items."""

    la1: Floats
    ra1: Floats
    la2: Floats
    ra2: Floats


def new_derivatives(nodes: int, zero: float) -> Derivatives:
    """Tables that hold nothing yet."""
    pairs = nodes * (nodes - 1) // 2
    shapes = [(nodes, nodes, nodes)] * 2 + [(nodes, nodes, pairs)] * 2
    return Derivatives(*(np.full(shape, zero) for shape in shapes))


@subkernel()
def collect_tables(
    x: Charts, o: Charts, nodes: int, g: int, s: int, joined: Floats, kept: Floats
) -> None:
    """dM[g, s; ...] and dR[g, s; ...]."""
    size, rest = tail(nodes, s), nodes - s
    own = tail(nodes, g) - (s - g)
    numbers, a, b = o.semiring, data_pointer(o.a), data_pointer(o.b)
    m, r = data_pointer(joined), data_pointer(kept)
    fill(m, 0, g * size, o.zero)
    fill(r, 0, max(g, 1) * rest, o.zero)
    if g == 0:
        add(numbers, r, 0, x.goal[s], data_pointer(o.goal), s + 1, rest)
    for h2 in range(g):
        for i in range(h2 + 1, g + 1):
            end = x.a_begin[i] + (h2 + 1) * tail(nodes, i)
            value = x.a[end - own - 1]
            if value > o.zero:
                add(numbers, m, h2 * size, value, a, end - size, size)
                add(numbers, r, h2 * rest, value, a, end - own, rest)
        for i in range(2, h2 + 1):
            for h1 in range(1, i):
                end = b_row(x, nodes, h2, h1, i)
                value = x.b[end - own - 1]
                if value > o.zero:
                    add(numbers, m, h2 * size, value, b, end - size, size)
                    add(numbers, r, h2 * rest, value, b, end - own, rest)


@subkernel()
def collect_la2(
    x: Charts, o: Charts, la2: Floats, g: int, s: int, pairs: Floats, h3_pairs: Floats
) -> None:
    """What la2 gives to the row (g, s) as its right item."""
    for i in range(2, g + 1):
        for h1 in range(1, i):
            if partial_sums(x, la2, h1, i, g, s, pairs, h3_pairs):
                join_la2(TO_RIGHT, o, o, la2.shape[0], h1, i, g, s, pairs, h3_pairs)


@subkernel()
def undo_tables(
    x: Charts,
    o: Charts,
    w: Weights,
    d: Derivatives,
    g: int,
    s: int,
    joined: Floats,
    kept: Floats,
    sums: Floats,
    whole_sums: Floats,
) -> None:
    """From dM and dR to the row's items and to la1, ra1 and ra2."""
    nodes, every, numbers = w.sh.shape[0], pairs_from(w.sh.shape[0], 0), o.semiring
    size, rest, one = tail(nodes, s), nodes - s, 1.0 if numbers == SUM else 0.0
    x_a, x_b = data_pointer(x.a), data_pointer(x.b)
    o_a, o_b = data_pointer(o.a), data_pointer(o.b)
    m, r = data_pointer(joined), data_pointer(kept)
    end = x.a_begin[s] + (g + 1) * size
    # Sums over h2.
    shared, whole = data_pointer(sums), data_pointer(whole_sums)
    fill(shared, 0, size, o.zero)
    fill(whole, 0, rest, o.zero)
    for h2 in range(g):
        add(numbers, shared, 0, one, m, h2 * size, size)
    for h2 in range(max(g, 1)):
        add(numbers, whole, 0, one, r, h2 * rest, rest)
    for e in range(s, nodes):
        own, count = tail(nodes, e), nodes - e
        if g > 0:
            part = add_and_dot(numbers, o_a, x_a, end - own, w.la1[g, e], shared, size - own, count)
            d.la1[s, g, e] = plus(numbers, d.la1[s, g, e], part)
        part = add_and_dot(numbers, o_a, x_a, end - own, w.ra1[g, e], whole, e - s, count)
        d.ra1[s, g, e] = plus(numbers, d.ra1[s, g, e], part)
    for h4 in range(s, nodes - 1 if g > 0 else s):
        row, above = b_row(x, nodes, h4, g, s), size - tail(nodes, h4) - h4
        for h5 in range(h4 + 1, nodes):
            own, count = tail(nodes, h5), nodes - h5
            part = add_and_dot(
                numbers, o_b, x_b, row - own, w.la1[h4, h5], shared, size - own, count
            )
            d.la1[s, h4, h5] = plus(numbers, d.la1[s, h4, h5], part)
            part = add_and_dot(
                numbers, o_b, x_b, row - own, w.ra1[h4, h5], shared, above + h5, count
            )
            d.ra1[s, h4, h5] = plus(numbers, d.ra1[s, h4, h5], part)
    for h2 in range(g):
        p = every - pairs_from(nodes, g) + s - g - 1
        for h5 in range(s, nodes):
            own, count, begin = tail(nodes, h5), nodes - h5, h2 * rest + h5 - s
            part = add_and_dot(numbers, o_a, x_a, end - own, w.ra2[h2, p], r, begin, count)
            d.ra2[s, h2, p] = plus(numbers, d.ra2[s, h2, p], part)
            p += 1
        p = every - pairs_from(nodes, s)
        for h4 in range(s, nodes - 1):
            row = b_row(x, nodes, h4, g, s)
            above = (h2 + 1) * size - tail(nodes, h4) - h4
            for h5 in range(h4 + 1, nodes):
                weight, own, count = w.ra2[h2, p], tail(nodes, h5), nodes - h5
                if weight > o.zero:
                    part = add_and_dot(numbers, o_b, x_b, row - own, weight, m, above + h5, count)
                    d.ra2[s, h2, p] = plus(numbers, d.ra2[s, h2, p], part)
                p += 1


@subkernel()
def through_la2(
    semiring: int,
    la2: Floats,
    out: Floats,
    h2: int,
    h3: int,
    k: int,
    value: float,
    pairs: Floats,
    h3_pairs: Floats,
) -> float:
    """What la2 gives to the item [h1, i, h2 h3, k] of this value; adds to the derivatives."""
    nodes, row, derivatives = la2.shape[0], data_pointer(la2[h2]), data_pointer(out[h2])
    size, every = pairs_from(nodes, k), pairs_from(nodes, 0)
    begin = every - pairs_from(nodes, h3) + k - h3 - 1
    first, second = data_pointer(pairs), data_pointer(h3_pairs)
    given = add_and_dot(semiring, derivatives, row, every - size, value, first, 0, size)
    more = add_and_dot(semiring, derivatives, row, begin, value, second, 0, nodes - k)
    return float(plus(semiring, given, more))


@subkernel()
def undo_joins(
    x: Charts,
    o: Charts,
    w: Weights,
    d: Derivatives,
    h1: int,
    i: int,
    pairs: Floats,
    h3_pairs: Floats,
) -> None:
    """What is due to the items of a row as left items of joins."""
    nodes, numbers = w.sh.shape[0], o.semiring
    o_a, o_b = data_pointer(o.a), data_pointer(o.b)
    joined, kept = data_pointer(x.joined), data_pointer(x.kept)
    for k in range(nodes - 1, i, -1):
        size, rest = tail(nodes, k), nodes - k
        for h3 in range(i, k):
            m, r = x.joined_begin[h3, k], x.kept_begin[h3, k]
            own = tail(nodes, h3) - (k - h3)
            if h1 > 0:
                join_la2(TO_PAIRS, x, o, nodes, h1, i, h3, k, pairs, h3_pairs)
            end = x.a_begin[i] + (h1 + 1) * tail(nodes, i)
            value = x.a[end - own - 1]
            if value > o.zero:
                given = dot(numbers, joined, m + h1 * size, o_a, end - size, size)
                more = dot(numbers, kept, r + h1 * rest, o_a, end - own, rest)
                given = plus(numbers, given, more)
                if h1 > 0:
                    more = through_la2(numbers, w.la2, d.la2[i], h1, h3, k, value, pairs, h3_pairs)
                    given = plus(numbers, given, more)
                o.a[end - own - 1] = plus(numbers, o.a[end - own - 1], given)
            for h2 in range(i, h3 if h1 > 0 else i):
                end = b_row(x, nodes, h2, h1, i)
                value = x.b[end - own - 1]
                if value > o.zero:
                    given = dot(numbers, joined, m + h2 * size, o_b, end - size, size)
                    more = dot(numbers, kept, r + h2 * rest, o_b, end - own, rest)
                    given = plus(numbers, given, more)
                    more = through_la2(numbers, w.la2, d.la2[i], h2, h3, k, value, pairs, h3_pairs)
                    given = plus(numbers, given, more)
                    o.b[end - own - 1] = plus(numbers, o.b[end - own - 1], given)


@kernel(
    types.void(
        WEIGHTS,
        CHARTS,
        CHARTS,
        types.NamedUniTuple(types.float64[:, :, ::1], 4, Derivatives),
        *[types.int64] * 4,
    )
)
def outside(
    w: Weights,
    x: Charts,
    o: Charts,
    d: Derivatives,
    first: int,
    last: int,
    begin: int,
    end: int,
) -> None:
    """Rows (g, s), `first` <= s <= `last`, `begin` <= g < `end`, g < s; o.goal is filled."""
    nodes = w.sh.shape[0]
    pairs, h3_pairs = np.empty(pairs_from(nodes, 0) + 1), np.empty(nodes)
    joined, kept = np.empty(nodes * tail(nodes, 1)), np.empty(nodes * nodes)
    sums, whole_sums = np.empty(tail(nodes, 1)), np.empty(nodes)
    for s in range(first, last + 1):
        for g in range(begin, min(end, s)):
            clear(o, nodes, g, s)
            collect_tables(x, o, nodes, g, s, joined, kept)
            if g > 1:
                collect_la2(x, o, w.la2, g, s, pairs, h3_pairs)
            undo_tables(x, o, w, d, g, s, joined, kept, sums, whole_sums)
            undo_joins(x, o, w, d, g, s, pairs, h3_pairs)
