"""Products of matrices of cells, in tiles that stay in registers."""

from __future__ import annotations

from typing import NamedTuple

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Lanes,
    fma,
    lane_count,
    load,
    load_splat,
    load_vector,
    store,
    store_vector,
)
from crossarc.kernels import subkernel

__all__ = ["Matrix", "add_product"]

Four = tuple[Lanes, Lanes, Lanes, Lanes]


class Matrix(NamedTuple):
    """Cells as a matrix: the first, and the distance from row to row."""

    first: int
    row: int


@subkernel(inline=True)
def _tile(
    cells: Cells,
    count: int,
    step: int,
    left: Matrix,
    right: Matrix,
    start: Matrix,
    target: Matrix,
) -> None:
    """Four rows and four columns of `add_product`: 16 sums, 8 loads for 16 products."""
    row0, row1 = start.first, start.first + start.row
    row2, row3 = row1 + start.row, row1 + 2 * start.row
    s00, s01, s02, s03 = _load_four(cells, row0)
    s10, s11, s12, s13 = _load_four(cells, row1)
    s20, s21, s22, s23 = _load_four(cells, row2)
    s30, s31, s32, s33 = _load_four(cells, row3)
    i, j = left.first, right.first
    for _ in range(count):
        r0, r1, r2, r3 = _load_four(cells, j)
        f = load(cells, i)
        s00, s01, s02, s03 = _add_four(f, r0, r1, r2, r3, s00, s01, s02, s03)
        f = load(cells, i + left.row)
        s10, s11, s12, s13 = _add_four(f, r0, r1, r2, r3, s10, s11, s12, s13)
        f = load(cells, i + 2 * left.row)
        s20, s21, s22, s23 = _add_four(f, r0, r1, r2, r3, s20, s21, s22, s23)
        f = load(cells, i + 3 * left.row)
        s30, s31, s32, s33 = _add_four(f, r0, r1, r2, r3, s30, s31, s32, s33)
        i += step
        j += step * right.row
    _store_four(cells, target.first, 1, s00, s01, s02, s03)
    _store_four(cells, target.first + target.row, 1, s10, s11, s12, s13)
    _store_four(cells, target.first + 2 * target.row, 1, s20, s21, s22, s23)
    _store_four(cells, target.first + 3 * target.row, 1, s30, s31, s32, s33)


@subkernel()
def _load_four(cells: Cells, i: int) -> Four:
    return load(cells, i), load(cells, i + 1), load(cells, i + 2), load(cells, i + 3)


@subkernel()
def _add_four(
    f: Lanes,
    r0: Lanes,
    r1: Lanes,
    r2: Lanes,
    r3: Lanes,
    s0: Lanes,
    s1: Lanes,
    s2: Lanes,
    s3: Lanes,
) -> Four:
    return fma(f, r0, s0), fma(f, r1, s1), fma(f, r2, s2), fma(f, r3, s3)


@subkernel()
def _store_four(
    cells: Cells, i: int, distance: int, a: Lanes, b: Lanes, c: Lanes, d: Lanes
) -> None:
    store(cells, i, a)
    store(cells, i + distance, b)
    store(cells, i + 2 * distance, c)
    store(cells, i + 3 * distance, d)


@subkernel(inline=True)
def _column(
    cells: Cells,
    count: int,
    step: int,
    left: Matrix,
    right: Matrix,
    start: Matrix,
    target: Matrix,
) -> None:
    """Four rows and one column of `add_product`."""
    row0, row1 = start.first, start.first + start.row
    s0, s1 = load(cells, row0), load(cells, row1)
    s2, s3 = load(cells, row1 + start.row), load(cells, row1 + 2 * start.row)
    i, j = left.first, right.first
    for _ in range(count):
        r = load(cells, j)
        s0 = fma(load(cells, i), r, s0)
        s1 = fma(load(cells, i + left.row), r, s1)
        s2 = fma(load(cells, i + 2 * left.row), r, s2)
        s3 = fma(load(cells, i + 3 * left.row), r, s3)
        i += step
        j += step * right.row
    _store_four(cells, target.first, target.row, s0, s1, s2, s3)


@subkernel(inline=True)
def _strip(
    cells: Cells,
    count: int,
    step: int,
    left: Matrix,
    right: Matrix,
    start: Matrix,
    target: Matrix,
) -> None:
    """Four rows and eight columns of `add_product` for one sentence, with columns as lanes."""
    row0, row1 = start.first, start.first + start.row
    s0, s1 = load_vector(cells, row0), load_vector(cells, row1)
    s2 = load_vector(cells, row1 + start.row)
    s3 = load_vector(cells, row1 + 2 * start.row)
    i, j = left.first, right.first
    for _ in range(count):
        r = load_vector(cells, j)
        s0 = fma(load_splat(cells, i), r, s0)
        s1 = fma(load_splat(cells, i + left.row), r, s1)
        s2 = fma(load_splat(cells, i + 2 * left.row), r, s2)
        s3 = fma(load_splat(cells, i + 3 * left.row), r, s3)
        i += step
        j += step * right.row
    store_vector(cells, target.first, s0)
    store_vector(cells, target.first + target.row, s1)
    store_vector(cells, target.first + 2 * target.row, s2)
    store_vector(cells, target.first + 3 * target.row, s3)


@subkernel()
def _part(matrix: Matrix, i: int, j: int) -> Matrix:
    """The part of a matrix that begins in row i, column j."""
    return Matrix(matrix.first + i * matrix.row + j, matrix.row)


@subkernel()
def add_product(
    cells: Cells,
    rows: int,
    columns: int,
    count: int,
    step: int,
    left: Matrix,
    right: Matrix,
    start: Matrix,
    target: Matrix,
) -> None:
    """target[i, j] = start[i, j] + sum over x of left[i, x] right[x, j], the terms in order.

    `rows` is a multiple of four, `columns` too or 1; x runs over `count` indices upwards or, if
    `step` is -1, downwards.
    """
    done = 0
    if lane_count(cells) == 1:
        done = columns // LANES * LANES
        for j in range(0, done, LANES):
            for i in range(0, rows, 4):
                a, c, d = _part(left, i, 0), _part(start, i, j), _part(target, i, j)
                _strip(cells, count, step, a, _part(right, 0, j), c, d)
    for j in range(done, columns, 4):
        for i in range(0, rows, 4):
            a, b = _part(left, i, 0), _part(right, 0, j)
            c, d = _part(start, i, j), _part(target, i, j)
            if columns == 1:
                _column(cells, count, step, a, b, c, d)
            else:
                _tile(cells, count, step, a, b, c, d)
