"""Inside and outside sums of the sibling model in numbers with a wide exponent.

The recurrences of `sibling_inside` and `sibling_outside` on the same charts, number by number.
Nothing over- or underflows, whatever the scores.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import ZERO
from crossarc.inference.projective.numbers import Number, marginal, plus, times
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    BESIDE_TURNED,
    INSIDE_CHARTS,
    LEFT,
    LEFT_TURNED,
    RIGHT,
    RIGHT_TURNED,
    TO_LEFT_TURNED,
    TO_RIGHT,
    cells,
    left_place,
    part_place,
    right_place,
)
from crossarc.inference.projective.sibling_weights import best_parts, part_range, wide_parts
from crossarc.inference.projective.weights import assemble
from crossarc.inference.spanning.wanted import TOTAL
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer_sibling_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean


@subkernel()
def _get(x: Floats, e: Ints, at: int) -> Number:
    return x[at], e[at]


@subkernel()
def _set(x: Floats, e: Ints, at: int, number: Number) -> None:
    x[at], e[at] = number


@subkernel()
def _add(x: Floats, e: Ints, at: int, number: Number) -> None:
    x[at], e[at] = plus((x[at], e[at]), number)


@subkernel()
def _join(x: Floats, e: Ints, a: int, b: int, count: int, start: Number) -> Number:
    total = start
    for k in range(count):
        total = plus(total, times(_get(x, e, a + k), _get(x, e, b + k)))
    return total


@subkernel()
def _join_weighted(
    x: Floats, e: Ints, a: int, b: int, w: Floats, v: Ints, c: int, count: int, start: Number
) -> Number:
    total = start
    for k in range(count):
        pair = times(_get(x, e, a + k), _get(x, e, b + k))
        total = plus(total, times(pair, _get(w, v, c + k)))
    return total


@subkernel()
def _fill_cell(
    x: Floats, e: Ints, w: Floats, v: Ints, nodes: int, i: int, j: int, root_once: bool
) -> None:
    """The items (i, j), as `sibling_inside` fills them."""
    square = nodes * nodes
    row, column = i * nodes, j * nodes
    between, first = j - i - 1, i + 1
    at = right_place(nodes, i, j)
    zero = (0.0, ZERO)
    to_right = times(_get(w, v, at), _get(x, e, LEFT_TURNED * square + column + first))
    beside, to_left, left, right = zero, zero, zero, zero
    if i > 0:
        beside_row = RIGHT * square + row + i
        beside = _join(x, e, beside_row, LEFT_TURNED * square + column + first, j - i, zero)
        back = left_place(nodes, i, j)
        turned = TO_LEFT_TURNED * square + column + first
        to_left = times(_get(w, v, back), _get(x, e, RIGHT * square + row + j - 1))
        beside_row = BESIDE * square + row + first
        to_left = _join_weighted(x, e, beside_row, turned, w, v, back + 1, between, to_left)
        left = _join(x, e, LEFT * square + row + first, turned, between, to_left)
    taken = TO_RIGHT * square + row + first
    if not root_once:
        turned = BESIDE_TURNED * square + column + first
        to_right = _join_weighted(x, e, taken, turned, w, v, at + 1, between, to_right)
    if not root_once or j == nodes - 1:
        right = _join(x, e, taken, RIGHT_TURNED * square + column + first, between, to_right)
    _set(x, e, RIGHT * square + row + j, right)
    _set(x, e, RIGHT_TURNED * square + column + i, right)
    _set(x, e, LEFT * square + row + j, left)
    _set(x, e, LEFT_TURNED * square + column + i, left)
    _set(x, e, TO_RIGHT * square + row + j, to_right)
    _set(x, e, TO_LEFT_TURNED * square + column + i, to_left)
    _set(x, e, BESIDE * square + row + j, beside)
    _set(x, e, BESIDE_TURNED * square + column + i, beside)


@subkernel()
def _give(
    x: Floats, e: Ints, o: Floats, f: Ints, a: int, b: int, count: int, share: Number
) -> None:
    for k in range(count if share[0] > 0.0 else 0):
        _add(o, f, a + k, times(share, _get(x, e, b + k)))
        _add(o, f, b + k, times(share, _get(x, e, a + k)))


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
        own = times(share, _get(w, v, c + k))
        mine, yours = _get(x, e, a + k), _get(x, e, b + k)
        _add(o, f, a + k, times(own, yours))
        _add(o, f, b + k, times(own, mine))
        given = times(own, times(mine, yours))
        _set(w, v, c + k, given)
        total = plus(total, given)
    return total


@subkernel()
def _collected(o: Floats, f: Ints, place: int, turned: int) -> Number:
    return plus(_get(o, f, place), _get(o, f, turned))


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
    at = right_place(nodes, i, j)
    zero = (0.0, ZERO)
    taken = TO_RIGHT * square + row + first
    to_right = _get(o, f, TO_RIGHT * square + row + j)
    if not root_once or j == nodes - 1:
        right = _collected(o, f, RIGHT * square + row + j, RIGHT_TURNED * square + column + i)
        to_right = plus(to_right, right)
        _give(x, e, o, f, taken, RIGHT_TURNED * square + column + first, between, right)
    lone = times(_get(w, v, at), to_right)
    inner = LEFT_TURNED * square + column + first
    _add(o, f, inner, lone)
    total = times(lone, _get(x, e, inner))
    _set(w, v, at, total)
    if not root_once:
        turned = BESIDE_TURNED * square + column + first
        more = _give_weighted(x, e, o, f, taken, turned, w, v, at + 1, between, to_right)
        total = plus(total, more)
    if i == 0:
        return total, zero
    back = left_place(nodes, i, j)
    left = _collected(o, f, LEFT * square + row + j, LEFT_TURNED * square + column + i)
    turned = TO_LEFT_TURNED * square + column + first
    to_left = plus(_get(o, f, TO_LEFT_TURNED * square + column + i), left)
    _give(x, e, o, f, LEFT * square + row + first, turned, between, left)
    lone = times(_get(w, v, back), to_left)
    inner = RIGHT * square + row + j - 1
    _add(o, f, inner, lone)
    back_total = times(lone, _get(x, e, inner))
    _set(w, v, back, back_total)
    beside = BESIDE * square + row + first
    more = _give_weighted(x, e, o, f, beside, turned, w, v, back + 1, between, to_left)
    share = _collected(o, f, BESIDE * square + row + j, BESIDE_TURNED * square + column + i)
    taken = LEFT_TURNED * square + column + first
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
    wanted: int,
    parts: Floats,
) -> None:
    one = (1.0, 0)
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            possible = s == h or scores[h * nodes + s] > -np.inf
            for m in range(first, last if possible else first):
                if scores[h * nodes + m] > -np.inf:
                    product = _get(w, v, part_place(nodes, h, s, m))
                    parts[(h * nodes + s) * nodes + m] = marginal(product, one, total, wanted)


@subkernel()
def _solve(
    w: Floats,
    v: Ints,
    scores: Floats,
    nodes: int,
    single: bool,
    wanted: int,
    arcs: Floats,
    parts: Floats,
) -> Number:
    """Z, its mantissa 0 if there is no tree; fills the marginals."""
    square = nodes * nodes
    size = INSIDE_CHARTS * square
    x, e, o, f = np.empty(size), np.empty(size, np.int64), np.empty(size), np.empty(size, np.int64)
    for at in range(size):
        _set(x, e, at, (0.0, ZERO))
        _set(o, f, at, (0.0, ZERO))
    for i in range(nodes - 1, -1, -1):
        for chart in (RIGHT, LEFT, RIGHT_TURNED, LEFT_TURNED):
            _set(x, e, chart * square + i * nodes + i, (1.0, 0))
        for j in range(i + 1, nodes):
            _fill_cell(x, e, w, v, nodes, i, j, i == 0 and single)
    total = _get(x, e, RIGHT * square + nodes - 1)
    if wanted == TOTAL or total[0] == 0.0:
        return total
    one = (1.0, 0)
    _set(o, f, RIGHT * square + nodes - 1, one)
    for i in range(nodes):
        for j in range(nodes - 1, i, -1):
            to_right, to_left = _give_cell(x, e, o, f, w, v, nodes, i, j, i == 0 and single)
            arcs[i * nodes + j] = marginal(to_right, one, total, wanted)
            if i > 0:
                arcs[j * nodes + i] = marginal(to_left, one, total, wanted)
    if parts.shape[0] > 0:
        _read_parts(w, v, scores, nodes, single, total, wanted, parts)
    return total


@kernel(
    types.void(
        READ_FLOAT,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        READ_FLOAT,
        READ_INT,
        _BOOL,
        _INT,
        _F1,
        _F1,
        _F2,
    )
)
def infer_sibling_wide(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    siblings: Floats,
    cubes: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
) -> None:
    """All sentences of a batch, as `infer_sibling` does."""
    for s in range(sizes.shape[0]):
        nodes, at, cube = sizes[s] + 1, offsets[s], cubes[s]
        whole = slice(at, at + nodes * nodes)
        all_parts = slice(cube, cube + nodes * nodes * nodes)
        own, factor = scores[whole], siblings[all_parts]
        potentials = np.empty(nodes)
        if not best_parts(own, factor, nodes, single, potentials):
            totals[:, s] = np.nan
            continue
        w, v = np.empty(2 * cells(nodes)), np.empty(2 * cells(nodes), np.int64)
        wide_parts(w, v, own, factor, nodes, masses[whole], single, potentials)
        total = _solve(w, v, own, nodes, single, wanted, out[whole], out_parts[all_parts])
        totals[0, s], totals[1, s] = -np.inf, 0.0
        if total[0] > 0.0:
            totals[0, s], totals[1, s] = assemble(potentials, nodes, 0.0, total[0], total[1])
