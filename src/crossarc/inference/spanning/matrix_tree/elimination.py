"""Eliminating nodes by four.

With w[m, h] in the rows of a block, eliminating node k is  w[m, h] += w[m, k] s[k, h],  where
s[k, h] = w[k, h] / d_k are the shares of k. Four nodes at a time are brought up to date (rows and
columns: what the nodes before them add), then eliminated among themselves; what is kept is written
once, in the end. So nearly all work is in products of matrices.
"""

from __future__ import annotations

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    float64_cells,
    fma,
    load,
    select,
    store,
)
from crossarc.inference.spanning.matrix_tree.layout import FOUR, Layout
from crossarc.inference.spanning.matrix_tree.products import Matrix, add_product
from crossarc.kernels import subkernel

__all__ = ["eliminate", "keep_pivot", "leaving", "require_positive"]


@subkernel(inline=True)
def require_positive(cells: Cells, layout: Layout, d: Lanes) -> None:
    """Note the lanes in which a denominator is not above 0."""
    floats = float64_cells(cells)
    status = load(floats, layout.status)
    status = select(broadcast(cells, 0.0), d, status, broadcast(floats, 0.0))
    store(floats, layout.status, status)


@subkernel(inline=True)
def leaving(
    cells: Cells, layout: Layout, node: int, root: int, kept: int, single: bool
) -> tuple[Lanes, Lanes]:
    """The root's weight, from cell `root`, and what counts in d_k besides other nodes.

    If the first node that is kept is padding, all of them are, and there may be nowhere to go
    but to the root. What comes out is not used; the root's weight grows by 1, to have numbers.
    """
    padding = load(cells, layout.padding + kept)
    weight = load(cells, root) + padding
    return weight, load(cells, layout.padding + node) + (padding if single else weight)


@subkernel(inline=True)
def _outside_sums(
    cells: Cells, layout: Layout, first: int, step: int, a: int, b: int, kept: int, single: bool
) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """What four nodes have outside of the four: arcs to a..b-1 and the root; of padding, 1."""
    stride, width = layout.width + 1, layout.width
    row0 = layout.shares + first * stride
    row1, row2, row3 = row0 + step * stride, row0 + 2 * step * stride, row0 + 3 * step * stride
    root0, x0 = leaving(cells, layout, first, row0 + width, kept, single)
    root1, x1 = leaving(cells, layout, first + step, row1 + width, kept, single)
    root2, x2 = leaving(cells, layout, first + 2 * step, row2 + width, kept, single)
    root3, x3 = leaving(cells, layout, first + 3 * step, row3 + width, kept, single)
    store(cells, row0 + width, root0)
    store(cells, row1 + width, root1)
    store(cells, row2 + width, root2)
    store(cells, row3 + width, root3)
    for h in range(a, b):
        x0, x1 = x0 + load(cells, row0 + h), x1 + load(cells, row1 + h)
        x2, x3 = x2 + load(cells, row2 + h), x3 + load(cells, row3 + h)
    return x0, x1, x2, x3


@subkernel(inline=True)
def _pivots_of_four(
    cells: Cells, layout: Layout, first: int, step: int, a: int, b: int, kept: int, single: bool
) -> None:
    """Eliminate nodes first, first + step, ... from each other; all others are one column."""
    n0, n1, n2, n3 = first, first + step, first + 2 * step, first + 3 * step
    stride = layout.width + 1
    row0, row1 = layout.shares + n0 * stride, layout.shares + n1 * stride
    row2, row3 = layout.shares + n2 * stride, layout.shares + n3 * stride
    x0, x1, x2, x3 = _outside_sums(cells, layout, first, step, a, b, kept, single)

    w01, w02, w03 = load(cells, row0 + n1), load(cells, row0 + n2), load(cells, row0 + n3)
    inverse = keep_pivot(cells, layout, n0, w01 + w02 + w03 + x0)
    s01, s02, s03, x0 = w01 * inverse, w02 * inverse, w03 * inverse, x0 * inverse

    f10, f20, f30 = load(cells, row1 + n0), load(cells, row2 + n0), load(cells, row3 + n0)
    w12, w13 = fma(f10, s02, load(cells, row1 + n2)), fma(f10, s03, load(cells, row1 + n3))
    x1 = fma(f10, x0, x1)
    inverse = keep_pivot(cells, layout, n1, w12 + w13 + x1)
    s12, s13, x1 = w12 * inverse, w13 * inverse, x1 * inverse

    f21, f31 = fma(f20, s01, load(cells, row2 + n1)), fma(f30, s01, load(cells, row3 + n1))
    w23 = fma(f21, s13, fma(f20, s03, load(cells, row2 + n3)))
    x2 = fma(f21, x1, fma(f20, x0, x2))
    inverse = keep_pivot(cells, layout, n2, w23 + x2)
    s23, x2 = w23 * inverse, x2 * inverse

    f32 = fma(f31, s12, fma(f30, s02, load(cells, row3 + n2)))
    keep_pivot(cells, layout, n3, fma(f32, x2, fma(f31, x1, fma(f30, x0, x3))))
    _keep_three(cells, row0, n1, s01, n2, s02, n3, s03)
    store(cells, row1 + n2, s12)
    store(cells, row1 + n3, s13)
    store(cells, row2 + n3, s23)
    column = layout.factors + n0
    _keep_three(
        cells, column, n1 * layout.width, f10, n2 * layout.width, f20, n3 * layout.width, f30
    )
    store(cells, layout.factors + n2 * layout.width + n1, f21)
    store(cells, layout.factors + n3 * layout.width + n1, f31)
    store(cells, layout.factors + n3 * layout.width + n2, f32)


@subkernel(inline=True)
def keep_pivot(cells: Cells, layout: Layout, node: int, d: Lanes) -> Lanes:
    """Keep a pivot and its inverse, and return the latter."""
    require_positive(cells, layout, d)
    store(cells, layout.pivots + node, d)
    inverse = broadcast(cells, 1.0) / d
    store(cells, layout.inverses + node, inverse)
    return inverse


@subkernel(inline=True)
def _keep_three(
    cells: Cells, first: int, a: int, x: Lanes, b: int, y: Lanes, c: int, z: Lanes
) -> None:
    store(cells, first + a, x)
    store(cells, first + b, y)
    store(cells, first + c, z)


@subkernel(inline=True)
def _shares_outside(cells: Cells, layout: Layout, first: int, step: int, a: int, b: int) -> None:
    """From weights to shares in the columns outside of the four, and in the root's."""
    n0, n1, n2, n3 = first, first + step, first + 2 * step, first + 3 * step
    stride = layout.width + 1
    row0, row1 = layout.shares + n0 * stride, layout.shares + n1 * stride
    row2, row3 = layout.shares + n2 * stride, layout.shares + n3 * stride
    factors1, factors2 = layout.factors + n1 * layout.width, layout.factors + n2 * layout.width
    factors3 = layout.factors + n3 * layout.width
    f10, f20, f21 = (
        load(cells, factors1 + n0),
        load(cells, factors2 + n0),
        load(cells, factors2 + n1),
    )
    f30, f31, f32 = (
        load(cells, factors3 + n0),
        load(cells, factors3 + n1),
        load(cells, factors3 + n2),
    )
    i0, i1 = load(cells, layout.inverses + n0), load(cells, layout.inverses + n1)
    i2, i3 = load(cells, layout.inverses + n2), load(cells, layout.inverses + n3)
    for column in range(a, b + 1):
        h = column if column < b else layout.width
        x0 = load(cells, row0 + h) * i0
        x1 = fma(f10, x0, load(cells, row1 + h)) * i1
        x2 = fma(f21, x1, fma(f20, x0, load(cells, row2 + h))) * i2
        x3 = fma(f32, x2, fma(f31, x1, fma(f30, x0, load(cells, row3 + h)))) * i3
        store(cells, row0 + h, x0)
        store(cells, row1 + h, x1)
        store(cells, row2 + h, x2)
        store(cells, row3 + h, x3)


@subkernel(inline=True)
def _factors_outside(cells: Cells, layout: Layout, first: int, step: int, a: int, b: int) -> None:
    """w[m, k] for the four k as each of them is eliminated, m outside."""
    n0, n1, n2, n3 = first, first + step, first + 2 * step, first + 3 * step
    stride = layout.width + 1
    row0, row1 = layout.shares + n0 * stride, layout.shares + n1 * stride
    row2 = layout.shares + n2 * stride
    s01, s02, s03 = load(cells, row0 + n1), load(cells, row0 + n2), load(cells, row0 + n3)
    s12, s13, s23 = load(cells, row1 + n2), load(cells, row1 + n3), load(cells, row2 + n3)
    for m in range(a, b):
        row = layout.factors + m * layout.width
        x0 = load(cells, row + n0)
        x1 = fma(x0, s01, load(cells, row + n1))
        x2 = fma(x1, s12, fma(x0, s02, load(cells, row + n2)))
        x3 = fma(x2, s23, fma(x1, s13, fma(x0, s03, load(cells, row + n3))))
        store(cells, row + n1, x1)
        store(cells, row + n2, x2)
        store(cells, row + n3, x3)


@subkernel(inline=True)
def _update_four(
    cells: Cells, layout: Layout, block: int, low: int, high: int, four: int, upper: bool
) -> None:
    """What the nodes eliminated before add to the rows and columns of the next four."""
    step, row = 1 if upper else -1, high - low + 1
    gone, count = (low, four - low) if upper else (high - 1, high - four - FOUR)
    factors, shares = layout.width, layout.width + 1
    left = Matrix(layout.factors + four * factors + gone, factors)
    right, start = layout.shares + gone * shares, block + (four - low) * row
    target = layout.shares + four * shares
    # The rows, with the columns that are left and the root's.
    a, b = (four, high) if upper else (low, four + FOUR)
    add_product(
        cells,
        FOUR,
        b - a,
        count,
        step,
        left,
        Matrix(right + a, shares),
        Matrix(start + a - low, row),
        Matrix(target + a, shares),
    )
    root, root_start = Matrix(right + layout.width, shares), Matrix(start + row - 1, row)
    add_product(
        cells, FOUR, 1, count, step, left, root, root_start, Matrix(target + layout.width, shares)
    )
    # The columns, with the rows that are left.
    a, b = (four + FOUR, high) if upper else (low, four)
    add_product(
        cells,
        b - a,
        FOUR,
        count,
        step,
        Matrix(layout.factors + a * factors + gone, factors),
        Matrix(right + four, shares),
        Matrix(block + (a - low) * row + four - low, row),
        Matrix(layout.factors + a * factors + four, factors),
    )


@subkernel(inline=True)
def _keep(
    cells: Cells, layout: Layout, block: int, low: int, high: int, kept: int, upper: bool
) -> None:
    """Write what is left behind the block."""
    step, row = 1 if upper else -1, high - low + 1
    gone, count = (low, kept - low) if upper else (high - 1, high - kept)
    a, b = (kept, high) if upper else (low, kept)
    left = Matrix(layout.factors + a * layout.width + gone, layout.width)
    right, stride = layout.shares + gone * (layout.width + 1), layout.width + 1
    start, target = block + (a - low) * row, block + (high - low) * row
    add_product(
        cells,
        b - a,
        b - a,
        count,
        step,
        left,
        Matrix(right + a, stride),
        Matrix(start + a - low, row),
        Matrix(target, b - a + 1),
    )
    root, root_start = Matrix(right + layout.width, stride), Matrix(start + row - 1, row)
    add_product(
        cells, b - a, 1, count, step, left, root, root_start, Matrix(target + b - a, b - a + 1)
    )


@subkernel()
def eliminate(
    cells: Cells,
    layout: Layout,
    block: int,
    low: int,
    high: int,
    kept: int,
    upper: bool,
    single: bool,
) -> None:
    """Eliminate nodes of block low..high-1 until low..kept-1 or, if `upper`, kept..high-1 stand.

    The block is not changed. Shares, factors and pivots of the eliminated nodes go to their
    regions; what is kept goes behind the block.
    """
    count, step = kept - low if upper else high - kept, 1 if upper else -1
    for done in range(0, count, FOUR):
        four = low + done if upper else high - FOUR - done
        first = four if upper else four + FOUR - 1
        a, b = (four + FOUR, high) if upper else (low, four)
        _update_four(cells, layout, block, low, high, four, upper)
        _pivots_of_four(cells, layout, first, step, a, b, kept if upper else low, single)
        _shares_outside(cells, layout, first, step, a, b)
        _factors_outside(cells, layout, first, step, a, b)
    _keep(cells, layout, block, low, high, kept, upper)
