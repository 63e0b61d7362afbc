"""The sibling factor of a sentence, from a dense array to rows (`charts`) and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Lanes,
    fma,
    load_scalar,
    load_vector,
    maximum,
    splat,
    store_scalar,
    store_vector,
)
from crossarc.inference.arithmetic.semirings import BEST, SUM
from crossarc.inference.projective.sibling.charts import part_range, row_index
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["pack", "part_scores", "unpack"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seen = tuple[Lanes, Lanes]

_CUBE = types.Array(types.float64, 3, "C", readonly=True)

_sum: Any = SUM.reduce
_largest: Any = BEST.reduce


@subkernel(inline=True)
def _prefetch(cube: Floats, begin: int, count: int) -> Lanes:
    """Read numbers in one go, so that they are in the cache: with gaps, each is waited for.

    The result, some number that is not below 0, defeats dead-code elimination.
    """
    seen = splat(0.0)
    for at in range(begin, begin + count - LANES, LANES):
        seen = maximum(load_vector(cube, at), seen)
    return seen


@subkernel(inline=True)
def _seen(scores: Lanes, seen: Seen) -> Seen:
    """A sum that is NaN if a number is not finite, and the largest size of one."""
    check, largest = seen
    zero = splat(0.0)
    return fma(scores, zero, check), maximum(maximum(scores, zero - scores), largest)


@subkernel(inline=True)
def _copy_row(
    cube: Floats, source: int, rows: Floats, target: int, count: int, before: Seen
) -> Seen:
    """`count` numbers, and some more behind them."""
    # Each row for itself first: to add up everything in one sum would be a long chain.
    seen = splat(0.0), splat(0.0)
    for x in range(0, count, LANES):
        scores = load_vector(cube, source + x)
        store_vector(rows, target + x, scores)
        seen = _seen(scores, seen)
    return before[0] + seen[0], maximum(before[1], seen[1])


@subkernel(inline=True)
def _copy_last(
    cube: Floats, source: int, rows: Floats, target: int, count: int, seen: Seen
) -> Seen:
    """The same at the end of the array, number by number."""
    for x in range(count):
        score = load_scalar(cube, source + x)
        store_scalar(rows, target + x, score)
        seen = _seen(splat(score), seen)
    return seen


@kernel(types.float64(_CUBE, types.boolean, types.float64[::1]))
def pack(cube: Floats, single: bool, rows: Floats) -> float:
    """Copy the parts that trees can have.

    Returns the size of the largest number among them and some that stand near; NaN if one of those
    is not finite.
    """
    nodes = cube.shape[0]
    square, target, zero = nodes * nodes, 0, splat(0.0)
    seen, prefetched = (zero, zero), zero
    for h in range(nodes):
        prefetched = maximum(_prefetch(cube, h * square, square), prefetched)
        # Rows in the order of their places: what is written beyond one, the next one overwrites.
        source = h * square
        if h == nodes - 1:
            seen = _copy_last(cube, source + h * nodes, rows, target, nodes, seen)
        else:
            seen = _copy_row(cube, source + h * nodes, rows, target, nodes, seen)
        target += nodes
        for s in range(2, h):
            first = source + s * nodes + 1
            if first + s + LANES <= cube.size:
                seen = _copy_row(cube, first, rows, target, s - 1, seen)
            else:
                seen = _copy_last(cube, first, rows, target, s - 1, seen)
            target += s - 1
        for s in range(h + 1, nodes - 1):
            first, count = source + s * nodes + s + 1, nodes - 1 - s
            if h > 0 or not single:
                seen = _copy_row(cube, first, rows, target, count, seen)
            else:
                rows[target : target + count] = 0.0
            target += count
    store_vector(rows, target, zero)
    is_finite = _sum(seen[0]) == 0.0 and _sum(prefetched) >= 0.0
    return float(_largest(seen[1])) if is_finite else np.nan


@kernel(types.void(READ_FLOAT, types.boolean, types.float64[:, :, ::1]))
def unpack(rows: Floats, single: bool, cube: Floats) -> None:
    """The parts where the dense array has them; its other entries are left alone."""
    nodes = cube.shape[0]
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            row = row_index(nodes, h, s)
            for m in range(first, last):
                if m != h:
                    cube[h, s, m] = rows[row + m]


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, types.float64[::1]))
def part_scores(rows: Floats, heads: Ints, siblings: Ints, out: Floats) -> None:
    """The score of the part of each word of a tree."""
    nodes = heads.shape[0] + 1
    for m in range(1, nodes):
        out[m - 1] = rows[row_index(nodes, heads[m - 1], siblings[m - 1]) + m]
