"""The outside pass of the sibling model in float64.

The outside item O(X) is the derivative of Z by the item X. Each rule of `sibling_inside` gives to
both of its items what the other one is worth,

    O(I>(i, k)) += O(I>(i, j)) w(i, k, j) S(k, j)
    O(S(k, j)) += O(I>(i, j)) w(i, k, j) I>(i, k)

and so on; mu(i, k, j) = I>(i, k) S(k, j) w(i, k, j) O(I>(i, j)) / Z, and mu[i, j] the sum of these
over k. 5 n^3 / 3 products. Items are collected by row and by column and added up when they are
read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.lanes import LANES, Lanes, choose, load_entries, repeat, store_entries
from crossarc.inference.projective.semirings import SUM, reducing
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    BESIDE_TURNED,
    LEFT,
    LEFT_TURNED,
    NUMBERS,
    RIGHT,
    RIGHT_TURNED,
    TO_LEFT_TURNED,
    TO_RIGHT,
    left_place,
    right_place,
)
from crossarc.kernels import subkernel

__all__ = ["sibling_outside"]

Floats = NDArray[np.float64]

_total = reducing(SUM)


@subkernel(inline=True)
def _add_lanes(o: Floats, place: int, value: Lanes, numbers: Lanes, count: Lanes) -> None:
    """Add to the first `count` of eight numbers."""
    old = load_entries(o, place)
    store_entries(o, place, choose(numbers, count, old + value, old))


@subkernel(inline=True)
def _give(x: Floats, o: Floats, a: int, b: int, count: int, share: float) -> None:
    """o[a + k] += share x[b + k] and o[b + k] += share x[a + k]."""
    numbers, part = load_entries(NUMBERS, 0), repeat(share)
    for k in range(0, count, LANES):
        left = repeat(float(count - k))
        _add_lanes(o, a + k, part * load_entries(x, b + k), numbers, left)
        _add_lanes(o, b + k, part * load_entries(x, a + k), numbers, left)


@subkernel(inline=True)
def _give_weighted(
    x: Floats, o: Floats, a: int, b: int, w: Floats, c: int, count: int, share: float
) -> float:
    """The same with weights, in whose place what was given is left; returns its sum."""
    numbers, zero = load_entries(NUMBERS, 0), repeat(0.0)
    total = zero
    for k in range(0, count, LANES):
        left = repeat(float(count - k))
        weight = load_entries(w, c + k)
        own = repeat(share) * weight
        mine, yours = load_entries(x, a + k), load_entries(x, b + k)
        _add_lanes(o, a + k, own * yours, numbers, left)
        _add_lanes(o, b + k, own * mine, numbers, left)
        given = choose(numbers, left, mine * yours * own, zero)
        store_entries(w, c + k, choose(numbers, left, given, weight))
        total = total + given
    return _total(total)


@subkernel(inline=True)
def _collected(x: Floats, o: Floats, place: int, turned: int) -> float:
    """The outside item, by row and by column; 0 if the item is impossible."""
    return entry(o, place) + entry(o, turned) if entry(x, place) > 0.0 else 0.0


@subkernel(inline=True)
def _add(o: Floats, place: int, value: float) -> None:
    put(o, place, entry(o, place) + value)


@subkernel(inline=True)
def _give_cell(
    x: Floats, o: Floats, w: Floats, nodes: int, i: int, j: int, root_once: bool
) -> tuple[float, float]:
    """What the items (i, j) give to smaller ones; the sums for the arcs i -> j and j -> i."""
    square = nodes * nodes
    row, column = i * nodes, j * nodes
    between, first = j - i - 1, i + 1
    at = right_place(nodes, i, j)
    taken = TO_RIGHT * square + row + first
    to_right = entry(o, TO_RIGHT * square + row + j)
    if not root_once or j == nodes - 1:
        # C>(i, j) = sum of I>(i, k) C>(k, j);  C>(j, j) = 1
        own = RIGHT * square + row + j
        right = _collected(x, o, own, RIGHT_TURNED * square + column + i)
        to_right += right
        _give(x, o, taken, RIGHT_TURNED * square + column + first, between, right)
    to_right = to_right if entry(x, TO_RIGHT * square + row + j) > 0.0 else 0.0
    # I>(i, j) = w(i, i, j) C<(i+1, j) + ...
    lone = entry(w, at) * to_right
    _add(o, LEFT_TURNED * square + column + first, lone)
    total = lone * entry(x, LEFT_TURNED * square + column + first)
    put(w, at, total)
    if not root_once:
        turned = BESIDE_TURNED * square + column + first
        total += _give_weighted(x, o, taken, turned, w, at + 1, between, to_right)
    else:
        for k in range(between):
            put(w, at + 1 + k, 0.0)
    if i == 0:
        return total, 0.0
    back = left_place(nodes, i, j)
    left = _collected(x, o, LEFT * square + row + j, LEFT_TURNED * square + column + i)
    turned = TO_LEFT_TURNED * square + column + first
    to_left = entry(o, TO_LEFT_TURNED * square + column + i) + left
    to_left = to_left if entry(x, TO_LEFT_TURNED * square + column + i) > 0.0 else 0.0
    # C<(i, j) = sum of C<(i, k) I<(k, j)
    _give(x, o, LEFT * square + row + first, turned, between, left)
    # I<(i, j) = w(j, j, i) C>(i, j-1) + ...
    lone = entry(w, back) * to_left
    _add(o, RIGHT * square + row + j - 1, lone)
    back_total = lone * entry(x, RIGHT * square + row + j - 1)
    put(w, back, back_total)
    beside = BESIDE * square + row + first
    back_total += _give_weighted(x, o, beside, turned, w, back + 1, between, to_left)
    # S(i, j) = sum of C>(i, k) C<(k+1, j)
    share = _collected(x, o, BESIDE * square + row + j, BESIDE_TURNED * square + column + i)
    _give(x, o, RIGHT * square + row + i, LEFT_TURNED * square + column + first, j - i, share)
    return total, back_total


@subkernel()
def sibling_outside(
    x: Floats, o: Floats, w: Floats, nodes: int, single: bool, goal: float, arcs: Floats
) -> None:
    """Put mu times Z times `goal` in place of the weights of parts, and for arcs into `arcs`.

    Args:
        o: as large as x, all zeros.
        goal: O(C>(0, n)).
    """
    put(o, RIGHT * nodes * nodes + nodes - 1, goal)
    for i in range(nodes):
        for j in range(nodes - 1, i, -1):
            to_right, to_left = _give_cell(x, o, w, nodes, i, j, i == 0 and single)
            arcs[i * nodes + j] = to_right
            if i > 0:
                arcs[j * nodes + i] = to_left
