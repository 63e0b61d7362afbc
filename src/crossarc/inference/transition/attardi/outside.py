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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.attardi.charts import (
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
from crossarc.inference.transition.attardi.inside import adder, partial_sums
from crossarc.kernels import kernel, subkernel

__all__ = ["OUTSIDE", "Derivatives", "new_derivatives"]

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


def _dot(numbers: Numbers) -> Any:
    zero, join = numbers.zero, numbers.join

    @subkernel(reorder=True)
    def dot(x: Floats, x_begin: int, y: Floats, y_begin: int, count: int) -> float:
        left, right = x[x_begin : x_begin + count], y[y_begin : y_begin + count]
        total = zero
        for t in range(count):
            total = join(left[t], right[t], total)
        return total

    return dot


def _adder_with_dot(numbers: Numbers) -> Any:
    zero, join = numbers.zero, numbers.join

    @subkernel(reorder=True)
    def add_and_dot(z: Floats, w: Floats, begin: int, x: float, y: Floats, count: int) -> float:
        """Add x times y to z from `begin` on; returns the product of w there with y."""
        target, other = z[begin : begin + count], w[begin : begin + count]
        total = zero
        for t in range(count):
            target[t] = join(x, y[t], target[t])
            total = join(other[t], y[t], total)
        return total

    return add_and_dot


def _outside(numbers: Numbers) -> Callable[..., None]:
    zero, one, _join, plus = numbers.zero, numbers.one, numbers.join, numbers.plus
    add, dot, sums = adder(numbers), _dot(numbers), partial_sums(numbers)
    add_and_dot = _adder_with_dot(numbers)

    @subkernel()
    def collect_tables(
        x: Charts, o: Charts, nodes: int, g: int, s: int, joined: Floats, kept: Floats
    ) -> None:
        """dM[g, s; ...] and dR[g, s; ...]."""
        size, rest = tail(nodes, s), nodes - s
        own = tail(nodes, g) - (s - g)
        joined[: g * size] = zero
        kept[: max(g, 1) * rest] = zero
        if g == 0:
            add(kept, 0, x.goal[s], o.goal, s + 1, rest)
        for h2 in range(g):
            for i in range(h2 + 1, g + 1):
                end = x.a_begin[i] + (h2 + 1) * tail(nodes, i)
                value = x.a[end - own - 1]
                if value > zero:
                    add(joined, h2 * size, value, o.a, end - size, size)
                    add(kept, h2 * rest, value, o.a, end - own, rest)
            for i in range(2, h2 + 1):
                for h1 in range(1, i):
                    end = b_row(x, nodes, h2, h1, i)
                    value = x.b[end - own - 1]
                    if value > zero:
                        add(joined, h2 * size, value, o.b, end - size, size)
                        add(kept, h2 * rest, value, o.b, end - own, rest)

    @subkernel()
    def collect_la2(
        x: Charts, o: Charts, la2: Floats, g: int, s: int, pairs: Floats, h3_pairs: Floats
    ) -> None:
        """What la2 gives to the row (g, s) as its right item."""
        nodes = la2.shape[0]
        y_end = x.a_begin[s] + (g + 1) * tail(nodes, s)
        for i in range(2, g + 1):
            for h1 in range(1, i):
                if not sums(x, la2, h1, i, g, s, pairs, h3_pairs):
                    continue
                z_end = b_row(x, nodes, g, h1, i)
                for h5 in range(s, nodes):
                    size = tail(nodes, h5)
                    if h3_pairs[h5 - s] > zero:
                        add(o.a, y_end - size, h3_pairs[h5 - s], o.b, z_end - size, nodes - h5)
                p = 0
                for h4 in range(s, nodes - 1):
                    target = b_row(x, nodes, h4, g, s)
                    source = b_row(x, nodes, h4, h1, i)
                    for h5 in range(h4 + 1, nodes):
                        size = tail(nodes, h5)
                        if pairs[p] > zero:
                            add(o.b, target - size, pairs[p], o.b, source - size, nodes - h5)
                        p += 1

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
    ) -> None:
        """From dM and dR to the row's items and to la1, ra1 and ra2."""
        nodes, every = w.sh.shape[0], pairs_from(w.sh.shape[0], 0)
        size, rest = tail(nodes, s), nodes - s
        end = x.a_begin[s] + (g + 1) * size
        shared, whole = np.full(size, zero), np.full(rest, zero)
        for h2 in range(g):
            add(shared, 0, one, joined, h2 * size, size)
        for h2 in range(max(g, 1)):
            add(whole, 0, one, kept, h2 * rest, rest)
        for e in range(s, nodes):
            own, count = tail(nodes, e), nodes - e
            if g > 0:
                add(o.a, end - own, w.la1[g, e], shared, size - own, count)
                d.la1[s, g, e] = plus(
                    d.la1[s, g, e], dot(x.a, end - own, shared, size - own, count)
                )
            add(o.a, end - own, w.ra1[g, e], whole, e - s, count)
            d.ra1[s, g, e] = plus(d.ra1[s, g, e], dot(x.a, end - own, whole, e - s, count))
        for h4 in range(s, nodes - 1 if g > 0 else s):
            row, above = b_row(x, nodes, h4, g, s), size - tail(nodes, h4) - h4
            for h5 in range(h4 + 1, nodes):
                own, count = tail(nodes, h5), nodes - h5
                add(o.b, row - own, w.la1[h4, h5], shared, size - own, count)
                part = dot(x.b, row - own, shared, size - own, count)
                d.la1[s, h4, h5] = plus(d.la1[s, h4, h5], part)
                add(o.b, row - own, w.ra1[h4, h5], shared, above + h5, count)
                part = dot(x.b, row - own, shared, above + h5, count)
                d.ra1[s, h4, h5] = plus(d.ra1[s, h4, h5], part)
        for h2 in range(g):
            p = every - pairs_from(nodes, g) + s - g - 1
            for h5 in range(s, nodes):
                own, count, begin = tail(nodes, h5), nodes - h5, h2 * rest + h5 - s
                add(o.a, end - own, w.ra2[h2, p], kept, begin, count)
                part = dot(x.a, end - own, kept, begin, count)
                d.ra2[s, h2, p] = plus(d.ra2[s, h2, p], part)
                p += 1
            p = every - pairs_from(nodes, s)
            for h4 in range(s, nodes - 1):
                row = b_row(x, nodes, h4, g, s)
                above = (h2 + 1) * size - tail(nodes, h4) - h4
                for h5 in range(h4 + 1, nodes):
                    if w.ra2[h2, p] > zero:
                        own, count = tail(nodes, h5), nodes - h5
                        add(o.b, row - own, w.ra2[h2, p], joined, above + h5, count)
                        part = dot(x.b, row - own, joined, above + h5, count)
                        d.ra2[s, h2, p] = plus(d.ra2[s, h2, p], part)
                    p += 1

    @subkernel()
    def pair_derivatives(
        x: Charts,
        o: Charts,
        nodes: int,
        h1: int,
        i: int,
        h3: int,
        k: int,
        pairs: Floats,
        h3_pairs: Floats,
    ) -> None:
        """dP[h4 >= k] and dP[h3, ...]."""
        z_end = b_row(x, nodes, h3, h1, i)
        y_end = x.a_begin[k] + (h3 + 1) * tail(nodes, k)
        for h5 in range(k, nodes):
            size = tail(nodes, h5)
            h3_pairs[h5 - k] = dot(x.a, y_end - size, o.b, z_end - size, nodes - h5)
        p = 0
        for h4 in range(k, nodes - 1):
            z_end, y_end = b_row(x, nodes, h4, h1, i), b_row(x, nodes, h4, h3, k)
            for h5 in range(h4 + 1, nodes):
                size = tail(nodes, h5)
                pairs[p] = dot(x.b, y_end - size, o.b, z_end - size, nodes - h5)
                p += 1

    @subkernel()
    def through_la2(
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
        nodes = la2.shape[0]
        size, every = pairs_from(nodes, k), pairs_from(nodes, 0)
        begin = every - pairs_from(nodes, h3) + k - h3 - 1
        given = add_and_dot(out[h2], la2[h2], every - size, value, pairs, size)
        return float(plus(given, add_and_dot(out[h2], la2[h2], begin, value, h3_pairs, nodes - k)))

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
        nodes = w.sh.shape[0]
        for k in range(nodes - 1, i, -1):
            size, rest = tail(nodes, k), nodes - k
            for h3 in range(i, k):
                m, r = x.joined_begin[h3, k], x.kept_begin[h3, k]
                own = tail(nodes, h3) - (k - h3)
                if h1 > 0:
                    pair_derivatives(x, o, nodes, h1, i, h3, k, pairs, h3_pairs)
                end = x.a_begin[i] + (h1 + 1) * tail(nodes, i)
                value = x.a[end - own - 1]
                if value > zero:
                    given = dot(x.joined, m + h1 * size, o.a, end - size, size)
                    given = plus(given, dot(x.kept, r + h1 * rest, o.a, end - own, rest))
                    if h1 > 0:
                        more = through_la2(w.la2, d.la2[i], h1, h3, k, value, pairs, h3_pairs)
                        given = plus(given, more)
                    o.a[end - own - 1] = plus(o.a[end - own - 1], given)
                for h2 in range(i, h3 if h1 > 0 else i):
                    end = b_row(x, nodes, h2, h1, i)
                    value = x.b[end - own - 1]
                    if value > zero:
                        given = dot(x.joined, m + h2 * size, o.b, end - size, size)
                        given = plus(given, dot(x.kept, r + h2 * rest, o.b, end - own, rest))
                        more = through_la2(w.la2, d.la2[i], h2, h3, k, value, pairs, h3_pairs)
                        o.b[end - own - 1] = plus(o.b[end - own - 1], plus(given, more))

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
        for s in range(first, last + 1):
            for g in range(begin, min(end, s)):
                row = o.a_begin[s] + g * tail(nodes, s)
                o.a[row : row + tail(nodes, s)] = zero
                for h2 in range(s, nodes - 1 if g > 0 else s):
                    row = b_row(o, nodes, h2, g, s)
                    o.b[row - tail(nodes, h2 + 1) : row] = zero
                collect_tables(x, o, nodes, g, s, joined, kept)
                if g > 1:
                    collect_la2(x, o, w.la2, g, s, pairs, h3_pairs)
                undo_tables(x, o, w, d, g, s, joined, kept)
                undo_joins(x, o, w, d, g, s, pairs, h3_pairs)

    return outside


_F3 = types.float64[:, :, ::1]
_ROWS = types.void(
    WEIGHTS,
    CHARTS,
    CHARTS,
    types.NamedUniTuple(_F3, 4, Derivatives),
    *[types.int64] * 4,
)

#: The kernels by what they add up.
OUTSIDE = {
    "sum": kernel(_ROWS, name="outside_sum")(_outside(SUM)),
    "log": kernel(_ROWS, name="outside_log")(_outside(LOG)),
}
