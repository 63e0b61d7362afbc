"""The best projective tree under sibling factors, in O(n^3).

The inside pass of `sibling_inside` with max for sum and + for times; the items of the best tree are
then taken apart again, as in `eisner_best`, which also tells about rounding and ties.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.lanes import LANES, choose, larger, load_entries, repeat
from crossarc.inference.projective.panels import longest_of
from crossarc.inference.projective.semirings import BEST, reducing
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    BESIDE_TURNED,
    INSIDE_CHARTS,
    LEFT,
    LEFT_TURNED,
    RIGHT,
    RIGHT_TURNED,
    TO_LEFT_TURNED,
    TO_RIGHT,
    cells,
    left_place,
    part_place,
    right_place,
)
from crossarc.inference.projective.sibling_inside import sibling_inside
from crossarc.inference.projective.sibling_weights import part_range
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["best_sibling_batch"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_INT, _INTS = types.int64, types.int64[::1]
_SAFE_SUM = 1e290
_SHRINK = 2.0**-128
# What is on the stack: C>, C<, I>, I<, S.
_RIGHT, _LEFT, _TO_RIGHT, _TO_LEFT, _BESIDE = 0, 1, 2, 3, 4

_inside = sibling_inside(BEST)
_highest = reducing(BEST)


@subkernel()
def _largest(values: Floats) -> float:
    """The largest size of a finite number."""
    zero, far = repeat(0.0), repeat(np.inf)
    sizes = zero
    whole = values.shape[0] // LANES * LANES
    for at in range(0, whole, LANES):
        x = load_entries(values, at)
        size = larger(x, zero - x)
        sizes = larger(choose(size, far, size, zero), sizes)
    largest: float = _highest(sizes)
    for at in range(whole, values.shape[0]):
        size_left = abs(values[at])
        largest = size_left if largest < size_left < np.inf else largest
    return largest


@subkernel()
def _fill(w: Floats, scores: Floats, sibling: Floats, nodes: int, single: bool) -> None:
    """The scores of parts, shrunk if sums could overflow."""
    largest = max(_largest(scores), _largest(sibling))
    shrink = _SHRINK if largest * nodes > _SAFE_SUM else 1.0
    for h in range(nodes):
        arcs = scores[h * nodes : (h + 1) * nodes]
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            # No modifier follows one that h cannot take.
            possible = s == h or arcs[s] > -np.inf
            row = (h * nodes + s) * nodes
            # From one m to the next, `part_place` moves by the size of a cell.
            place = part_place(nodes, h, s, first) if first < h else 0
            for m in range(first, min(last, h)):
                usable = possible and arcs[m] > -np.inf
                value = arcs[m] * shrink + sibling[row + m] * shrink
                put(w, place, value if usable else -np.inf)
                place -= h - m - 1 if s == h else h - m
            begin = max(first, h + 1)
            place = part_place(nodes, h, s, begin) if begin < last else 0
            for m in range(begin, last):
                usable = possible and arcs[m] > -np.inf
                value = arcs[m] * shrink + sibling[row + m] * shrink
                put(w, place, value if usable else -np.inf)
                place += m - h


@subkernel()
def _split(x: Floats, w: Floats, nodes: int, kind: int, i: int, j: int, root_once: bool) -> int:
    """Where the best way to make an item divides it; i or j itself where there is no sibling."""
    square = nodes * nodes
    row, column = i * nodes, j * nodes
    at = right_place(nodes, i, j)
    best, place = -np.inf, -1
    if kind == _TO_RIGHT:
        best = entry(w, at) + entry(x, LEFT_TURNED * square + column + i + 1)
        place = i
    elif kind == _TO_LEFT:
        at = left_place(nodes, i, j)
        best = entry(w, at) + entry(x, RIGHT * square + row + j - 1)
        place = j
    first = i if kind in (_LEFT, _BESIDE) else i + 1
    last = j + 1 if kind == _RIGHT else j
    if kind == _TO_RIGHT and root_once:
        last = first
    for k in range(first, last):
        if kind == _RIGHT:
            value = entry(x, TO_RIGHT * square + row + k) + entry(
                x, RIGHT_TURNED * square + column + k
            )
        elif kind == _LEFT:
            value = entry(x, LEFT * square + row + k) + entry(
                x, TO_LEFT_TURNED * square + column + k
            )
        elif kind == _BESIDE:
            value = entry(x, RIGHT * square + row + k) + entry(
                x, LEFT_TURNED * square + column + k + 1
            )
        elif kind == _TO_RIGHT:
            value = entry(x, TO_RIGHT * square + row + k) + entry(
                x, BESIDE_TURNED * square + column + k
            )
            value += entry(w, at + k - i)
        else:
            value = entry(x, BESIDE * square + row + k) + entry(
                x, TO_LEFT_TURNED * square + column + k
            )
            value += entry(w, at + k - i)
        if value > best:
            best, place = value, k
    return place


@subkernel()
def _follow(
    x: Floats, w: Floats, nodes: int, single: bool, heads: Ints, siblings: Ints, stack: Ints
) -> None:
    """Heads and nearest siblings of the best tree, from its items."""
    stack[0], stack[1], stack[2] = _RIGHT, 0, nodes - 1
    top = 1
    while top > 0:
        top -= 1
        kind, i, j = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if i == j:
            continue
        k = _split(x, w, nodes, kind, i, j, single and i == 0)
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


@kernel(
    types.void(
        READ_FLOAT,
        READ_INT,
        READ_INT,
        READ_FLOAT,
        READ_INT,
        types.boolean,
        _INTS,
        _INTS,
        types.float64[::1],
        _INT,
        _INT,
    )
)
def best_sibling_batch(
    flat_scores: Floats,
    sizes: Ints,
    offsets: Ints,
    flat_siblings: Floats,
    cubes: Ints,
    single_root: bool,
    out_heads: Ints,
    out_siblings: Ints,
    space: Floats,
    begin: int,
    end: int,
) -> None:
    """The best tree of each sentence begin..end - 1, O(n^3) each.

    Sentence i has sizes[i] words; its scores stand row after row from flat_scores[offsets[i]],
    -inf on the diagonal and in column 0, its sibling factor from flat_siblings[cubes[i]]. Heads,
    and for each word the sibling of its part, go to `out_heads` and `out_siblings`, one sentence
    after the other; all are -1 where there is no tree. `space` has `sibling_room` numbers for
    the longest sentence.
    """
    longest, place = longest_of(sizes, begin, end)
    stack = np.empty(12 * longest + 24, np.int64)
    for index in range(begin, end):
        nodes, at, cube = sizes[index] + 1, offsets[index], cubes[index]
        charts = INSIDE_CHARTS * nodes * nodes
        x, w = space[:charts], space[charts : charts + 2 * cells(nodes)]
        scores = flat_scores[at : at + nodes * nodes]
        _fill(w, scores, flat_siblings[cube : cube + nodes * nodes * nodes], nodes, single_root)
        heads = out_heads[place : place + nodes - 1]
        siblings = out_siblings[place : place + nodes - 1]
        place += nodes - 1
        if _inside(x, w, nodes, single_root, True)[0] > -np.inf:
            _follow(x, w, nodes, single_root, heads, siblings, stack)
        else:
            for m in range(nodes - 1):
                heads[m] = siblings[m] = -1
