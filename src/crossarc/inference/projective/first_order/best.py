"""The best projective tree, by Eisner's algorithm (1996) in O(n^3).

The inside pass of `blocked_passes` with max for sum and + for times. It keeps no back-pointers:
only about 2 n of the n^2 items are in the best tree, and for those the best way to make them is
looked up again, from the same numbers.

*Rounding.* Every number compared is a float64 sum of the scores of an actual partial tree, so a
choice errs only between partial trees that such sums cannot tell apart. Where sums might overflow,
all scores are first multiplied by a power of two.

*Ties.* The smallest split wins at each choice, so the result is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK
from crossarc.inference.arithmetic.lanes import LANES, load_scalar
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.first_order.blocked_passes import inside_pass
from crossarc.inference.projective.first_order.blocks import (
    FACTORS,
    PANELS,
    TERMS,
    TRANSPOSED,
    arc_index,
    blocks_of,
    region,
    width_of,
)
from crossarc.inference.runtime.lockstep import PROGRESS, claim, complete
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["best_heads", "fill_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _INTS = types.float64[::1], types.int64[::1]
_RIGHT, _LEFT, _BOTH = 0, 1, 2

_inside = inside_pass(BEST)


@subkernel()
def fill_scores(charts: Floats, scores: Floats, nodes: int) -> None:
    """Scores as weights, -inf where there is no arc, shrunk if sums could overflow."""
    width = width_of(nodes)
    largest = 0.0
    for h in range(nodes):
        for m in range(nodes):
            size = abs(scores[h * nodes + m])
            largest = max(largest, size if size < np.inf else 0.0)
    shrink = SHRINK if largest * nodes > SAFE_SUM else 1.0
    for i in range(nodes):
        for j in range(i // LANES * LANES, blocks_of(nodes) * LANES):
            is_arc = i < j < nodes
            index = arc_index(width, i, j)
            charts[index] = scores[i * nodes + j] * shrink if is_arc else -np.inf
            charts[index + LANES] = scores[j * nodes + i] * shrink if is_arc else -np.inf


@subkernel()
def _split(charts: Floats, width: int, kind: int, i: int, j: int) -> int:
    """Where the best way to make an item divides it."""
    plane = width * width
    row = region(width, FACTORS) + i * width
    column = region(width, PANELS) + j // LANES * width * TERMS + j % LANES
    best, at = -np.inf, -1
    for k in range(i + 1 if kind == _RIGHT else i, j + 1 if kind == _RIGHT else j):
        if kind == _RIGHT:
            value = load_scalar(charts, row + plane + k) + load_scalar(
                charts, column + k * TERMS + LANES
            )
        elif kind == _LEFT:
            value = load_scalar(charts, row + 2 * plane + k) + load_scalar(
                charts, column + k * TERMS + 2 * LANES
            )
        else:
            value = load_scalar(charts, row + k) + load_scalar(charts, column + k * TERMS)
        if value > best:
            best, at = value, k
    return at


@subkernel()
def _follow(charts: Floats, nodes: int, heads: Ints, stack: Ints) -> None:
    """Heads of the best tree, from its items; `stack` has three numbers for each of 2 n items."""
    width = width_of(nodes)
    stack[0], stack[1], stack[2] = _RIGHT, 0, nodes - 1
    top = 1
    while top > 0:
        top -= 1
        kind, i, j = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if i == j:
            continue
        k = _split(charts, width, kind, i, j)
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


@kernel(
    types.void(
        READ_FLOAT,
        READ_INT,
        READ_INT,
        types.boolean,
        _INTS,
        READ_INT,
        READ_INT,
        READ_INT,
        PROGRESS,
        _F1,
    )
)
def best_heads(
    scores: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    out_heads: Ints,
    word_offsets: Ints,
    order: Ints,
    starts: Ints,
    progress: Ints,
    workspace: Floats,
) -> None:
    """Heads of the best tree of each sentence, O(n^3) each; all -1 where there is none."""
    # Of the planes, best trees use those before the transposed ones.
    workspace[: region(width_of(sizes[order[0]] + 1), TRANSPOSED)] = 0.0
    stack = np.empty(6 * sizes[order[0]] + 6, np.int64)
    item = claim(progress)
    while item < starts.shape[0] - 1:
        s = order[starts[item]]
        nodes, first = sizes[s] + 1, offsets[s]
        fill_scores(workspace, scores[first : first + nodes * nodes], nodes)
        heads = out_heads[word_offsets[s] : word_offsets[s] + sizes[s]]
        if _inside(workspace, nodes, single) > -np.inf:
            _follow(workspace, nodes, heads, stack)
        else:
            heads[:] = -1
        complete(progress)
        item = claim(progress)
