"""Charts of the sibling model: where its items and weights lie.

Items are those of `sibling`: C>, C<, I>, I<, and S in place of B. Every sum over k reads an item
(i, k) and an item (k, j), so a square of items stands row by row, a turned one column by column,
and k runs along both. The weights of parts stand cell by cell: for i < j, first those of the part
without a sibling and then those with k as the sibling, i < k < j,

    w(i, i, j), w(i, i+1, j), ..., w(i, j-1, j)        and        w(j, j, i), w(j, i+1, i), ...

so that k runs along them too. All cells of one head stand together: the given scores, where m runs
along, are then turned within a piece of memory that is small. There are n^3 / 3 weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.lanes import LANES
from crossarc.kernels import subkernel

__all__ = [
    "BESIDE",
    "BESIDE_TURNED",
    "INSIDE_CHARTS",
    "LEFT",
    "LEFT_TURNED",
    "NUMBERS",
    "RIGHT",
    "RIGHT_TURNED",
    "TO_LEFT_TURNED",
    "TO_RIGHT",
    "cells",
    "left_place",
    "part_place",
    "right_place",
    "sibling_room",
]

Floats = NDArray[np.float64]

#: C>, I>, C<, S by [i, j], and C>, C<, I<, S by [j, i]: squares of (n + 1)^2 in one flat array.
RIGHT, TO_RIGHT, LEFT, BESIDE = 0, 1, 2, 3
RIGHT_TURNED, LEFT_TURNED, TO_LEFT_TURNED, BESIDE_TURNED = 4, 5, 6, 7
INSIDE_CHARTS = 8

#: 0, 1, ..., to tell the lanes of a vector that are beyond the end of a row.
NUMBERS = np.arange(float(LANES))
NUMBERS.flags.writeable = False


@subkernel()
def cells(nodes: int) -> int:
    """Weights in one direction: the sum of j - i over all i < j."""
    return (nodes - 1) * nodes * (nodes + 1) // 6


def sibling_room(words: int) -> int:
    """Numbers that the kernels of the sibling model work in."""
    nodes = words + 1
    weights = 2 * ((nodes - 1) * nodes * (nodes + 1) // 6)
    return 2 * INSIDE_CHARTS * nodes * nodes + weights + 4 * nodes + 4 * LANES


@subkernel()
def right_place(nodes: int, i: int, j: int) -> int:
    """Where the weights of the cell (i, j), i < j, to the right begin: all cells of i together."""
    rest = nodes - 1 - i
    return cells(nodes) - rest * (rest + 1) * (rest + 2) // 6 + (j - i) * (j - i - 1) // 2


@subkernel()
def left_place(nodes: int, i: int, j: int) -> int:
    """The same to the left: behind the others, all cells of j together."""
    return cells(nodes) + (j - 1) * j * (j + 1) // 6 + (j - i) * (j - i - 1) // 2


@subkernel()
def part_place(nodes: int, h: int, s: int, m: int) -> int:
    """Where the weight of a part stands."""
    if h < m:
        return right_place(nodes, h, m) + s - h
    return left_place(nodes, m, h) + (0 if s == h else s - m)
