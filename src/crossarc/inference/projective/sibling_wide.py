"""Inside and outside sums of the sibling model in numbers with a wide exponent.

The recurrences of `sibling_inside` and `sibling_outside` on the same charts, number by number.
Nothing over- or underflows, whatever the scores.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO
from crossarc.inference.projective.numbers import Number, marginal, plus, times
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    cell_place,
    part_place,
    part_range,
    parts_of,
    row_place,
)
from crossarc.inference.projective.sibling_wide_inside import (
    add_number,
    fill_wide_cell,
    get_number,
    set_number,
)
from crossarc.inference.projective.sibling_wide_weights import best_parts, wide_parts
from crossarc.inference.projective.weights import assemble
from crossarc.inference.runtime.quantities import LOG_PARTITION
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["sum_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean


@subkernel()
def _give(
    x: Floats, e: Ints, o: Floats, f: Ints, a: int, b: int, count: int, share: Number
) -> None:
    for k in range(count if share[0] > 0.0 else 0):
        add_number(o, f, a + k, times(share, get_number(x, e, b + k)))
        add_number(o, f, b + k, times(share, get_number(x, e, a + k)))


@subkernel()
def _give_weighted(
    x: Floats,
    e: Ints,
    o: Floats,
    f: Ints,
    a: int,
    b: int,
    w: Floats,
    v: Ints,
    c: int,
    count: int,
    share: Number,
) -> Number:
    total = (0.0, ZERO)
    for k in range(count):
        own = times(share, get_number(w, v, c + k))
        mine, yours = get_number(x, e, a + k), get_number(x, e, b + k)
        add_number(o, f, a + k, times(own, yours))
        add_number(o, f, b + k, times(own, mine))
        given = times(own, times(mine, yours))
        set_number(w, v, c + k, given)
        total = plus(total, given)
    return total


@subkernel()
def _collected(o: Floats, f: Ints, place: int, turned: int) -> Number:
    return plus(get_number(o, f, place), get_number(o, f, turned))


@subkernel()
def _give_cell(
    x: Floats,
    e: Ints,
    o: Floats,
    f: Ints,
    w: Floats,
    v: Ints,
    nodes: int,
    i: int,
    j: int,
    root_once: bool,
) -> tuple[Number, Number]:
    """What the items (i, j) give to smaller ones, as `sibling_outside` does it."""
    square = nodes * nodes
    row, column = i * nodes, j * nodes
    between, first = j - i - 1, i + 1
    at = cell_place(i, j)
    zero = (0.0, ZERO)
    taken = TO * square + row + first
    to_right = get_number(o, f, TO * square + row + j)
    if not root_once or j == nodes - 1:
        right = _collected(o, f, RIGHT * square + row + j, RIGHT * square + column + i)
        to_right = plus(to_right, right)
        _give(x, e, o, f, taken, RIGHT * square + column + first, between, right)
    lone = times(get_number(w, v, at), to_right)
    inner = LEFT * square + column + first
    add_number(o, f, inner, lone)
    total = times(lone, get_number(x, e, inner))
    set_number(w, v, at, total)
    if not root_once:
        turned = BESIDE * square + column + first
        more = _give_weighted(x, e, o, f, taken, turned, w, v, at + 1, between, to_right)
        total = plus(total, more)
    if i == 0:
        return total, zero
    back = cell_place(i, j) + j - i
    left = _collected(o, f, LEFT * square + row + j, LEFT * square + column + i)
    turned = TO * square + column + first
    to_left = plus(get_number(o, f, TO * square + column + i), left)
    _give(x, e, o, f, LEFT * square + row + first, turned, between, left)
    lone = times(get_number(w, v, back), to_left)
    inner = RIGHT * square + row + j - 1
    add_number(o, f, inner, lone)
    back_total = times(lone, get_number(x, e, inner))
    set_number(w, v, back, back_total)
    beside = BESIDE * square + row + first
    more = _give_weighted(x, e, o, f, beside, turned, w, v, back + 1, between, to_left)
    share = _collected(o, f, BESIDE * square + row + j, BESIDE * square + column + i)
    taken = LEFT * square + column + first
    _give(x, e, o, f, RIGHT * square + row + i, taken, j - i, share)
    return total, plus(back_total, more)


@subkernel()
def _read_parts(
    w: Floats,
    v: Ints,
    scores: Floats,
    nodes: int,
    single: bool,
    total: Number,
    quantity: int,
    parts: Floats,
) -> None:
    one = (1.0, 0)
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            row = row_place(nodes, h, s)
            possible = s == h or scores[h * nodes + s] > -np.inf
            for m in range(first, last):
                product = (0.0, ZERO)
                if m != h and possible and scores[h * nodes + m] > -np.inf:
                    product = get_number(w, v, part_place(h, s, m))
                parts[row + m] = marginal(product, one, total, quantity)


@subkernel()
def _solve(
    w: Floats,
    v: Ints,
    scores: Floats,
    nodes: int,
    single: bool,
    quantity: int,
    arcs: Floats,
    parts: Floats,
) -> Number:
    """Z, its mantissa 0 if there is no tree; fills the marginals."""
    square = nodes * nodes
    size = CHARTS * square
    x, e, o, f = np.empty(size), np.empty(size, np.int64), np.empty(size), np.empty(size, np.int64)
    for at in range(size):
        set_number(x, e, at, (0.0, ZERO))
        set_number(o, f, at, (0.0, ZERO))
    for i in range(nodes - 1, -1, -1):
        for chart in (RIGHT, LEFT):
            set_number(x, e, chart * square + i * nodes + i, (1.0, 0))
        for j in range(i + 1, nodes):
            fill_wide_cell(x, e, w, v, nodes, i, j, i == 0 and single)
    total = get_number(x, e, RIGHT * square + nodes - 1)
    if quantity == LOG_PARTITION or total[0] == 0.0:
        return total
    one = (1.0, 0)
    set_number(o, f, RIGHT * square + nodes - 1, one)
    for i in range(nodes):
        for j in range(nodes - 1, i, -1):
            to_right, to_left = _give_cell(x, e, o, f, w, v, nodes, i, j, i == 0 and single)
            arcs[i * nodes + j] = marginal(to_right, one, total, quantity)
            if i > 0:
                arcs[j * nodes + i] = marginal(to_left, one, total, quantity)
    if parts.shape[0] > 0:
        _read_parts(w, v, scores, nodes, single, total, quantity, parts)
    return total


@kernel(
    types.void(
        READ_FLOAT,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        _BOOL,
        _INT,
        _F1,
        _F1,
        _F2,
        _INT,
        _INT,
    )
)
def sum_wide(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    rows: Floats,
    starts: Ints,
    order: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
    begin: int,
    end: int,
) -> None:
    """Sentences order[begin:end]; arguments as those of `sibling_solve.SIGNATURE`."""
    for s in order[begin:end]:
        nodes = sizes[s] + 1
        whole = slice(offsets[s], offsets[s] + nodes * nodes)
        own, factor, potentials = scores[whole], rows[starts[s] :], np.empty(nodes)
        if not best_parts(own, factor, nodes, single, potentials):
            totals[:, s] = np.nan
            continue
        w, v = np.empty(parts_of(nodes)), np.empty(parts_of(nodes), np.int64)
        wide_parts(w, v, own, factor, nodes, label_sums[whole], single, potentials)
        parts = out_parts[starts[s] :] if out_parts.shape[0] > 0 else out_parts
        total = _solve(w, v, own, nodes, single, quantity, out[whole], parts)
        totals[0, s], totals[1, s] = -np.inf, 0.0
        if total[0] > 0.0:
            totals[0, s], totals[1, s] = assemble(potentials, nodes, 0.0, total[0], total[1])
