"""The outside pass of Eisner's algorithm in lanes, for short sentences.

The rules of `eisner_outside`, turned: each item gives to those that it is made of what the other
one is worth. Outside items lie as the inside items do (`short_inside`). What an item is given as
(i, k) and as (k, j) is collected in its two places and added up when it is read.
"""

from __future__ import annotations

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    fma,
    load,
    offset,
    select,
    store,
)
from crossarc.inference.projective.short_inside import CHARTS, LEFT, TO
from crossarc.kernels import subkernel

__all__ = ["short_outside"]


@subkernel(inline=True)
def _add(o: Cells, place: int, x: Lanes, y: Lanes) -> None:
    """o += x y."""
    store(o, place, fma(x, y, load(o, place)))


@subkernel(inline=True)
def _possible(item: Lanes, outer: Lanes, zero: Lanes) -> Lanes:
    """An outside item; 0 if the item is impossible."""
    return select(zero, item, outer, zero)


@subkernel(inline=True)
def _give_cell(x: Cells, o: Cells, w: Cells, nodes: int, i: int, j: int) -> None:
    """What the items (i, j), i > 0, give to smaller ones; I O in place of the arcs' weights."""
    row, column = i * nodes, j * nodes
    rights, lefts, tos = x, offset(x, LEFT), offset(x, TO)
    to_rights, to_lefts, to_tos = o, offset(o, LEFT), offset(o, TO)
    zero = broadcast(x, 0.0)
    right = load(to_rights, CHARTS * (row + j)) + load(to_rights, CHARTS * (column + i))
    right = _possible(load(rights, CHARTS * (row + j)), right, zero)
    left = load(to_lefts, CHARTS * (row + j)) + load(to_lefts, CHARTS * (column + i))
    left = _possible(load(lefts, CHARTS * (row + j)), left, zero)
    item_right, item_left = load(tos, CHARTS * (row + j)), load(tos, CHARTS * (column + i))
    to_right = _possible(item_right, load(to_tos, CHARTS * (row + j)) + right, zero)
    to_left = _possible(item_left, load(to_tos, CHARTS * (column + i)) + left, zero)
    both = fma(to_left, load(w, column + i), to_right * load(w, row + j))
    store(to_lefts, CHARTS * (column + i + 1), load(to_lefts, CHARTS * (column + i + 1)) + both)
    for k in range(i + 1, j):
        # B(i, j) = sum of C>(i, k) C<(k+1, j)
        _add(to_rights, CHARTS * (row + k), both, load(lefts, CHARTS * (column + k + 1)))
        _add(to_lefts, CHARTS * (column + k + 1), both, load(rights, CHARTS * (row + k)))
        # C>(i, j) = sum of I>(i, k) C>(k, j)
        _add(to_tos, CHARTS * (row + k), right, load(rights, CHARTS * (column + k)))
        _add(to_rights, CHARTS * (column + k), right, load(tos, CHARTS * (row + k)))
        # C<(i, j) = sum of C<(i, k) I<(k, j)
        _add(to_lefts, CHARTS * (row + k), left, load(tos, CHARTS * (column + k)))
        _add(to_tos, CHARTS * (column + k), left, load(lefts, CHARTS * (row + k)))
    store(w, row + j, to_right * item_right)
    store(w, column + i, to_left * item_left)


@subkernel(inline=True)
def _give_root(x: Cells, o: Cells, w: Cells, nodes: int, j: int, single: bool) -> None:
    """The same for the items (0, j)."""
    column = j * nodes
    rights, lefts, tos = x, offset(x, LEFT), offset(x, TO)
    to_rights, to_lefts, to_tos = o, offset(o, LEFT), offset(o, TO)
    zero = broadcast(x, 0.0)
    right = _possible(load(rights, CHARTS * (j)), load(to_rights, CHARTS * (j)), zero)
    item = load(tos, CHARTS * (j))
    to_right = _possible(item, load(to_tos, CHARTS * (j)) + right, zero)
    both = to_right * load(w, j)
    store(to_lefts, CHARTS * (column + 1), load(to_lefts, CHARTS * (column + 1)) + both)
    for k in range(1, j):
        if not single:
            _add(to_rights, CHARTS * (k), both, load(lefts, CHARTS * (column + k + 1)))
            _add(to_lefts, CHARTS * (column + k + 1), both, load(rights, CHARTS * (k)))
        _add(to_tos, CHARTS * (k), right, load(rights, CHARTS * (column + k)))
        _add(to_rights, CHARTS * (column + k), right, load(tos, CHARTS * (k)))
    store(w, j, to_right * item)


@subkernel()
def short_outside(x: Cells, o: Cells, w: Cells, nodes: int, single: bool) -> None:
    """Put I O in place of the weights w; o is 0, but for the goals O(C>(0, n))."""
    for j in range(nodes - 1, 0, -1):
        _give_root(x, o, w, nodes, j, single)
        for i in range(1, j):
            _give_cell(x, o, w, nodes, i, j)
