"""Lanes: each operation on eight numbers is the operation on each of them."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

from crossarc.inference import lanes
from crossarc.inference.lanes import LANES, WHOLE


@numba.njit
def compute(cells: np.ndarray) -> None:
    x, y, z = lanes.load(cells, 0), lanes.load(cells, 1), lanes.load(cells, 2)
    lanes.store(cells, 3, x + y)
    lanes.store(cells, 4, x - y)
    lanes.store(cells, 5, x * y)
    lanes.store(cells, 6, x / y)
    lanes.store(cells, 7, lanes.fused(x, y, z))
    lanes.store(cells, 8, lanes.choose(x, y, z, lanes.spread(cells, 7.0)))
    lanes.store(cells, 9, lanes.smaller(x, y))
    lanes.store(cells, 10, lanes.larger(x, y))
    power = z + lanes.spread(cells, WHOLE)
    lanes.store(cells, 11, power - lanes.spread(cells, WHOLE))
    lanes.store(cells, 12, lanes.times_power_of_two(x, power))
    lanes.write_lane(cells, 13, 0, lanes.read_lane(cells, 2, 0) + 1.0)


@numba.njit
def compute_bare(array: np.ndarray) -> bool:
    """The same behind two other cells, by the address of the array."""
    cells = lanes.beyond(lanes.bare(array), 2)
    compute(cells)
    return lanes.is_alone(cells) and array.shape[0] > 0


@numba.njit
def turn(square: np.ndarray) -> None:
    rows = lanes.transpose(
        (
            lanes.load_entries(square, 0),
            lanes.load_entries(square, 8),
            lanes.load_entries(square, 16),
            lanes.load_entries(square, 24),
            lanes.load_entries(square, 32),
            lanes.load_entries(square, 40),
            lanes.load_entries(square, 48),
            lanes.load_entries(square, 56),
        )
    )
    for i in range(LANES):
        lanes.store_entries(square, i * LANES, rows[i])


X = [1.5, -2.0, 0.0, 3.25, math.nan, 1e300, -0.1, 7.0]
Y = [0.5, 4.0, -1.0, 3.25, 1.0, 1e-300, 0.3, math.inf]
Z = [-0.75, 3.0, 2.75, -3.0, 1.0, 0.0, -1.25, 10.0]


def expected(x: float, y: float, z: float) -> list[float]:
    return [
        x + y,
        x - y,
        x * y,
        x / y,
        # Exact up to the rounding of the product, which a machine may or may not leave out.
        x * y + z,
        z if x < y else 7.0,
        x if x < y else y,
        x if x > y else y,
        round(z),
        x * 2.0 ** round(z),
    ]


def test_eight_numbers() -> None:
    cells = np.zeros((14, LANES))
    cells[:3] = [X, Y, Z]
    compute(cells)
    wanted = np.array([expected(*numbers) for numbers in zip(X, Y, Z, strict=True)]).T
    np.testing.assert_allclose(cells[3:13], wanted, rtol=4e-16)
    assert cells[13, 0] == Z[0] + 1.0


@pytest.mark.parametrize("lane", range(LANES))
def test_one_number(lane: int) -> None:
    """In an array of plain numbers, the same operations give the same bits."""
    eight, one = np.zeros((14, LANES)), np.zeros(14)
    eight[:3] = [X, Y, Z]
    one[:3] = X[lane], Y[lane], Z[lane]
    compute(eight)
    compute(one)
    np.testing.assert_array_equal(one[3:13], eight[3:13, lane])


def test_rows_become_columns() -> None:
    square = np.arange(64.0)
    turn(square)
    np.testing.assert_array_equal(square.reshape(8, 8), np.arange(64.0).reshape(8, 8).T)


@pytest.mark.parametrize("shape", [(16, LANES), (16,)])
def test_cells_without_their_array(shape: tuple[int, ...]) -> None:
    array, bare = np.zeros((14, *shape[1:])), np.full(shape, 9.0)
    array[:3] = [X, Y, Z] if len(shape) == 2 else [X[0], Y[0], Z[0]]
    bare[2:5] = array[:3]
    bare[5:] = 0.0
    compute(array)
    assert compute_bare(bare) == (len(shape) == 1)
    np.testing.assert_array_equal(bare[2:], array)
    np.testing.assert_array_equal(bare[:2], np.full_like(bare[:2], 9.0))
