"""The outside pass of the sibling model in float64, in lanes.

The outside item O(X) is the derivative of Z by the item X. Each rule of `sibling_inside` gives to
both of its items what the other one is worth,

    O(I>(i, k)) += O(I>(i, j)) w(i, k, j) S(k, j)
    O(S(k, j)) += O(I>(i, j)) w(i, k, j) I>(i, k)

and so on; mu(i, k, j) = I>(i, k) S(k, j) w(i, k, j) O(I>(i, j)) / Z and mu[i, j] = I>(i, j) O(I>(i,
j)) / Z. 5 n^3 / 3 products. Outside items lie as the inside items do. What an item is given as
(i, k) and as (k, j) is collected in its two places and added up when it is read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Lanes, broadcast, fma, load, select, store
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    cell_place,
)
from crossarc.kernels import subkernel

__all__ = ["sibling_outside"]

Floats = NDArray[np.float64]


@subkernel(inline=True)
def _add(o: Floats, place: int, x: Lanes, y: Lanes) -> None:
    """o += x y."""
    store(o, place, fma(x, y, load(o, place)))


@subkernel(inline=True)
def _possible(x: Floats, place: int, value: Lanes) -> Lanes:
    """An outside item; 0 if the item is impossible."""
    zero = broadcast(x, 0.0)
    return select(zero, load(x, place), value, zero)


@subkernel(inline=True)
def _collected(x: Floats, o: Floats, place: int, turned: int) -> Lanes:
    return _possible(x, place, load(o, place) + load(o, turned))


@subkernel(inline=True)
def _give_parts(
    x: Floats, w: Floats, nodes: int, i: int, j: int, to_right: Lanes, to_left: Lanes
) -> None:
    """The products of the parts of (i, j), in place of their weights."""
    row, column = i * nodes, j * nodes
    at = cell_place(i, j)
    back = at + j - i
    own = to_right * load(w, at)
    store(w, at, own * load(x, LEFT + CHARTS * (column + i + 1)))
    store(w, back, to_left * load(w, back) * load(x, RIGHT + CHARTS * (row + j - 1)))
    for k in range(i + 1, j):
        pair = load(x, TO + CHARTS * (row + k)) * load(x, BESIDE + CHARTS * (column + k))
        store(w, at + k - i, pair * (to_right * load(w, at + k - i)))
        pair = load(x, BESIDE + CHARTS * (row + k)) * load(x, TO + CHARTS * (column + k))
        store(w, back + k - i, pair * (to_left * load(w, back + k - i)))


@subkernel(inline=True)
def _give_cell(
    x: Floats, o: Floats, w: Floats, nodes: int, i: int, j: int, with_parts: bool
) -> tuple[Lanes, Lanes]:
    """What the items (i, j), i > 0, give to smaller ones; O(I>) and O(I<)."""
    row, column = i * nodes, j * nodes
    at = cell_place(i, j)
    back = at + j - i
    right = _collected(x, o, RIGHT + CHARTS * (row + j), RIGHT + CHARTS * (column + i))
    left = _collected(x, o, LEFT + CHARTS * (row + j), LEFT + CHARTS * (column + i))
    share = _collected(x, o, BESIDE + CHARTS * (row + j), BESIDE + CHARTS * (column + i))
    place = TO + CHARTS * (row + j)
    to_right = _possible(x, place, load(o, place) + right)
    place = TO + CHARTS * (column + i)
    to_left = _possible(x, place, load(o, place) + left)
    # S(i, j) = C<(i+1, j) + ... + C>(i, j-1);  I>(i, j) = w(i, i, j) C<(i+1, j) + ...;
    # I<(i, j) = w(j, j, i) C>(i, j-1) + ...
    place = LEFT + CHARTS * (column + i + 1)
    store(o, place, load(o, place) + fma(to_right, load(w, at), share))
    _add(o, RIGHT + CHARTS * (row + j - 1), to_left, load(w, back))
    for k in range(i + 1, j):
        mine, yours = load(x, TO + CHARTS * (row + k)), load(x, TO + CHARTS * (column + k))
        # C>(i, j) = sum of I>(i, k) C>(k, j);  I>(i, j) = ... + I>(i, k) S(k, j) w(i, k, j)
        own = to_right * load(w, at + k - i)
        place = TO + CHARTS * (row + k)
        given = fma(right, load(x, RIGHT + CHARTS * (column + k)), load(o, place))
        store(o, place, fma(own, load(x, BESIDE + CHARTS * (column + k)), given))
        _add(o, RIGHT + CHARTS * (column + k), right, mine)
        _add(o, BESIDE + CHARTS * (column + k), own, mine)
        # C<(i, j) = sum of C<(i, k) I<(k, j);  I<(i, j) = ... + S(i, k) I<(k, j) w(j, k, i)
        own = to_left * load(w, back + k - i)
        place = TO + CHARTS * (column + k)
        given = fma(left, load(x, LEFT + CHARTS * (row + k)), load(o, place))
        store(o, place, fma(own, load(x, BESIDE + CHARTS * (row + k)), given))
        _add(o, LEFT + CHARTS * (row + k), left, yours)
        _add(o, BESIDE + CHARTS * (row + k), own, yours)
        # S(i, j) = sum of C>(i, k) C<(k+1, j)
        _add(o, RIGHT + CHARTS * (row + k), share, load(x, LEFT + CHARTS * (column + k + 1)))
        _add(o, LEFT + CHARTS * (column + k + 1), share, load(x, RIGHT + CHARTS * (row + k)))
    if with_parts:
        _give_parts(x, w, nodes, i, j, to_right, to_left)
    return to_right, to_left


@subkernel(inline=True)
def _give_root(
    x: Floats, o: Floats, w: Floats, nodes: int, j: int, single: bool, with_parts: bool
) -> Lanes:
    """What the items (0, j) give to smaller ones; O(I>)."""
    column, at = j * nodes, cell_place(0, j)
    right = _possible(x, RIGHT + CHARTS * j, load(o, RIGHT + CHARTS * j))
    to_right = _possible(x, TO + CHARTS * j, load(o, TO + CHARTS * j) + right)
    _add(o, LEFT + CHARTS * (column + 1), to_right, load(w, at))
    for k in range(1, j):
        mine = load(x, TO + CHARTS * k)
        place = TO + CHARTS * k
        given = fma(right, load(x, RIGHT + CHARTS * (column + k)), load(o, place))
        _add(o, RIGHT + CHARTS * (column + k), right, mine)
        if not single:
            own = to_right * load(w, at + k)
            given = fma(own, load(x, BESIDE + CHARTS * (column + k)), given)
            _add(o, BESIDE + CHARTS * (column + k), own, mine)
        store(o, place, given)
    if with_parts:
        store(w, at, to_right * load(w, at) * load(x, LEFT + CHARTS * (column + 1)))
        for k in range(1, 1 if single else j):
            pair = load(x, TO + CHARTS * k) * load(x, BESIDE + CHARTS * (column + k))
            store(w, at + k, pair * (to_right * load(w, at + k)))
    return to_right


@subkernel()
def sibling_outside(
    x: Floats, o: Floats, w: Floats, nodes: int, single: bool, arcs: Floats, with_parts: bool
) -> None:
    """Put mu times Z times O(goal) into `arcs`, [h, m], and if quantity in place of weights.

    Args:
        o: zeros, but for the goals O(C>(0, n)).
    """
    for j in range(nodes - 1, 0, -1):
        to_right = _give_root(x, o, w, nodes, j, single, with_parts)
        store(arcs, j, to_right * load(x, TO + CHARTS * j))
        for i in range(1, j):
            row, column = i * nodes + j, j * nodes + i
            to_right, to_left = _give_cell(x, o, w, nodes, i, j, with_parts)
            store(arcs, row, to_right * load(x, TO + CHARTS * row))
            store(arcs, column, to_left * load(x, TO + CHARTS * column))
