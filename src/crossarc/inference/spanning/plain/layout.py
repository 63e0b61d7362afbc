"""Where eight sentences in lockstep keep their numbers: regions of one array of cells.

A cell is a number of each sentence (`lanes`). Words are counted from 0 here, to a width that is a
multiple of FOUR. Sentences that are shorter have *padding*: words without arcs in or out, so
that they add nothing but zeros to what belongs to others. `ghosts` is 1 for them: they have
somewhere to go, and no quotient is 0 / 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.kernels import subkernel

__all__ = ["FOUR", "Layout", "lay_out", "room"]

Floats = NDArray[np.float64]

#: Nodes are eliminated and tiles computed by four.
FOUR = 4


class Layout(NamedTuple):
    """The first cell of each region. A block of size s has s rows of s + 1, the root's last."""

    width: int
    blocks: int  # w[m, h]; first of all nodes, then of what is kept
    factors: int  # (width, width): column k as it is when node k is eliminated
    shares: int  # (width, width + 1): of eliminated nodes, the root's last
    reach: int  # (width, width): E[h, m], in the end the results
    roots: int  # results of the root
    pivots: int
    inverses: int  # of the pivots
    ghosts: int
    column_max: int
    least_shares: int
    status: int  # 1 where all denominators were above 0, else 0
    smallest: int  # product of two factors; infinite without forbidden arcs
    least_reach: int  # of E, if not 0
    shift: int  # of the root's scores
    forbidden: int  # 1 where some arc is
    tops_sum: int  # of all column_max, in two cells
    end: int


@subkernel()
def lay_out(n: int) -> Layout:
    """The regions for sentences of up to n words."""
    width = (n + FOUR - 1) // FOUR * FOUR
    square = width * (width + 1)
    # What is kept of n nodes is a power of two, then half of it and so on.
    factors = 2 * square + square // 2 + 2 * width
    shares = factors + width * width
    reach = shares + square
    roots = reach + width * width
    return Layout(
        width,
        0,
        factors,
        shares,
        reach,
        roots,
        roots + width,
        roots + 2 * width,
        roots + 3 * width,
        roots + 4 * width,
        roots + 5 * width,
        roots + 6 * width,
        roots + 6 * width + 1,
        roots + 6 * width + 2,
        roots + 6 * width + 3,
        roots + 6 * width + 4,
        roots + 6 * width + 5,
        roots + 6 * width + 7,
    )


@subkernel()
def room(n: int, lanes: int) -> int:
    """How many floats so many sentences of up to n words need, wherever they begin."""
    return lay_out(n).end * lanes + LANES
