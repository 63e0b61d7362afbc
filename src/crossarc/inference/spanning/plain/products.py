"""Products of matrices of cells, in tiles that stay in registers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.lanes import (
    LANES,
    Lanes,
    fused,
    load,
    load_entries,
    read_lane,
    repeat,
    store,
    store_entries,
)
from crossarc.kernels import subkernel

__all__ = ["add_product"]

Floats = NDArray[np.float64]


@subkernel()
def _tile(
    cells: Floats,
    count: int,
    step: int,
    left: int,
    left_row: int,
    right: int,
    right_row: int,
    start: int,
    start_row: int,
    start_column: int,
    target: int,
    target_row: int,
) -> None:
    """Four rows and four columns of `add_product`: 16 sums, 8 loads for 16 products."""
    one, two, three = start_column, 2 * start_column, 3 * start_column
    row = start
    s00, s01 = load(cells, row), load(cells, row + one)
    s02, s03 = load(cells, row + two), load(cells, row + three)
    row += start_row
    s10, s11 = load(cells, row), load(cells, row + one)
    s12, s13 = load(cells, row + two), load(cells, row + three)
    row += start_row
    s20, s21 = load(cells, row), load(cells, row + one)
    s22, s23 = load(cells, row + two), load(cells, row + three)
    row += start_row
    s30, s31 = load(cells, row), load(cells, row + one)
    s32, s33 = load(cells, row + two), load(cells, row + three)
    for _ in range(count):
        r0, r1 = load(cells, right), load(cells, right + 1)
        r2, r3 = load(cells, right + 2), load(cells, right + 3)
        f = load(cells, left)
        s00, s01, s02, s03 = (
            fused(f, r0, s00),
            fused(f, r1, s01),
            fused(f, r2, s02),
            fused(f, r3, s03),
        )
        f = load(cells, left + left_row)
        s10, s11, s12, s13 = (
            fused(f, r0, s10),
            fused(f, r1, s11),
            fused(f, r2, s12),
            fused(f, r3, s13),
        )
        f = load(cells, left + 2 * left_row)
        s20, s21, s22, s23 = (
            fused(f, r0, s20),
            fused(f, r1, s21),
            fused(f, r2, s22),
            fused(f, r3, s23),
        )
        f = load(cells, left + 3 * left_row)
        s30, s31, s32, s33 = (
            fused(f, r0, s30),
            fused(f, r1, s31),
            fused(f, r2, s32),
            fused(f, r3, s33),
        )
        left += step
        right += step * right_row
    _store_row(cells, target, s00, s01, s02, s03)
    _store_row(cells, target + target_row, s10, s11, s12, s13)
    _store_row(cells, target + 2 * target_row, s20, s21, s22, s23)
    _store_row(cells, target + 3 * target_row, s30, s31, s32, s33)


@subkernel()
def _store_row(cells: Floats, at: int, a: Lanes, b: Lanes, c: Lanes, d: Lanes) -> None:
    store(cells, at, a)
    store(cells, at + 1, b)
    store(cells, at + 2, c)
    store(cells, at + 3, d)


@subkernel()
def _column(
    cells: Floats,
    count: int,
    step: int,
    left: int,
    left_row: int,
    right: int,
    right_row: int,
    start: int,
    start_row: int,
    target: int,
    target_row: int,
) -> None:
    """Four rows and one column of `add_product`."""
    s0, s1 = load(cells, start), load(cells, start + start_row)
    s2, s3 = load(cells, start + 2 * start_row), load(cells, start + 3 * start_row)
    for _ in range(count):
        r = load(cells, right)
        s0 = fused(load(cells, left), r, s0)
        s1 = fused(load(cells, left + left_row), r, s1)
        s2 = fused(load(cells, left + 2 * left_row), r, s2)
        s3 = fused(load(cells, left + 3 * left_row), r, s3)
        left += step
        right += step * right_row
    store(cells, target, s0)
    store(cells, target + target_row, s1)
    store(cells, target + 2 * target_row, s2)
    store(cells, target + 3 * target_row, s3)


@subkernel()
def _strip(
    cells: Floats,
    count: int,
    step: int,
    left: int,
    left_row: int,
    right: int,
    right_row: int,
    start: int,
    start_row: int,
    start_column: int,
    target: int,
    target_row: int,
) -> None:
    """Four rows and eight columns of `add_product` for one sentence, columns as lanes."""
    if start_column == 0:
        s0, s1 = repeat(read_lane(cells, start, 0)), repeat(read_lane(cells, start + start_row, 0))
        s2, s3 = (
            repeat(read_lane(cells, start + 2 * start_row, 0)),
            repeat(read_lane(cells, start + 3 * start_row, 0)),
        )
    else:
        s0, s1 = load_entries(cells, start), load_entries(cells, start + start_row)
        s2 = load_entries(cells, start + 2 * start_row)
        s3 = load_entries(cells, start + 3 * start_row)
    for _ in range(count):
        r = load_entries(cells, right)
        s0 = fused(repeat(read_lane(cells, left, 0)), r, s0)
        s1 = fused(repeat(read_lane(cells, left + left_row, 0)), r, s1)
        s2 = fused(repeat(read_lane(cells, left + 2 * left_row, 0)), r, s2)
        s3 = fused(repeat(read_lane(cells, left + 3 * left_row, 0)), r, s3)
        left += step
        right += step * right_row
    store_entries(cells, target, s0)
    store_entries(cells, target + target_row, s1)
    store_entries(cells, target + 2 * target_row, s2)
    store_entries(cells, target + 3 * target_row, s3)


@subkernel()
def add_product(
    cells: Floats,
    rows: int,
    columns: int,
    count: int,
    step: int,
    left: int,
    left_row: int,
    right: int,
    right_row: int,
    start: int,
    start_row: int,
    start_column: int,
    target: int,
    target_row: int,
) -> None:
    """target[i, j] = start[i, j] + sum over x of left[i, x] right[x, j], the terms in order.

    `rows` is a multiple of four, `columns` too or 1. A matrix is given by its first cell and the
    distance of its rows; x runs over `count` places upwards or, if `step` is -1, downwards.
    """
    if columns == 1:
        for i in range(0, rows, 4):
            _column(
                cells,
                count,
                step,
                left + i * left_row,
                left_row,
                right,
                right_row,
                start + i * start_row,
                start_row,
                target + i * target_row,
                target_row,
            )
        return
    done = 0
    if cells.ndim == 1:
        done = columns // LANES * LANES
        for j in range(0, done, LANES):
            for i in range(0, rows, 4):
                _strip(
                    cells,
                    count,
                    step,
                    left + i * left_row,
                    left_row,
                    right + j,
                    right_row,
                    start + i * start_row + j * start_column,
                    start_row,
                    start_column,
                    target + i * target_row + j,
                    target_row,
                )
    for j in range(done, columns, 4):
        for i in range(0, rows, 4):
            _tile(
                cells,
                count,
                step,
                left + i * left_row,
                left_row,
                right + j,
                right_row,
                start + i * start_row + j * start_column,
                start_row,
                start_column,
                target + i * target_row + j,
                target_row,
            )
