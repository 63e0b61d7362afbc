"""Inside and outside sums of Eisner's algorithm in numbers with a wide exponent.

The recurrences of `eisner_inside` and `eisner_outside`, row by row: as soon as an item is
complete, it is multiplied into the rest of its row. Nothing over- or underflows, whatever the
scores. A chart is a square of mantissas and one of exponents; a number by itself is a pair.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO, add_product, exp_parts_wide, normalised
from crossarc.inference.projective.numbers import Number, marginal, plus, times
from crossarc.inference.projective.weights import assemble, best_scores, difference
from crossarc.inference.runtime.quantities import LOG_PARTITION
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean
# C>, C<, I>, I< and B; of the outside items O(C>) and so on.
_RIGHT, _LEFT, _TO_RIGHT, _TO_LEFT, _BOTH = 0, 1, 2, 3, 4
_CHARTS = 5


@subkernel()
def _get(x: Floats, e: Ints, chart: int, i: int, j: int) -> Number:
    return normalised(x[chart, i, j], e[chart, i, j])


@subkernel()
def _set(x: Floats, e: Ints, chart: int, i: int, j: int, number: Number) -> None:
    x[chart, i, j], e[chart, i, j] = number


@subkernel()
def _add_rows(
    x: Floats,
    e: Ints,
    chart: int,
    i: int,
    y: Floats,
    f: Ints,
    source: int,
    k: int,
    first: int,
    last: int,
    ahead: int,
    factor: Number,
) -> None:
    """x[chart, i, j] += factor * y[source, k, j + ahead] for j from first to last - 1."""
    if factor[0] > 0.0 and first < last:
        add_product(
            x[chart, i, first:last],
            e[chart, i, first:last],
            y[source, k, first + ahead : last + ahead],
            f[source, k, first + ahead : last + ahead],
            factor[0],
            factor[1],
        )


@subkernel()
def _weigh(
    scores: Floats, nodes: int, label_sums: Floats, potentials: Floats, w: Floats, v: Ints
) -> None:
    """Weights relative to the words' potentials."""
    for h in range(nodes):
        for m in range(nodes):
            at = h * nodes + m
            w[h, m], v[h, m] = 0.0, ZERO
            if m > 0 and scores[at] > -np.inf:
                x, tail = difference(scores[at], potentials[m])
                mantissa, exponent = exp_parts_wide(x, tail)
                if label_sums.shape[0] > 0:
                    mantissa *= label_sums[at]
                w[h, m], v[h, m] = normalised(mantissa, exponent)


@subkernel()
def _inside_row(x: Floats, e: Ints, w: Floats, v: Ints, i: int, single: bool) -> None:
    """The items (i, j) for all j."""
    nodes = w.shape[0]
    last = nodes - 1
    is_lone = i == 0 and single
    _set(x, e, _RIGHT, i, i, (1.0, 0))
    _set(x, e, _LEFT, i, i, (1.0, 0))
    for j in range(i + 1, nodes):
        _set(x, e, _BOTH, i, j, _get(x, e, _LEFT, i + 1, j))
    for j in range(i + 1, nodes):
        both = _get(x, e, _BOTH, i, j)
        to_right = times(both, (w[i, j], v[i, j]))
        to_left = times(both, (w[j, i], v[j, i]))
        left = plus(_get(x, e, _LEFT, i, j), to_left)
        _set(x, e, _TO_RIGHT, i, j, to_right)
        _set(x, e, _TO_LEFT, i, j, to_left)
        _set(x, e, _LEFT, i, j, left)
        # C<(i, l) += C<(i, j) I<(j, l)
        _add_rows(x, e, _LEFT, i, x, e, _TO_LEFT, j, j + 1, nodes, 0, left)
        if is_lone and j < last:
            # C>(0, l) exists for l = n only, B(0, l) is C<(1, l).
            _add_rows(x, e, _RIGHT, i, x, e, _RIGHT, j, last, nodes, 0, to_right)
            continue
        right = plus(_get(x, e, _RIGHT, i, j), to_right)
        _set(x, e, _RIGHT, i, j, right)
        if j < last:
            # B(i, l) += C>(i, j) C<(j+1, l);  C>(i, l) += I>(i, j) C>(j, l)
            _add_rows(x, e, _BOTH, i, x, e, _LEFT, j + 1, j + 1, nodes, 0, right)
            _add_rows(x, e, _RIGHT, i, x, e, _RIGHT, j, j + 1, nodes, 0, to_right)


@subkernel()
def _outside_row(
    x: Floats, e: Ints, t: Floats, g: Ints, o: Floats, f: Ints, w: Floats, v: Ints, i: int
) -> None:
    """The outside items (i, j) for all j; t[chart, j, i] are inside items turned."""
    nodes = w.shape[0]
    for h in range(i):
        # O(C>(i, j)) += I>(h, i) O(C>(h, j));  O(C<(i, j)) += C>(h, i-1) O(B(h, j));
        # O(I<(i, j)) += C<(h, i) O(C<(h, j))
        to_right, left = _get(x, e, _TO_RIGHT, h, i), _get(x, e, _LEFT, h, i)
        right = _get(x, e, _RIGHT, h, i - 1)
        _add_rows(o, f, _RIGHT, i, o, f, _RIGHT, h, i, nodes, 0, to_right)
        _add_rows(o, f, _LEFT, i, o, f, _BOTH, h, i, nodes, 0, right)
        _add_rows(o, f, _TO_LEFT, i, o, f, _LEFT, h, i, nodes, 0, left)
    for j in range(nodes - 1, i, -1):
        right, left = _get(o, f, _RIGHT, i, j), _get(o, f, _LEFT, i, j)
        if x[_RIGHT, i, j] == 0.0:
            right = (0.0, ZERO)
        to_right = plus(_get(o, f, _TO_RIGHT, i, j), right)
        to_left = plus(_get(o, f, _TO_LEFT, i, j), left)
        both = plus(times(to_right, (w[i, j], v[i, j])), times(to_left, (w[j, i], v[j, i])))
        _set(o, f, _RIGHT, i, j, right)
        _set(o, f, _LEFT, i, j, left)
        _set(o, f, _TO_RIGHT, i, j, to_right)
        _set(o, f, _TO_LEFT, i, j, to_left)
        _set(o, f, _BOTH, i, j, both)
        # O(C>(i, k)) += O(B(i, j)) C<(k+1, j);  O(I>(i, k)) += O(C>(i, j)) C>(k, j);
        # O(C<(i, k)) += O(C<(i, j)) I<(k, j)
        _add_rows(o, f, _RIGHT, i, t, g, _LEFT, j, i, j, 1, both)
        _add_rows(o, f, _TO_RIGHT, i, t, g, _RIGHT, j, i, j, 0, right)
        _add_rows(o, f, _LEFT, i, t, g, _TO_LEFT, j, i, j, 0, left)


@subkernel()
def _clear(x: Floats, e: Ints) -> None:
    for chart in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                _set(x, e, chart, i, j, (0.0, ZERO))


@subkernel()
def _turn(x: Floats, e: Ints, t: Floats, g: Ints) -> None:
    for chart in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                _set(t, g, chart, j, i, (x[chart, i, j], e[chart, i, j]))


@subkernel()
def _solve(w: Floats, v: Ints, single: bool, quantity: int, out: Floats) -> Number:
    """Z, its mantissa 0 if there is no tree; fills `out`."""
    nodes = w.shape[0]
    shape = (_CHARTS, nodes, nodes)
    x, e = np.empty(shape), np.empty(shape, np.int64)
    _clear(x, e)
    for i in range(nodes - 1, -1, -1):
        _inside_row(x, e, w, v, i, single)
    total = _get(x, e, _RIGHT, 0, nodes - 1)
    if quantity == LOG_PARTITION or total[0] == 0.0:
        return total
    t, g = np.empty(shape), np.empty(shape, np.int64)
    _turn(x, e, t, g)
    o, f = np.empty(shape), np.empty(shape, np.int64)
    _clear(o, f)
    _set(o, f, _RIGHT, 0, nodes - 1, (1.0, 0))
    for i in range(nodes):
        _outside_row(x, e, t, g, o, f, w, v, i)
    for i in range(nodes):
        for j in range(i + 1, nodes):
            inner, outer = _get(x, e, _TO_RIGHT, i, j), _get(o, f, _TO_RIGHT, i, j)
            out[i * nodes + j] = marginal(inner, outer, total, quantity)
            if i > 0:
                inner, outer = _get(x, e, _TO_LEFT, i, j), _get(o, f, _TO_LEFT, i, j)
                out[j * nodes + i] = marginal(inner, outer, total, quantity)
    return total


@kernel(types.void(READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, _BOOL, _INT, _F1, _F2))
def infer_wide(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
) -> None:
    """All sentences of a batch, as `eisner_sums.infer` does; their scores are small enough."""
    for s in range(sizes.shape[0]):
        nodes, at = sizes[s] + 1, offsets[s]
        whole = slice(at, at + nodes * nodes)
        potentials = np.empty(nodes)
        best_scores(scores[whole], nodes, single, potentials)
        w, v = np.empty((nodes, nodes)), np.empty((nodes, nodes), np.int64)
        _weigh(scores[whole], nodes, label_sums[whole], potentials, w, v)
        total = _solve(w, v, single, quantity, out[whole])
        totals[0, s], totals[1, s] = -np.inf, 0.0
        if total[0] > 0.0:
            totals[0, s], totals[1, s] = assemble(potentials, nodes, 0.0, total[0], total[1])
