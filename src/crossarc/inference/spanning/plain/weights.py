"""From scores in cells to weights in cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.exponentials import exact_difference, exponential
from crossarc.inference.extended import LARGEST_SCORE
from crossarc.inference.lanes import Cells, Lanes, choose, larger, load, smaller, spread, store
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
    nothing, zero, limit = spread(cells, -np.inf), spread(cells, 0.0), spread(cells, LARGEST_SCORE)
    status, shift = load(cells, at.status), nothing
    for m in range(at.width):
        first = at.blocks + m * row
        root = load(cells, first + at.width)
        top, lowest = nothing, zero
        for h in range(row):
            x = load(cells, first + h)
            lowest = smaller(lowest, choose(nothing, x, x, zero))
            top = larger(top, x)
        status = choose(limit, larger(top, zero - lowest), zero, status)
        if single:
            top = nothing
            for h in range(at.width):
                top = larger(top, load(cells, first + h))
            top = choose(nothing, top, top, root)
            shift = larger(shift, choose(nothing, root, root - top, nothing))
        usable = choose(nothing, top, status, zero)
        status = choose(zero, load(cells, at.ghosts + m), status, usable)
        store(cells, at.tops + m, top)
    if single:
        status = choose(nothing, shift, status, zero)
    store(cells, at.shift, shift if single else zero)
    store(cells, at.status, status)


@subkernel()
def exponentiate(cells: Cells, at: Layout, single: bool) -> tuple[Lanes, Lanes]:
    """Scores become weights relative to their column's top, 0 where an arc is forbidden.

    Returns how many arcs are allowed, and the lowest logarithm of a weight.
    """
    row = at.width + 1
    nothing, zero, one = spread(cells, -np.inf), spread(cells, 0.0), spread(cells, 1.0)
    count, lowest = zero, zero
    for m in range(at.width):
        first = at.blocks + m * row
        top = load(cells, at.tops + m)
        for h in range(row):
            score = load(cells, first + h)
            # What comes of -inf is not used.
            x, tail = exact_difference(score, top)
            if h == at.width and single:
                x, more = exact_difference(x, load(cells, at.shift))
                tail = tail + more
            weight = choose(nothing, score, exponential(cells, x, tail), zero)
            lowest = smaller(lowest, choose(nothing, score, x, zero))
            count = count + choose(nothing, score, one, zero)
            store(cells, first + h, weight)
    return count, lowest
