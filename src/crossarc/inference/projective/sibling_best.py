"""The best projective tree under sibling factors, in O(n^3).

The inside pass of `sibling_inside` with max for sum and + for times; the items of the best tree are
then taken apart again, as in `eisner_best`, which also tells about rounding and ties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    broadcast,
    load,
    maximum,
    read_lane,
    select,
    store,
)
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.lane_arcs import (
    HEAVIEST,
    LARGEST,
    LIGHTEST,
    NOTES,
    gather_arcs,
)
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    cell_place,
    parts_of,
    row_place,
)
from crossarc.inference.projective.sibling_fill import filling
from crossarc.inference.projective.sibling_inside import sibling_inside
from crossarc.kernels import READ_FLOAT, READ_INT, subkernel

__all__ = ["SIGNATURE", "best_room", "finding"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_INT, _INTS, _FLOATS = types.int64, types.int64[::1], types.float64[::1]

#: Of the kernels `best_together` and `best_alone`: scores of arcs, sizes, offsets; scores of parts
#: in rows, and where those of each sentence begin; groups, order[groups[g]:groups[g + 1]]; single;
#: where the words of each sentence begin, their heads, the siblings of their parts, all -1 where
#: there is no tree, and the trees' scores, right where finite; begin, end; space to work
#: in.
SIGNATURE = types.int64(
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_INT,
    types.boolean,
    READ_INT,
    _INTS,
    _INTS,
    _FLOATS,
    _INT,
    _INT,
    _FLOATS,
)

# Scores of which a sum could overflow are multiplied by SHRINK.
_SAFE_SUM, _SHRINK = 1e290, 2.0**-128
# What is on the stack: C>, C<, I>, I<, S.
_RIGHT, _LEFT, _TO_RIGHT, _TO_LEFT, _BESIDE = 0, 1, 2, 3, 4

_inside = sibling_inside(BEST)


@subkernel()
def best_room(nodes: int, lanes: int) -> int:
    """How many floats are worked in, wherever they begin."""
    return ((CHARTS + 2) * nodes * nodes + parts_of(nodes) + NOTES) * lanes + LANES


@subkernel()
def _split(
    x: Floats, w: Floats, nodes: int, lane: int, kind: int, i: int, j: int, root_once: bool
) -> int:
    """Where the best way to make an item divides it; i or j itself where there is no sibling."""
    row, column = i * nodes, j * nodes
    at, best, place = cell_place(i, j), -np.inf, -1
    # Of the items (i, k) and (k, j), or (k + 1, j), the places without k.
    mine, yours = RIGHT + CHARTS * row, LEFT + CHARTS * (column + 1)
    if kind == _RIGHT:
        mine, yours = TO + CHARTS * row, RIGHT + CHARTS * column
    elif kind == _LEFT:
        mine, yours = LEFT + CHARTS * row, TO + CHARTS * column
    elif kind == _TO_RIGHT:
        mine, yours = TO + CHARTS * row, BESIDE + CHARTS * column
        best = read_lane(w, at, lane) + read_lane(x, LEFT + CHARTS * (column + i + 1), lane)
        place = i
    elif kind == _TO_LEFT:
        mine, yours, at = BESIDE + CHARTS * row, TO + CHARTS * column, at + j - i
        best = read_lane(w, at, lane) + read_lane(x, RIGHT + CHARTS * (row + j - 1), lane)
        place = j
    first = i if kind in (_LEFT, _BESIDE) else i + 1
    last = j + 1 if kind == _RIGHT else j
    if kind == _TO_RIGHT and root_once:
        last = first
    has_parts = kind in (_TO_RIGHT, _TO_LEFT)
    for k in range(first, last):
        value = read_lane(x, mine + CHARTS * k, lane)
        value += read_lane(x, yours + CHARTS * k, lane)
        if has_parts:
            value += read_lane(w, at + k - i, lane)
        if value > best:
            best, place = value, k
    return place


@subkernel()
def _follow(
    x: Floats,
    w: Floats,
    nodes: int,
    lane: int,
    single: bool,
    heads: Ints,
    siblings: Ints,
    stack: Ints,
) -> None:
    """Heads and nearest siblings of the best tree of a lane, from its items."""
    stack[0], stack[1], stack[2] = _RIGHT, 0, heads.shape[0]
    top = 1
    while top > 0:
        top -= 1
        kind, i, j = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if i == j:
            continue
        k = _split(x, w, nodes, lane, kind, i, j, single and i == 0)
        first, second = (_RIGHT, i, i), (_RIGHT, i, i)
        if kind == _RIGHT:
            first, second = (_TO_RIGHT, i, k), (_RIGHT, k, j)
        elif kind == _LEFT:
            first, second = (_LEFT, i, k), (_TO_LEFT, k, j)
        elif kind == _BESIDE:
            first, second = (_RIGHT, i, k), (_LEFT, k + 1, j)
        elif kind == _TO_RIGHT:
            heads[j - 1], siblings[j - 1] = i, k
            if k == i:
                first = (_LEFT, i + 1, j)
            else:
                first, second = (_TO_RIGHT, i, k), (_BESIDE, k, j)
        else:
            heads[i - 1], siblings[i - 1] = j, k
            if k == j:
                first = (_RIGHT, i, j - 1)
            else:
                first, second = (_BESIDE, i, k), (_TO_LEFT, k, j)
        stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = first
        stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = second
        top += 2


@subkernel()
def _score(scores: Floats, rows: Floats, heads: Ints, siblings: Ints) -> float:
    """The sum of a tree's scores; what rounding takes from it is added up beside it."""
    nodes = heads.shape[0] + 1
    total, lost = 0.0, 0.0
    for m in range(1, nodes):
        h = heads[m - 1]
        for score in (scores[h * nodes + m], rows[row_place(nodes, h, siblings[m - 1]) + m]):
            new = total + score
            back = new - total
            lost += (total - (new - back)) + (score - back)
            total = new
    return total + lost


@subkernel()
def _shrink(arcs: Floats, factors: Floats, notes: Floats, nodes: int) -> bool:
    """Whether sums of scores could overflow in a lane; if so, makes them smaller there."""
    one = broadcast(arcs, 1.0)
    largest = maximum(load(notes, HEAVIEST), broadcast(arcs, 0.0) - load(notes, LIGHTEST))
    largest = maximum(load(notes, LARGEST), largest)
    scale = select(broadcast(arcs, _SAFE_SUM / nodes), largest, broadcast(arcs, _SHRINK), one)
    store(notes, LARGEST, scale)
    is_needed = False
    for lane in range(LANES):
        is_needed |= read_lane(notes, LARGEST, lane if arcs.ndim == 2 else 0) < 1.0
    for cell in range(nodes * nodes if is_needed else 0):
        store(arcs, cell, load(arcs, cell) * scale)
        store(factors, cell, load(factors, cell) * scale)
    return is_needed


def finding(lanes: int) -> Callable[..., None]:
    """The function that finds the best trees of so many sentences in lockstep, the longest first.

    Its arguments: cells to work in, and those of `SIGNATURE`, the members in place of groups.
    """
    fill = filling(BEST, lanes)

    @subkernel()
    def find(
        cells: Floats,
        stack: Ints,
        scores: Floats,
        sizes: Ints,
        offsets: Ints,
        rows: Floats,
        starts: Ints,
        members: Ints,
        single: bool,
        firsts: Ints,
        out_heads: Ints,
        out_siblings: Ints,
        out_scores: Floats,
    ) -> None:
        nodes, count = sizes[members[0]] + 1, members.shape[0]
        square = nodes * nodes
        x, rest = cells[: CHARTS * square], cells[CHARTS * square :]
        arcs, factors, rest = rest[:square], rest[square : 2 * square], rest[2 * square :]
        w, notes = rest[: parts_of(nodes)], rest[parts_of(nodes) : parts_of(nodes) + NOTES]
        gather_arcs(arcs, notes, scores, sizes, offsets, members)
        nothing, zero, one = broadcast(x, -np.inf), broadcast(x, 0.0), broadcast(x, 1.0)
        for cell in range(square):
            store(factors, cell, select(nothing, load(arcs, cell), one, zero))
        places, widths = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        for lane in range(count):
            places[lane], widths[lane] = starts[members[lane]], sizes[members[lane]] + 1
        fill(w, rows, places, widths, factors, notes, single)
        if _shrink(arcs, factors, notes, nodes):
            fill(w, rows, places, widths, factors, notes, single)
        _inside(x, w, arcs, nodes, single)
        for lane in range(count):
            s = members[lane]
            words = slice(firsts[s], firsts[s] + sizes[s])
            heads, siblings = out_heads[words], out_siblings[words]
            if read_lane(x, RIGHT + CHARTS * sizes[s], lane) > -np.inf:
                _follow(x, w, nodes, lane, single, heads, siblings, stack)
                out_scores[s] = _score(scores[offsets[s] :], rows[starts[s] :], heads, siblings)
            else:
                heads[:] = -1
                siblings[:] = -1
                out_scores[s] = np.nan

    return find
