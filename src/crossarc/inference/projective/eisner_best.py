"""The best projective tree, by Eisner's algorithm (1996) in O(n^3).

The inside pass of `eisner_inside` with max for sum and + for times. It keeps no back-pointers: only
about 2 n of the n^2 items are in the best tree, and for those the best way to make them is looked
up again, from the same numbers.

*Rounding.* Every number compared is a float64 sum of the scores of an actual partial tree, so a
choice errs only between partial trees that such sums cannot tell apart. Where sums might overflow,
all scores are first multiplied by a power of two.

*Ties.* The smallest split wins at each choice, so the result is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES, load_scalar
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.eisner_inside import inside_pass
from crossarc.inference.projective.panels import (
    FACTORS,
    PANELS,
    TERMS,
    arc_place,
    blocks_of,
    longest_of,
    part,
    room,
    width_of,
)
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["best_heads_batch", "fill_arcs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_INT, _INTS = types.int64, types.int64[::1]
_SAFE_SUM = 1e290
_SHRINK = 2.0**-128
_RIGHT, _LEFT, _BOTH = 0, 1, 2

_inside = inside_pass(BEST)


@subkernel()
def fill_arcs(space: Floats, scores: Floats, nodes: int) -> None:
    """Scores as weights, -inf where there is no arc, shrunk if sums could overflow."""
    width = width_of(nodes)
    largest = 0.0
    for h in range(nodes):
        for m in range(nodes):
            size = abs(scores[h * nodes + m])
            largest = max(largest, size if size < np.inf else 0.0)
    shrink = _SHRINK if largest * nodes > _SAFE_SUM else 1.0
    for i in range(nodes):
        for j in range(i // LANES * LANES, blocks_of(nodes) * LANES):
            is_arc = i < j < nodes
            place = arc_place(width, i, j)
            space[place] = scores[i * nodes + j] * shrink if is_arc else -np.inf
            space[place + LANES] = scores[j * nodes + i] * shrink if is_arc else -np.inf


@subkernel()
def _split(space: Floats, width: int, kind: int, i: int, j: int) -> int:
    """Where the best way to make an item divides it."""
    plane = width * width
    row = part(width, FACTORS) + i * width
    column = part(width, PANELS) + j // LANES * width * TERMS + j % LANES
    best, at = -np.inf, -1
    for k in range(i + 1 if kind == _RIGHT else i, j + 1 if kind == _RIGHT else j):
        if kind == _RIGHT:
            value = load_scalar(space, row + plane + k) + load_scalar(
                space, column + k * TERMS + LANES
            )
        elif kind == _LEFT:
            value = load_scalar(space, row + 2 * plane + k) + load_scalar(
                space, column + k * TERMS + 2 * LANES
            )
        else:
            value = load_scalar(space, row + k) + load_scalar(space, column + k * TERMS)
        if value > best:
            best, at = value, k
    return at


@subkernel()
def _follow(space: Floats, nodes: int, heads: Ints, stack: Ints) -> None:
    """Heads of the best tree, from its items; `stack` has three numbers for each of 2 n items."""
    width = width_of(nodes)
    stack[0], stack[1], stack[2] = _RIGHT, 0, nodes - 1
    top = 1
    while top > 0:
        top -= 1
        kind, i, j = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if i == j:
            continue
        k = _split(space, width, kind, i, j)
        if kind == _RIGHT:
            heads[k - 1] = i
            first, second = (_BOTH, i, k), (_RIGHT, k, j)
        elif kind == _LEFT:
            heads[k - 1] = j
            first, second = (_LEFT, i, k), (_BOTH, k, j)
        else:
            first, second = (_RIGHT, i, k), (_LEFT, k + 1, j)
        stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = first
        stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = second
        top += 2


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, types.boolean, _INTS, _INT, _INT))
def best_heads_batch(
    flat_scores: Floats,
    sizes: Ints,
    offsets: Ints,
    single_root: bool,
    out_heads: Ints,
    begin: int,
    end: int,
) -> None:
    """The best tree of each sentence begin..end - 1, O(n^3) each.

    Sentence i has sizes[i] words; its scores stand row after row from flat_scores[offsets[i]],
    -inf on the diagonal and in column 0. Heads go to `out_heads`, one sentence after the other;
    all are -1 where there is no tree.
    """
    longest, place = longest_of(sizes, begin, end)
    space = np.zeros(room(longest + 1))
    stack = np.empty(6 * longest + 6, np.int64)
    for s in range(begin, end):
        nodes, at = sizes[s] + 1, offsets[s]
        fill_arcs(space, flat_scores[at : at + nodes * nodes], nodes)
        heads = out_heads[place : place + nodes - 1]
        place += nodes - 1
        if _inside(space, nodes, single_root) > -np.inf:
            _follow(space, nodes, heads, stack)
        else:
            for m in range(nodes - 1):
                heads[m] = -1
