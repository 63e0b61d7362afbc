"""E of a block of four nodes, half by half."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Cells, broadcast, fma, load, minimum, select, store
from crossarc.inference.spanning.plain.elimination import keep_pivot, leaving, require_positive
from crossarc.inference.spanning.plain.layout import FOUR, Layout
from crossarc.kernels import subkernel

__all__ = ["last_pivot", "solve_base"]

Floats = NDArray[np.float64]

_ROW = FOUR + 1


@subkernel(inline=True)
def _eliminate_one(
    cells: Cells, at: Layout, block: int, low: int, k: int, a: int, b: int, kept: int, single: bool
) -> None:
    """Eliminate node k of a block of four when a..b-1 are left; the block is changed."""
    row = block + k * _ROW
    root, d = leaving(cells, at, low + k, row + FOUR, kept, single)
    for h in range(a, b):
        d = d + load(cells, row + h)
    inverse = keep_pivot(cells, at, low + k, d)
    shares = at.shares + (low + k) * (at.width + 1)
    root_share = root * inverse
    store(cells, shares + at.width, root_share)
    for h in range(a, b):
        store(cells, shares + low + h, load(cells, row + h) * inverse)
    for m in range(a, b):
        row = block + m * _ROW
        factor = load(cells, row + k)
        store(cells, at.factors + (low + m) * at.width + low + k, factor)
        store(cells, row + FOUR, fma(factor, root_share, load(cells, row + FOUR)))
        for h in range(a, b):
            share = load(cells, shares + low + h)
            store(cells, row + h, fma(factor, share, load(cells, row + h)))


@subkernel(inline=True)
def _reach_each_other(
    cells: Cells, at: Layout, block: int, low: int, i: int, j: int, single: bool
) -> None:
    """E[i, j], when only i, j and the root are left; and d_i, as a pivot."""
    row = block + i * _ROW
    root, d = leaving(cells, at, low + i, row + FOUR, low + j, single)
    d = d + load(cells, row + j)
    store(cells, at.pivots + low + i, d)
    require_positive(cells, at, d)
    reach = at.reach + (low + i) * at.width + low
    store(cells, reach + j, root / d)
    store(cells, reach + i, broadcast(cells, 0.0))


@subkernel()
def solve_base(cells: Cells, at: Layout, block: int, low: int, upper: bool, single: bool) -> None:
    """E[h, m] in the block low..low+3, m of its lower or upper half."""
    scratch = block + FOUR * _ROW
    for cell in range(FOUR * _ROW):
        store(cells, scratch + cell, load(cells, block + cell))
    i = 2 if upper else 0
    for place in range(2):
        k = place if upper else FOUR - 1 - place
        a, b = (k + 1, FOUR) if upper else (0, k)
        _eliminate_one(cells, at, scratch, low, k, a, b, low + i, single)
    _reach_each_other(cells, at, scratch, low, i, i + 1, single)
    _reach_each_other(cells, at, scratch, low, i + 1, i, single)
    # E[k, m] = s[k, 0] + sum over x of s[k, x] E[x, m]
    for place in range(2):
        k = 1 - place if upper else 2 + place
        a, b = (k + 1, FOUR) if upper else (0, k)
        shares = at.shares + (low + k) * (at.width + 1)
        for m in range(low + i, low + i + 2):
            total = load(cells, shares + at.width)
            for x in range(low + a, low + b):
                reach = load(cells, at.reach + x * at.width + m)
                total = fma(load(cells, shares + x), reach, total)
            store(cells, at.reach + (low + k) * at.width + m, total)


@subkernel()
def last_pivot(cells: Cells, at: Layout, block: int) -> None:
    """After the lower half of block 0..3, with 0 and 1 left: eliminate 1, the root counts for 0."""
    scratch = block + FOUR * _ROW
    zero = broadcast(cells, 0.0)
    share = load(cells, scratch + _ROW + FOUR) / load(cells, at.pivots + 1)
    factor = load(cells, scratch + 1)
    product = factor * share
    store(cells, at.pivots, load(cells, scratch + FOUR) + product)
    watched = minimum(load(cells, at.smallest), product)
    watched = select(
        zero,
        factor,
        select(zero, share, watched, load(cells, at.smallest)),
        load(cells, at.smallest),
    )
    store(cells, at.smallest, watched)
