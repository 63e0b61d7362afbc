"""From scores in arrays to weights in cells.

A single root, in float64: its weights count in d_k only for the last node, the limit of a root
whose weights are scaled by t -> 0 (Koo et al. 2007, section 3.2, is the same limit). In wide
numbers t is 2^ROOT_SCALE, with an exponent so low that trees with two roots vanish beside trees
with one, yet are still seen when there is no other tree, which then counts as none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_difference, two_sum
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Lanes,
    as_number,
    broadcast,
    exponential,
    float64_cells,
    is_wide,
    lane_count,
    load,
    maximum,
    minimum,
    read_lane,
    select,
    store,
    store_vector,
    transpose,
    write_lane,
    write_number,
)
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, LOWEST_WEIGHT, ZERO
from crossarc.inference.runtime.lockstep import common_words, eight_rows
from crossarc.inference.spanning.matrix_tree.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["ROOT_SCALE", "VANISHED", "find_weights"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: In wide numbers, weights of a single root are scaled by two to this power.
ROOT_SCALE = -(1 << 56)
#: Exponents below are those of trees with more than one root, beside trees with one.
VANISHED = -(1 << 55)
# Differences of scores that can be summed over are smaller.
_LARGEST_DIFFERENCE = 5 * LARGEST_SCORE


@subkernel()
def _gather(
    floats: Cells,
    layout: Layout,
    flat: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    target: int,
    missing: float,
) -> None:
    """The members' square arrays as a block [m, h] from cell `target`."""
    width, row = layout.width, layout.width + 1
    filling = broadcast(floats, missing)
    shared = common_words(sizes, members)
    for m in range(width):
        for column in range(shared if m < shared else 0, row):
            store(floats, target + m * row + column, filling)
    for h in range(row):
        column = target + (width if h == 0 else h - 1)
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_rows(flat, sizes, offsets, members, h, m))
            for i in range(LANES):
                store_vector(floats, (column + (m + i) * row) * LANES, eight[i])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            source = offsets[members[lane]] + h * (n + 1) + 1
            for m in range(common, n if h <= n else 0):
                write_lane(floats, column + m * row, lane, flat[source + m])


@subkernel()
def _mark_padding(cells: Cells, layout: Layout, sizes: Ints, members: Ints) -> None:
    for m in range(layout.width):
        store(cells, layout.padding + m, broadcast(cells, 1.0))
        for lane in range(members.shape[0]):
            if m < sizes[members[lane]]:
                write_number(cells, layout.padding + m, lane, 0.0, ZERO)


@subkernel()
def _find_column_max(cells: Cells, layout: Layout, single: bool) -> None:
    """The best score into each word, of the root only if there is no other; the root's shift.

    Lanes in which scores are too large, or a word has no head, are noted in `status`.
    """
    floats, row = float64_cells(cells), layout.width + 1
    no_padding = broadcast(cells, 0.0)
    nothing, zero, one, limit = (
        broadcast(floats, -np.inf),
        broadcast(floats, 0.0),
        broadcast(floats, 1.0),
        broadcast(floats, LARGEST_SCORE),
    )
    status, too_large, shift = one, zero, nothing
    for m in range(layout.width):
        first = layout.scores + m * row
        root = load(floats, first + layout.width)
        top, lowest = nothing, zero
        for h in range(row):
            x = load(floats, first + h)
            lowest = minimum(lowest, select(nothing, x, x, zero))
            top = maximum(top, x)
        too_large = select(limit, maximum(top, zero - lowest), one, too_large)
        if single:
            top = nothing
            for h in range(layout.width):
                top = maximum(top, load(floats, first + h))
            top = select(nothing, top, top, root)
            shift = maximum(shift, select(nothing, root, root - top, nothing))
        usable = select(nothing, top, status, zero)
        status = select(no_padding, load(cells, layout.padding + m), status, usable)
        store(floats, layout.column_max + m, top)
    if single:
        status = select(nothing, shift, status, zero)
    store(floats, layout.shift, shift if single else zero)
    store(floats, layout.too_large, too_large)
    store(floats, layout.status, select(zero, too_large, zero, status))


@subkernel()
def _sum_column_max(cells: Cells, layout: Layout) -> None:
    """The sum of each lane's column_max and what rounding took from it."""
    floats, no_padding = float64_cells(cells), broadcast(cells, 0.0)
    zero = broadcast(floats, 0.0)
    high, low = zero, zero
    for m in range(layout.width):
        top = load(floats, layout.column_max + m)
        top = select(no_padding, load(cells, layout.padding + m), zero, top)
        high, error = two_sum(high, top)
        low = low + error
    store(floats, layout.column_max_sum, high)
    store(floats, layout.column_max_sum + 1, low)


@subkernel()
def _set_root_scale(cells: Cells, layout: Layout, single: bool) -> None:
    for lane in range(lane_count(cells)):
        write_number(cells, layout.root_scale, lane, 1.0, ROOT_SCALE if single else 0)


@subkernel()
def _exponentiate(cells: Cells, layout: Layout, single: bool) -> tuple[Lanes, Lanes]:
    """Weights relative to their column's maximum, 0 where an arc is forbidden.

    Returns how many arcs are allowed, and the lowest logarithm of a weight.
    """
    floats, row = float64_cells(cells), layout.width + 1
    nothing, zero, one = broadcast(floats, -np.inf), broadcast(floats, 0.0), broadcast(floats, 1.0)
    limit, no_weight = broadcast(floats, _LARGEST_DIFFERENCE), broadcast(cells, 0.0)
    root_scale = load(cells, layout.root_scale)
    count, lowest = zero, zero
    for m in range(layout.width):
        first = m * row
        top = load(floats, layout.column_max + m)
        for h in range(row):
            score = load(floats, layout.scores + first + h)
            # What comes of -inf is not used.
            x, tail = two_difference(score, top)
            if h == layout.width and single:
                x, more = two_difference(x, load(floats, layout.shift))
                tail = tail + more
            if is_wide(cells):
                # Exponents beyond int64 would be undefined.
                x = minimum(maximum(x, zero - limit), limit)
            weight = select(nothing, score, exponential(no_weight, x, tail), no_weight)
            if is_wide(cells) and h == layout.width:
                weight = weight * root_scale
            lowest = minimum(lowest, select(nothing, score, x, zero))
            count = count + select(nothing, score, one, zero)
            store(cells, layout.blocks + first + h, weight)
    return count, lowest


@subkernel()
def find_weights(
    cells: Cells,
    layout: Layout,
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
) -> bool:
    """Weights in the first block; returns whether some arc is forbidden.

    Lanes without trees are noted in `status`, and those that do not fit float64 if cells are such.
    """
    floats = float64_cells(cells)
    _mark_padding(cells, layout, sizes, members)
    _gather(floats, layout, scores, sizes, offsets, members, layout.scores, -np.inf)
    _find_column_max(cells, layout, single)
    _sum_column_max(cells, layout)
    _set_root_scale(cells, layout, single)
    count, lowest = _exponentiate(cells, layout, single)
    if not is_wide(cells):
        status = load(floats, layout.status)
        limit, zero = broadcast(floats, LOWEST_WEIGHT), broadcast(floats, 0.0)
        store(floats, layout.status, select(limit, lowest, status, zero))
    store(floats, layout.forbidden, count)
    forbidden = False
    for lane in range(members.shape[0]):
        n = sizes[members[lane]]
        missing = read_lane(floats, layout.forbidden, lane) < n * n
        forbidden = forbidden or missing
        write_lane(floats, layout.forbidden, lane, 1.0 if missing else 0.0)
    if label_sums.shape[0] > 0:
        _gather(floats, layout, label_sums, sizes, offsets, members, layout.label_sums, 1.0)
        like = broadcast(cells, 0.0)
        for i in range(layout.width * (layout.width + 1)):
            label_sum = as_number(like, load(floats, layout.label_sums + i))
            store(cells, layout.blocks + i, load(cells, layout.blocks + i) * label_sum)
    return forbidden
