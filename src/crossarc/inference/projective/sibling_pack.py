"""The sibling factor of a sentence, from a dense array to rows (`sibling_charts`) and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.lanes import (
    LANES,
    Lanes,
    fused,
    larger,
    load_entries,
    repeat,
    store_entries,
)
from crossarc.inference.projective.semirings import SUM, reducing
from crossarc.inference.projective.sibling_charts import part_range, row_place
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["pack", "part_scores", "unpack"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CUBE = types.Array(types.float64, 3, "C", readonly=True)

_sum: Any = reducing(SUM)


@subkernel(inline=True)
def _fetch(cube: Floats, begin: int, count: int) -> Lanes:
    """Read numbers in one go, so that they are in the cache: with gaps, each is waited for.

    Gives some number that is not below 0, so that nobody thinks that they are not needed.
    """
    seen = repeat(0.0)
    for at in range(begin, begin + count - LANES, LANES):
        seen = larger(load_entries(cube, at), seen)
    return seen


@subkernel(inline=True)
def _copy_row(cube: Floats, source: int, rows: Floats, target: int, count: int) -> Lanes:
    """`count` numbers, and some more behind them; a sum that is NaN if one is not finite."""
    zero = repeat(0.0)
    check = zero
    for x in range(0, count, LANES):
        scores = load_entries(cube, source + x)
        store_entries(rows, target + x, scores)
        check = fused(scores, zero, check)
    return check


@subkernel(inline=True)
def _copy_last(cube: Floats, source: int, rows: Floats, target: int, count: int) -> Lanes:
    """The same at the end of the array, number by number."""
    zero = repeat(0.0)
    check = zero
    for x in range(count):
        score = entry(cube, source + x)
        put(rows, target + x, score)
        check = fused(repeat(score), zero, check)
    return check


@kernel(types.boolean(_CUBE, types.boolean, types.float64[::1]))
def pack(cube: Floats, single: bool, rows: Floats) -> bool:
    """Copy the parts that trees can have.

    Returns whether they are finite; False also if a number is not that stands near one of them.
    """
    nodes = cube.shape[0]
    square, target = nodes * nodes, 0
    check = seen = repeat(0.0)
    for h in range(nodes):
        seen = larger(_fetch(cube, h * square, square), seen)
        # Rows in the order of their places: what is written beyond one, the next one overwrites.
        source = h * square
        if h == nodes - 1:
            check = check + _copy_last(cube, source + h * nodes, rows, target, nodes)
        else:
            check = check + _copy_row(cube, source + h * nodes, rows, target, nodes)
        target += nodes
        for s in range(2, h):
            place = source + s * nodes + 1
            if place + s + LANES <= cube.size:
                check = check + _copy_row(cube, place, rows, target, s - 1)
            else:
                check = check + _copy_last(cube, place, rows, target, s - 1)
            target += s - 1
        for s in range(h + 1, nodes - 1):
            place, count = source + s * nodes + s + 1, nodes - 1 - s
            if h > 0 or not single:
                check = check + _copy_row(cube, place, rows, target, count)
            else:
                rows[target : target + count] = 0.0
            target += count
    store_entries(rows, target, repeat(0.0))
    is_finite: bool = _sum(check) == 0.0 and _sum(seen) >= 0.0
    return is_finite


@kernel(types.void(READ_FLOAT, types.boolean, types.float64[:, :, ::1]))
def unpack(rows: Floats, single: bool, cube: Floats) -> None:
    """The parts where the dense array has them; its other entries are left alone."""
    nodes = cube.shape[0]
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            place = row_place(nodes, h, s)
            for m in range(first, last):
                if m != h:
                    cube[h, s, m] = rows[place + m]


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, types.float64[::1]))
def part_scores(rows: Floats, heads: Ints, siblings: Ints, out: Floats) -> None:
    """The score of the part of each word of a tree."""
    nodes = heads.shape[0] + 1
    for m in range(1, nodes):
        out[m - 1] = rows[row_place(nodes, heads[m - 1], siblings[m - 1]) + m]
