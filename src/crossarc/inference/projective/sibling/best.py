"""The best projective tree under sibling factors, in lockstep.

The inside pass of `passes` with max for sum and + for times. It keeps no back-pointers: for the
items of the best tree the best way to make them is looked up again, from the same numbers.

*Rounding.* Every number compared is a float64 sum of the scores of an actual partial tree, so a
choice errs only between partial trees that such sums cannot tell apart. Where sums might overflow,
all scores are first multiplied by a power of two.

*Ties.* The smallest split wins at each choice, so the result is the same on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK, two_sum
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    broadcast,
    data_pointer,
    lane_count,
    load,
    maximum,
    offset,
    read_lane,
    select,
    store,
)
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.arcs import FACTS, HEAVIEST, LARGEST, LIGHTEST, gather_scores
from crossarc.inference.projective.sibling.charts import (
    BESIDE,
    CHARTS,
    INCOMPLETE,
    LEFT,
    RIGHT,
    cell_index,
    part_count,
    parts_of,
    row_index,
    rows_in_lanes,
)
from crossarc.inference.projective.sibling.passes import inside_pass
from crossarc.inference.projective.sibling.weights import filling
from crossarc.inference.runtime.lockstep import claim, complete, lockstep_instances
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["KERNELS", "workspace_size"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What is on the stack: C>, C<, I>, I<, S.
_RIGHT, _LEFT, _INCOMPLETE_RIGHT, _INCOMPLETE_LEFT, _BESIDE = 0, 1, 2, 3, 4

_inside = inside_pass(BEST)


def workspace_size(nodes: int) -> int:
    """How many cells sentences of so many nodes take."""
    return (CHARTS + 2) * nodes * nodes + part_count(nodes) + FACTS + LANES


@subkernel()
def _split(
    x: Cells, w: Cells, nodes: int, lane: int, kind: int, i: int, j: int, root_once: bool
) -> int:
    """Where the best way to make an item divides it; i or j itself where there is no sibling."""
    row, column = i * nodes, j * nodes
    at, best, split = cell_index(i, j), -np.inf, -1
    # Of the items (i, k) and (k, j), or (k + 1, j), the indices without k.
    first_item, second_item = RIGHT + CHARTS * row, LEFT + CHARTS * (column + 1)
    if kind == _RIGHT:
        first_item, second_item = INCOMPLETE + CHARTS * row, RIGHT + CHARTS * column
    elif kind == _LEFT:
        first_item, second_item = LEFT + CHARTS * row, INCOMPLETE + CHARTS * column
    elif kind == _INCOMPLETE_RIGHT:
        first_item, second_item = INCOMPLETE + CHARTS * row, BESIDE + CHARTS * column
        best = read_lane(w, at, lane) + read_lane(x, LEFT + CHARTS * (column + i + 1), lane)
        split = i
    elif kind == _INCOMPLETE_LEFT:
        first_item, second_item, at = (
            BESIDE + CHARTS * row,
            INCOMPLETE + CHARTS * column,
            at + j - i,
        )
        best = read_lane(w, at, lane) + read_lane(x, RIGHT + CHARTS * (row + j - 1), lane)
        split = j
    first = i if kind in (_LEFT, _BESIDE) else i + 1
    last = j + 1 if kind == _RIGHT else j
    if kind == _INCOMPLETE_RIGHT and root_once:
        last = first
    has_parts = kind in (_INCOMPLETE_RIGHT, _INCOMPLETE_LEFT)
    for k in range(first, last):
        value = read_lane(x, first_item + CHARTS * k, lane)
        value += read_lane(x, second_item + CHARTS * k, lane)
        if has_parts:
            value += read_lane(w, at + k - i, lane)
        if value > best:
            best, split = value, k
    return split


@subkernel()
def _follow(
    x: Cells,
    w: Cells,
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
            first, second = (_INCOMPLETE_RIGHT, i, k), (_RIGHT, k, j)
        elif kind == _LEFT:
            first, second = (_LEFT, i, k), (_INCOMPLETE_LEFT, k, j)
        elif kind == _BESIDE:
            first, second = (_RIGHT, i, k), (_LEFT, k + 1, j)
        elif kind == _INCOMPLETE_RIGHT:
            heads[j - 1], siblings[j - 1] = i, k
            if k == i:
                first = (_LEFT, i + 1, j)
            else:
                first, second = (_INCOMPLETE_RIGHT, i, k), (_BESIDE, k, j)
        else:
            heads[i - 1], siblings[i - 1] = j, k
            if k == j:
                first = (_RIGHT, i, j - 1)
            else:
                first, second = (_BESIDE, i, k), (_INCOMPLETE_LEFT, k, j)
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
        for score in (scores[h * nodes + m], rows[row_index(nodes, h, siblings[m - 1]) + m]):
            total, error = two_sum(total, score)
            lost += error
    return total + lost


@subkernel()
def _shrink(arcs: Cells, factors: Cells, facts: Cells, nodes: int) -> bool:
    """Whether sums of scores could overflow in a lane; if so, makes them smaller there."""
    one = broadcast(arcs, 1.0)
    largest = maximum(load(facts, HEAVIEST), broadcast(arcs, 0.0) - load(facts, LIGHTEST))
    largest = maximum(load(facts, LARGEST), largest)
    limit, shrink = broadcast(arcs, SAFE_SUM / nodes), broadcast(arcs, SHRINK)
    scale = select(limit, largest, shrink, one)
    store(facts, LARGEST, scale)
    is_needed = False
    for lane in range(lane_count(arcs)):
        is_needed |= read_lane(facts, LARGEST, lane) < 1.0
    for cell in range(nodes * nodes if is_needed else 0):
        store(arcs, cell, load(arcs, cell) * scale)
        store(factors, cell, load(factors, cell) * scale)
    return is_needed


def _finding(lanes: int) -> Any:
    """The body of the kernels for so many sentences at a time."""
    fill = filling(BEST, lanes)

    @subkernel()
    def find_group(
        cells: Cells,
        stack: Ints,
        scores: Floats,
        sizes: Ints,
        offsets: Ints,
        rows: Floats,
        row_starts: Ints,
        members: Ints,
        single: bool,
        word_offsets: Ints,
        out_heads: Ints,
        out_siblings: Ints,
        out_scores: Floats,
    ) -> None:
        """The best trees of up to eight sentences, the longest first."""
        nodes = sizes[members[0]] + 1
        square = nodes * nodes
        x, arcs = cells, offset(cells, CHARTS * square)
        factors, w = offset(arcs, square), offset(arcs, 2 * square)
        facts = offset(w, parts_of(nodes))
        buffer = offset(facts, FACTS)
        gather_scores(arcs, facts, scores, sizes, offsets, members)
        nothing, zero, one = broadcast(x, -np.inf), broadcast(x, 0.0), broadcast(x, 1.0)
        for cell in range(square):
            store(factors, cell, select(nothing, load(arcs, cell), one, zero))
        firsts, widths = rows_in_lanes(row_starts, sizes, members)
        fill(w, rows, firsts, widths, factors, facts, buffer, single)
        if _shrink(arcs, factors, facts, nodes):
            fill(w, rows, firsts, widths, factors, facts, buffer, single)
        _inside(x, w, arcs, nodes, single)
        for lane in range(members.shape[0]):
            s = members[lane]
            words = slice(word_offsets[s], word_offsets[s] + sizes[s])
            heads, siblings = out_heads[words], out_siblings[words]
            if read_lane(x, RIGHT + CHARTS * sizes[s], lane) > -np.inf:
                _follow(x, w, nodes, lane, single, heads, siblings, stack)
                own = rows[row_starts[s] :]
                out_scores[s] = _score(scores[offsets[s] :], own, heads, siblings)
            else:
                heads[:] = -1
                siblings[:] = -1
                out_scores[s] = np.nan

    def find_groups(
        scores: Floats,
        sizes: Ints,
        offsets: Ints,
        rows: Floats,
        row_starts: Ints,
        single: bool,
        word_offsets: Ints,
        out_heads: Ints,
        out_siblings: Ints,
        out_scores: Floats,
        order: Ints,
        starts: Ints,
        progress: Ints,
        workspace: Floats,
    ) -> None:
        """Heads of groups of sentences and the siblings of their parts, all -1 without a tree.

        Scores are right where finite. order, starts, progress, workspace: as in `run_in_lockstep`.
        """
        cells, stack = data_pointer(workspace), np.empty(12 * sizes[order[0]] + 24, np.int64)
        group = claim(progress)
        while group < starts.shape[0] - 1:
            find_group(
                cells,
                stack,
                scores,
                sizes,
                offsets,
                rows,
                row_starts,
                order[starts[group] : starts[group + 1]],
                single,
                word_offsets,
                out_heads,
                out_siblings,
                out_scores,
            )
            complete(progress)
            group = claim(progress)

    return find_groups


_BATCH = READ_FLOAT, READ_INT, READ_INT, READ_FLOAT, READ_INT, types.boolean
_RESULTS = READ_INT, types.int64[::1], types.int64[::1], types.float64[::1]

#: By lanes and whether numbers are wide: they never are.
KERNELS: dict[tuple[int, bool], Any] = {
    (lanes, wide): kernel(signature, name=name)(_finding(lanes))
    for (lanes, wide), name, signature in lockstep_instances("find_groups", *_BATCH, *_RESULTS)
    if not wide
}
