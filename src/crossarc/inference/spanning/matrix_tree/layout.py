"""Where the numbers of sentences lie in the workspace, and in which order the nodes go.

Words are counted from 0 here, to a width that is a multiple of FOUR. Sentences that are shorter
have *padding*: words without arcs in or out, so that they add nothing but zeros to what belongs to
others. `padding` is 1 for them: they have somewhere to go, and no quotient is 0 / 0.

*Order.* E[h, m] is needed for all pairs. Half of the nodes are eliminated, the problem is solved
for the half that is kept, and E is substituted back for the eliminated nodes; then once more with
the halves exchanged. That needs no subtraction, where the usual reverse pass computes one minus a
probability. About 1.28 n^3 multiplications and additions in all, against n^3 for the inverse of a
matrix. Blocks are divided at powers of two: then words added at the end do not change where, which
costs up to a quarter more work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Cells, floats_a_number
from crossarc.kernels import subkernel

__all__ = [
    "ELIMINATE",
    "FOUR",
    "SOLVE_FOUR",
    "SUBSTITUTE",
    "Layout",
    "layout_of",
    "regions",
    "schedule",
    "workspace_size",
]

Ints = NDArray[np.int64]

#: Nodes are eliminated and tiles computed by four.
FOUR = 4

#: Kinds of steps: eliminate half of a block, substitute back, solve a block of four.
ELIMINATE, SUBSTITUTE, SOLVE_FOUR = 0, 1, 2

_FLOAT64_CELLS = 6


class Layout(NamedTuple):
    """The first cell of each region. A block of size s has s rows of s + 1, the root's last.

    Regions marked as float64 are counted in cells of `float64_cells`.
    """

    width: int
    blocks: int  # w[m, h]; first of all nodes, then of what is kept
    factors: int  # (width, width): column k as it is when node k is eliminated
    shares: int  # (width, width + 1): w[k, h] / d_k of eliminated nodes, the root's last
    escapes: int  # (width, width): E[h, m], in the end the results
    roots: int  # results of the root
    pivots: int
    inverses: int  # of the pivots
    padding: int
    least_shares: int
    smallest: int  # product of two factors; infinite without forbidden arcs
    least_escape: int  # of E, if not 0
    root_scale: int  # of the root's weights, in wide numbers
    end: int
    scores: int  # float64, a block; behind the weights, where later blocks come
    label_sums: int  # float64, a block; where shares come later
    column_max: int  # float64
    column_max_sum: int  # float64: two cells, for the sum and what rounding took from it
    shift: int  # float64: of the root's scores
    status: int  # float64: 1 where all denominators were above 0, else 0
    forbidden: int  # float64: 1 where some arc is
    too_large: int  # float64: 1 where scores are, for sums


def regions(n: int, floats_a_number: int) -> Layout:
    """The regions for sentences of up to n words, by the size of a number."""
    width = (n + FOUR - 1) // FOUR * FOUR
    square = width * (width + 1)
    # What is kept of n nodes is a power of two, then half of it and so on.
    factors = 2 * square + square // 2 + 2 * width
    shares = factors + width * width
    escapes = shares + square
    roots = escapes + width * width
    single_cells = roots + 5 * width
    numbers_end = single_cells + 3
    floats = numbers_end * floats_a_number
    return Layout(
        width,
        0,
        factors,
        shares,
        escapes,
        roots,
        roots + width,
        roots + 2 * width,
        roots + 3 * width,
        roots + 4 * width,
        single_cells,
        single_cells + 1,
        single_cells + 2,
        numbers_end + width + _FLOAT64_CELLS,
        square * floats_a_number,
        shares * floats_a_number,
        floats,
        floats + width,
        floats + width + 2,
        floats + width + 3,
        floats + width + 4,
        floats + width + 5,
    )


_regions_in_kernels = subkernel()(regions)


def workspace_size(n: int) -> int:
    """How many cells sentences of up to n words need, whatever their kind."""
    return regions(n, 1).end


@subkernel()
def layout_of(cells: Cells, n: int) -> Layout:
    """The regions for sentences of up to n words."""
    return _regions_in_kernels(n, floats_a_number(cells))


@subkernel()
def _middle(low: int, high: int) -> int:
    """Where a block is divided: a power of two above `low`."""
    power = 1
    while 2 * power < high - low:
        power *= 2
    return low + power


@subkernel()
def _emit(steps: Ints, row: int, kind: int, middle: int, upper: int, frame: Ints) -> None:
    step = steps[row]
    step[0], step[1], step[2], step[3] = kind, frame[0], middle, frame[1]
    step[4], step[5] = upper, frame[2]


@subkernel()
def schedule(width: int) -> Ints:
    """Steps for `width` nodes, O(width) of them.

    A row is (kind, low, middle, high, upper, block): the block of nodes low..high - 1 begins at
    cell `block`; `upper` is 1 when its upper half is kept and 0 when the lower half is. What is
    kept goes behind the block.
    """
    steps = np.empty((5 * width // FOUR + 1, 6), np.int64)
    frames = np.empty((70, 4), np.int64)  # low, high, block, phase; of nested blocks
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = 0, width, 0, 0
    count, depth = 0, 0
    while depth >= 0:
        low, high, block, phase = frames[depth]
        size = high - low
        middle = _middle(low, high)
        if size <= FOUR:
            _emit(steps, count, SOLVE_FOUR, middle, 0, frames[depth])
            count += 1
            depth -= 1
            continue
        if phase > 0:
            _emit(steps, count, SUBSTITUTE, middle, phase - 1, frames[depth])
            count += 1
        if phase == 2:
            depth -= 1
            continue
        _emit(steps, count, ELIMINATE, middle, phase, frames[depth])
        count += 1
        frames[depth, 3] = phase + 1
        depth += 1
        frames[depth, 0] = middle if phase else low
        frames[depth, 1] = high if phase else middle
        frames[depth, 2] = block + size * (size + 1)
        frames[depth, 3] = 0
    return steps[:count]
