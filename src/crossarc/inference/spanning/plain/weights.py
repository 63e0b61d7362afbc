"""From scores in cells to weights in cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_difference
from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    exponential,
    load,
    maximum,
    minimum,
    select,
    store,
)
from crossarc.inference.arithmetic.wide import LARGEST_SCORE
from crossarc.inference.spanning.plain.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["exponentiate", "find_tops"]

Floats = NDArray[np.float64]


@subkernel()
def find_tops(cells: Cells, at: Layout, single: bool) -> None:
    """The best score into each word, of the root only if there is no other; the root's shift.

    Lanes in which scores are too large, or a word has no head, are noted in `status`.
    """
    row = at.width + 1
    nothing, zero, limit = (
        broadcast(cells, -np.inf),
        broadcast(cells, 0.0),
        broadcast(cells, LARGEST_SCORE),
    )
    status, shift = load(cells, at.status), nothing
    for m in range(at.width):
        first = at.blocks + m * row
        root = load(cells, first + at.width)
        top, lowest = nothing, zero
        for h in range(row):
            x = load(cells, first + h)
            lowest = minimum(lowest, select(nothing, x, x, zero))
            top = maximum(top, x)
        status = select(limit, maximum(top, zero - lowest), zero, status)
        if single:
            top = nothing
            for h in range(at.width):
                top = maximum(top, load(cells, first + h))
            top = select(nothing, top, top, root)
            shift = maximum(shift, select(nothing, root, root - top, nothing))
        usable = select(nothing, top, status, zero)
        status = select(zero, load(cells, at.ghosts + m), status, usable)
        store(cells, at.column_max + m, top)
    if single:
        status = select(nothing, shift, status, zero)
    store(cells, at.shift, shift if single else zero)
    store(cells, at.status, status)


@subkernel()
def exponentiate(cells: Cells, at: Layout, single: bool) -> tuple[Lanes, Lanes]:
    """Scores become weights relative to their column's top, 0 where an arc is forbidden.

    Returns how many arcs are allowed, and the lowest logarithm of a weight.
    """
    row = at.width + 1
    nothing, zero, one = broadcast(cells, -np.inf), broadcast(cells, 0.0), broadcast(cells, 1.0)
    count, lowest = zero, zero
    for m in range(at.width):
        first = at.blocks + m * row
        top = load(cells, at.column_max + m)
        for h in range(row):
            score = load(cells, first + h)
            # What comes of -inf is not used.
            x, tail = two_difference(score, top)
            if h == at.width and single:
                x, more = two_difference(x, load(cells, at.shift))
                tail = tail + more
            weight = select(nothing, score, exponential(x, x, tail), zero)
            lowest = minimum(lowest, select(nothing, score, x, zero))
            count = count + select(nothing, score, one, zero)
            store(cells, first + h, weight)
    return count, lowest
