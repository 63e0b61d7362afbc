"""Escape probabilities E: of a block of four nodes, and from nodes that were kept to others."""

from __future__ import annotations

from crossarc.inference.arithmetic.lanes import (
    Cells,
    broadcast,
    fma,
    is_wide,
    load,
    store,
)
from crossarc.inference.spanning.matrix_tree.elimination import (
    keep_pivot,
    leaving,
    require_positive,
)
from crossarc.inference.spanning.matrix_tree.layout import FOUR, Layout
from crossarc.inference.spanning.matrix_tree.products import Matrix, add_product
from crossarc.inference.spanning.matrix_tree.underflow import watch_product
from crossarc.kernels import subkernel

__all__ = ["last_pivot", "solve_four", "substitute"]

_ROW = FOUR + 1


@subkernel(inline=True)
def _eliminate_one(
    cells: Cells,
    layout: Layout,
    block: int,
    low: int,
    k: int,
    a: int,
    b: int,
    kept: int,
    single: bool,
) -> None:
    """Eliminate node k of a block of four when a..b-1 are left; the block is changed."""
    row = block + k * _ROW
    root, d = leaving(cells, layout, low + k, row + FOUR, kept, single)
    for h in range(a, b):
        d = d + load(cells, row + h)
    inverse = keep_pivot(cells, layout, low + k, d)
    shares = layout.shares + (low + k) * (layout.width + 1)
    root_share = root * inverse
    store(cells, shares + layout.width, root_share)
    for h in range(a, b):
        store(cells, shares + low + h, load(cells, row + h) * inverse)
    for m in range(a, b):
        row = block + m * _ROW
        factor = load(cells, row + k)
        store(cells, layout.factors + (low + m) * layout.width + low + k, factor)
        store(cells, row + FOUR, fma(factor, root_share, load(cells, row + FOUR)))
        for h in range(a, b):
            share = load(cells, shares + low + h)
            store(cells, row + h, fma(factor, share, load(cells, row + h)))


@subkernel(inline=True)
def _solve_two(
    cells: Cells, layout: Layout, block: int, low: int, i: int, j: int, single: bool
) -> None:
    """E[i, j], when only i, j and the root are left; and d_i, as a pivot."""
    row = block + i * _ROW
    root, d = leaving(cells, layout, low + i, row + FOUR, low + j, single)
    d = d + load(cells, row + j)
    store(cells, layout.pivots + low + i, d)
    require_positive(cells, layout, d)
    escapes = layout.escapes + (low + i) * layout.width + low
    store(cells, escapes + j, root / d)
    store(cells, escapes + i, broadcast(cells, 0.0))


@subkernel()
def solve_four(
    cells: Cells, layout: Layout, block: int, low: int, upper: bool, single: bool
) -> None:
    """E[h, m] in the block low..low+3, m of its lower or upper half."""
    scratch = block + FOUR * _ROW
    for cell in range(FOUR * _ROW):
        store(cells, scratch + cell, load(cells, block + cell))
    i = 2 if upper else 0
    for done in range(2):
        k = done if upper else FOUR - 1 - done
        a, b = (k + 1, FOUR) if upper else (0, k)
        _eliminate_one(cells, layout, scratch, low, k, a, b, low + i, single)
    _solve_two(cells, layout, scratch, low, i, i + 1, single)
    _solve_two(cells, layout, scratch, low, i + 1, i, single)
    # E[k, m] = s[k, 0] + sum over x of s[k, x] E[x, m]
    for done in range(2):
        k = 1 - done if upper else 2 + done
        a, b = (k + 1, FOUR) if upper else (0, k)
        shares = layout.shares + (low + k) * (layout.width + 1)
        for m in range(low + i, low + i + 2):
            total = load(cells, shares + layout.width)
            for x in range(low + a, low + b):
                escape = load(cells, layout.escapes + x * layout.width + m)
                total = fma(load(cells, shares + x), escape, total)
            store(cells, layout.escapes + (low + k) * layout.width + m, total)


@subkernel()
def last_pivot(cells: Cells, layout: Layout, block: int) -> None:
    """After the lower half of block 0..3, with 0 and 1 left: eliminate 1, the root counts for 0."""
    scratch = block + FOUR * _ROW
    share = load(cells, scratch + _ROW + FOUR) / load(cells, layout.pivots + 1)
    factor = load(cells, scratch + 1)
    store(cells, layout.pivots, load(cells, scratch + FOUR) + factor * share)
    if not is_wide(cells):
        watch_product(cells, layout, factor, share)


@subkernel(inline=True)
def _among_four(cells: Cells, layout: Layout, last: int, step: int, a: int, b: int) -> None:
    """What four nodes add to each other; `last` was eliminated last, then comes last - step."""
    n0, n1, n2, n3 = last - 3 * step, last - 2 * step, last - step, last
    stride = layout.width + 1
    row0, row1 = layout.shares + n0 * stride, layout.shares + n1 * stride
    row2 = layout.shares + n2 * stride
    s01, s02, s03 = load(cells, row0 + n1), load(cells, row0 + n2), load(cells, row0 + n3)
    s12, s13, s23 = load(cells, row1 + n2), load(cells, row1 + n3), load(cells, row2 + n3)
    escapes0, escapes1 = layout.escapes + n0 * layout.width, layout.escapes + n1 * layout.width
    escapes2, escapes3 = layout.escapes + n2 * layout.width, layout.escapes + n3 * layout.width
    for m in range(a, b):
        e3 = load(cells, escapes3 + m)
        e2 = fma(s23, e3, load(cells, escapes2 + m))
        e1 = fma(s12, e2, fma(s13, e3, load(cells, escapes1 + m)))
        e0 = fma(s01, e1, fma(s02, e2, fma(s03, e3, load(cells, escapes0 + m))))
        store(cells, escapes2 + m, e2)
        store(cells, escapes1 + m, e1)
        store(cells, escapes0 + m, e0)


@subkernel()
def substitute(cells: Cells, layout: Layout, low: int, high: int, kept: int, upper: bool) -> None:
    """E[k, m] = s[k, 0] + sum over x of s[k, x] E[x, m], m of the nodes that were kept.

    x are the nodes that were left when k was eliminated. Arguments as in `eliminate`.
    """
    width, stride, step = layout.width, layout.width + 1, 1 if upper else -1
    a, b = (kept, high) if upper else (low, kept)
    count = kept - low if upper else high - kept
    for done in range(0, count, FOUR):
        four = kept - FOUR - done if upper else kept + done
        first, last = (four + FOUR, high) if upper else (low, four)
        row = layout.shares + four * stride
        escapes = Matrix(layout.escapes + four * width + a, width)
        for i in range(FOUR):
            root_share = load(cells, row + i * stride + width)
            for m in range(b - a):
                store(cells, escapes.first + i * width + m, root_share)
        # Padding is last of all nodes, and zeros that come last change no sum.
        shares, known = (
            Matrix(row + first, stride),
            Matrix(layout.escapes + first * width + a, width),
        )
        add_product(cells, FOUR, b - a, last - first, 1, shares, known, escapes, escapes)
        _among_four(cells, layout, four + FOUR - 1 if upper else four, step, a, b)
