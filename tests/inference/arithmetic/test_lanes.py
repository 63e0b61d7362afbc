"""Lanes: each operation on eight numbers is the operation on each of them, float64 or wide."""

from __future__ import annotations

import math
from fractions import Fraction

import numba
import numpy as np
import pytest

from crossarc.inference.arithmetic import lanes
from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.arithmetic.semirings import BEST, SUM

_join_sum, _join_best, _reduce_sum, _reduce_best = SUM.join, BEST.join, SUM.reduce, BEST.reduce


@numba.njit
def compute(cells: np.ndarray) -> None:
    x, y, z = lanes.load(cells, 0), lanes.load(cells, 1), lanes.load(cells, 2)
    lanes.store(cells, 3, x + y)
    lanes.store(cells, 4, x * y)
    lanes.store(cells, 5, x / y)
    lanes.store(cells, 6, lanes.fma(x, y, z))
    lanes.store(cells, 7, lanes.select(x, y, z, lanes.broadcast(cells, 7.0)))
    lanes.store(cells, 8, lanes.minimum(x, y))
    lanes.store(cells, 9, lanes.maximum(x, y))
    lanes.store(cells, 10, _join_sum(x, y, z))


@numba.njit
def compute_float64(cells: np.ndarray) -> None:
    x, y, z = lanes.load(cells, 0), lanes.load(cells, 1), lanes.load(cells, 2)
    compute(cells)
    lanes.store(cells, 11, x - y)
    lanes.store(cells, 12, _join_best(x, y, z))
    lanes.store(cells, 13, lanes.exponential(z, z, lanes.broadcast(cells, 1e-17)))
    lanes.write_lane(cells, 14, 0, lanes.read_lane(cells, 2, 0) + 1.0)


@numba.njit
def compute_at_address(array: np.ndarray) -> int:
    """The same behind two other cells, by the address of the array."""
    cells = lanes.offset(lanes.data_pointer(array), 2)
    compute_float64(cells)
    return lanes.lane_count(cells) * array.shape[0]


@numba.njit
def transpose(square: np.ndarray) -> None:
    rows = lanes.transpose(
        (
            lanes.load_vector(square, 0),
            lanes.load_vector(square, 8),
            lanes.load_vector(square, 16),
            lanes.load_vector(square, 24),
            lanes.load_vector(square, 32),
            lanes.load_vector(square, 40),
            lanes.load_vector(square, 48),
            lanes.load_vector(square, 56),
        )
    )
    for i in range(LANES):
        lanes.store_vector(square, i * LANES, rows[i])


@numba.njit
def reduce(numbers: np.ndarray) -> tuple[float, float]:
    vector = lanes.load_vector(numbers, 0)
    return _reduce_sum(vector), _reduce_best(vector)


X = [1.5, -2.0, 0.0, 3.25, math.nan, 1e300, -0.1, 7.0]
Y = [0.5, 4.0, -1.0, 3.25, 1.0, 1e-300, 0.3, math.inf]
Z = [-0.75, 3.0, 2.75, -3.0, 1.0, 0.0, -1.25, 10.0]


def expected(x: float, y: float, z: float) -> list[float]:
    return [
        x + y,
        x * y,
        x / y,
        # Exact up to the rounding of the product, which a machine may or may not leave out.
        x * y + z,
        z if x < y else 7.0,
        x if x < y else y,
        x if x > y else y,
        x * y + z,
        x - y,
        x + y if x + y > z else z,
        math.exp(z),
    ]


def test_eight_numbers() -> None:
    cells = np.zeros((15, LANES))
    cells[:3] = [X, Y, Z]
    compute_float64(cells)
    correct = np.array([expected(*numbers) for numbers in zip(X, Y, Z, strict=True)]).T
    np.testing.assert_allclose(cells[3:14], correct, rtol=4e-16)
    assert cells[14, 0] == Z[0] + 1.0


@pytest.mark.parametrize("lane", range(LANES))
def test_one_number(lane: int) -> None:
    """In an array of single numbers, the same operations give the same bits."""
    eight, one = np.zeros((15, LANES)), np.zeros(15)
    eight[:3] = [X, Y, Z]
    one[:3] = X[lane], Y[lane], Z[lane]
    compute_float64(eight)
    compute_float64(one)
    np.testing.assert_array_equal(one[3:14], eight[3:14, lane])


def test_rows_become_columns() -> None:
    square = np.arange(64.0)
    transpose(square)
    np.testing.assert_array_equal(square.reshape(8, 8), np.arange(64.0).reshape(8, 8).T)


def test_reductions() -> None:
    numbers = np.array([3.0, -1.0, 8.5, 2.0, 0.0, 8.25, -7.0, 1.0])
    assert reduce(numbers) == (14.75, 8.5)


@pytest.mark.parametrize("shape", [(17, LANES), (17,)])
def test_cells_by_address(shape: tuple[int, ...]) -> None:
    array, behind = np.zeros((15, *shape[1:])), np.full(shape, 9.0)
    array[:3] = [X, Y, Z] if len(shape) == 2 else [X[0], Y[0], Z[0]]
    behind[2:5] = array[:3]
    behind[5:] = 0.0
    compute_float64(array)
    assert compute_at_address(behind) == behind.size
    np.testing.assert_array_equal(behind[2:], array)
    np.testing.assert_array_equal(behind[:2], np.full_like(behind[:2], 9.0))


# Wide numbers.

WIDE_X = [(1.5, 0), (1.0, 5_000_000), (1.25, -9000), (1.0, 3), (1.75, 60), (1.0, -70), (0.0, 0)]
WIDE_Y = [(1.25, 2), (1.5, 4_999_990), (1.5, -9001), (1.0, 3), (1.0, 0), (1.5, 2000), (1.5, 7)]
WIDE_Z = [(0.0, 0), (1.0, -5), (1.75, -18000), (1.0, 6), (1.5, 61), (0.0, 0), (1.125, 80)]


@numba.njit
def write_numbers(
    array: np.ndarray, cell: int, mantissas: np.ndarray, exponents: np.ndarray
) -> None:
    cells = lanes.data_pointer(array)
    for lane in range(lanes.lane_count(cells)):
        zero = mantissas[lane] == 0.0
        lanes.write_number(
            cells, cell, lane, mantissas[lane], -(1 << 60) if zero else exponents[lane]
        )


@numba.njit
def read_numbers(array: np.ndarray, cell: int) -> list[tuple[float, int]]:
    cells = lanes.data_pointer(array)
    return [lanes.read_number(cells, cell, lane) for lane in range(lanes.lane_count(cells))]


@numba.njit
def weigh(array: np.ndarray, logarithms: np.ndarray) -> bool:
    """exp of each logarithm, in the cells of a wide array."""
    cells = lanes.data_pointer(array)
    x = lanes.load(lanes.data_pointer(logarithms), 0)
    like = lanes.load(cells, 0)
    lanes.store(cells, 1, lanes.exponential(like, x, x - x))
    return lanes.is_wide(cells)


@numba.njit
def move_vector(source: np.ndarray, target: np.ndarray) -> None:
    vector = lanes.load_vector(lanes.data_pointer(source), 3)
    lanes.store_vector(lanes.data_pointer(target), 5, vector * vector)


def fractions_of(rows: list[tuple[float, int]]) -> list[Fraction]:
    return [
        Fraction(mantissa) * (Fraction(2) ** exponent if mantissa else 0)
        for mantissa, exponent in rows
    ]


def wide_results(lanes_a_cell: int) -> list[list[Fraction]]:
    """What `compute` gives for the numbers above, cell by cell, in groups of lanes."""
    results: list[list[Fraction]] = [[] for _ in range(8)]
    count = len(WIDE_X)
    for first in range(0, count, lanes_a_cell):
        shape = (11, LANES) if lanes_a_cell > 1 else (11,)
        array = np.zeros(shape, np.complex128)
        for cell, rows in enumerate([WIDE_X, WIDE_Y, WIDE_Z]):
            own = [*rows[first : first + lanes_a_cell], *[(1.0, 0)] * LANES][:LANES]
            write_numbers(array, cell, np.array([m for m, _ in own]), np.array([e for _, e in own]))
        compute(array)
        for cell in range(8):
            found = read_numbers(array, 3 + cell)[: min(lanes_a_cell, count - first)]
            assert all(m == 0.0 or 1.0 <= m < 2.0 for m, _ in found)
            results[cell] += fractions_of(found)
    return results


@pytest.mark.parametrize("width", [1, LANES])
def test_wide_numbers_against_fractions(width: int) -> None:
    xs, ys, zs = map(fractions_of, (WIDE_X, WIDE_Y, WIDE_Z))
    for lane, (x, y, z) in enumerate(zip(xs, ys, zs, strict=True)):
        correct = [
            x + y,
            x * y,
            x / y,
            x * y + z,
            z if x < y else Fraction(7),
            min(x, y),
            max(x, y),
            x * y + z,
        ]
        for found, right in zip(wide_results(width), correct, strict=True):
            assert abs(found[lane] - right) <= right * Fraction(2) ** -52


def test_wide_numbers_of_one_sentence_and_of_eight() -> None:
    assert wide_results(1) == wide_results(LANES)


@pytest.mark.parametrize("width", [1, LANES])
@pytest.mark.parametrize("logarithm", [0.0, -1.0, 3.5e5, -7e5, 1e9 + 0.37, -1e12, 123.456])
def test_wide_exponentials(width: int, logarithm: float) -> None:
    """Against log2 by fractions: x = k ln 2 + log(mantissa), ln 2 to 60 digits."""
    ln2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680")
    array = np.zeros((2, LANES) if width > 1 else 2, np.complex128)
    logarithms = np.full((1, LANES) if width > 1 else 1, logarithm)
    assert weigh(array, logarithms)
    for mantissa, exponent in read_numbers(array, 1):
        rest = Fraction(logarithm) - exponent * ln2
        assert mantissa == pytest.approx(math.exp(float(rest)), rel=5e-16, abs=0.0)


def test_wide_vectors_of_neighbours() -> None:
    source, target = np.zeros(20, np.complex128), np.zeros(20, np.complex128)
    for index in range(20):
        write_numbers(source[index:], 0, np.array([1.0 + index / 32]), np.array([100 * index]))
    move_vector(source, target)
    for index in range(8):
        (found,) = read_numbers(target[5 + index :], 0)
        (right,) = fractions_of([(1.0 + (3 + index) / 32, 100 * (3 + index))])
        assert fractions_of([found]) == [right * right]
    assert not target[:5].any()
    assert not target[13:].any()
