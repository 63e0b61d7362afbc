"""The inside items of the sibling model in numbers with a wide exponent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO
from crossarc.inference.projective.numbers import Number, plus, times
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    LEFT,
    RIGHT,
    TO,
    cell_place,
)
from crossarc.kernels import subkernel

__all__ = ["add_number", "fill_wide_cell", "get_number", "set_number"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def get_number(x: Floats, e: Ints, at: int) -> Number:
    """The number at a place."""
    return x[at], e[at]


@subkernel()
def set_number(x: Floats, e: Ints, at: int, number: Number) -> None:
    """Put a number at a place."""
    x[at], e[at] = number


@subkernel()
def add_number(x: Floats, e: Ints, at: int, number: Number) -> None:
    """Add a number to the one at a place."""
    x[at], e[at] = plus((x[at], e[at]), number)


@subkernel()
def _join(x: Floats, e: Ints, a: int, b: int, count: int, start: Number) -> Number:
    total = start
    for k in range(count):
        total = plus(total, times(get_number(x, e, a + k), get_number(x, e, b + k)))
    return total


@subkernel()
def _join_weighted(
    x: Floats, e: Ints, a: int, b: int, w: Floats, v: Ints, c: int, count: int, start: Number
) -> Number:
    total = start
    for k in range(count):
        pair = times(get_number(x, e, a + k), get_number(x, e, b + k))
        total = plus(total, times(pair, get_number(w, v, c + k)))
    return total


@subkernel()
def fill_wide_cell(
    x: Floats, e: Ints, w: Floats, v: Ints, nodes: int, i: int, j: int, root_once: bool
) -> None:
    """The items (i, j), as `sibling_inside` fills them."""
    square = nodes * nodes
    row, column = i * nodes, j * nodes
    between, first = j - i - 1, i + 1
    at = cell_place(i, j)
    zero = (0.0, ZERO)
    to_right = times(get_number(w, v, at), get_number(x, e, LEFT * square + column + first))
    beside, to_left, left, right = zero, zero, zero, zero
    if i > 0:
        beside_row = RIGHT * square + row + i
        beside = _join(x, e, beside_row, LEFT * square + column + first, j - i, zero)
        back = cell_place(i, j) + j - i
        turned = TO * square + column + first
        to_left = times(get_number(w, v, back), get_number(x, e, RIGHT * square + row + j - 1))
        beside_row = BESIDE * square + row + first
        to_left = _join_weighted(x, e, beside_row, turned, w, v, back + 1, between, to_left)
        left = _join(x, e, LEFT * square + row + first, turned, between, to_left)
    taken = TO * square + row + first
    if not root_once:
        turned = BESIDE * square + column + first
        to_right = _join_weighted(x, e, taken, turned, w, v, at + 1, between, to_right)
    if not root_once or j == nodes - 1:
        right = _join(x, e, taken, RIGHT * square + column + first, between, to_right)
    set_number(x, e, RIGHT * square + row + j, right)
    set_number(x, e, RIGHT * square + column + i, right)
    set_number(x, e, LEFT * square + row + j, left)
    set_number(x, e, LEFT * square + column + i, left)
    set_number(x, e, TO * square + row + j, to_right)
    set_number(x, e, TO * square + column + i, to_left)
    set_number(x, e, BESIDE * square + row + j, beside)
    set_number(x, e, BESIDE * square + column + i, beside)
